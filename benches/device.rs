//! Measures the CPU beside the GPU: gradients, of fields without data too (scaling and two transforms), dense products and transitions,
//! with the size on the axis.
//!
//! Every id names its device. All chains of a batch are counted together, the CPU's on one thread. An adapter that is software only imitates
//! a GPU: its times say nothing about one, and a line says so.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use criterion::{BenchmarkId, Criterion};
use nalgebra::{DMatrix, DVector};
use sshmc::Result;
use sshmc::coordinates::Coordinates;
use sshmc::device::{Device, Flow, Latents};
use sshmc::hamiltonian::MassKind;
use sshmc::integrate::{HyperMetric, Integrator, System};
use sshmc::likelihood::Nothing;
use sshmc::model::{self, LgcpOptions, Model};
use sshmc::random::{Purpose, Stream};
use sshmc::sample::{Info, Sshmc as Transitions, Tuning};
use sshmc::simulate::{self, PatternTruth, VolatilityTruth};
use sshmc::structure::{Anisotropy, Kernel, Sides, Structure};
use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

/// Chains of a batch.
const CHAINS: u32 = 4;

fn main() -> Result<()> {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1))
        .configure_from_args();
    let gpu = Device::gpu()?;
    let adapter = gpu.as_gpu().map(|gpu| gpu.adapter().clone());
    if let Some(adapter) = adapter.filter(|adapter| adapter.software) {
        println!(
            "{} is software that imitates a GPU: these times are not those of one",
            adapter.name
        );
    }
    // `cargo test` runs each once, to show that it works.
    let measuring = std::env::args().any(|argument| argument == "--bench");
    let (grids, lengths, sizes): (&[usize], &[usize], &[usize]) = if measuring {
        (&[32, 64, 128, 256], &[1000, 10_000, 100_000], &[256, 1024])
    } else {
        (&[16], &[1000], &[64])
    };
    for device in [Device::cpu(), gpu] {
        for &side in grids {
            let model = pattern(side)?;
            let name = "gradient without data (scaling and two fft), lgcp";
            gradient(&mut criterion, name, &device, side, &empty(&model)?)?;
            gradient(&mut criterion, "gradient, lgcp", &device, side, &model)?;
            transition(&mut criterion, "transition of 5 steps, lgcp", &device, side, &model)?;
        }
        for &steps in lengths {
            let truth = VolatilityTruth { steps, phi: 0.95, sigma: 0.2, beta: 0.65 };
            let returns = simulate::stochvol(&truth, 1)?.returns;
            let model = Arc::new(model::stochvol(&returns, &[])?);
            gradient(&mut criterion, "gradient, sv", &device, steps, &model)?;
            transition(&mut criterion, "transition of 5 steps, sv", &device, steps, &model)?;
        }
        for &n in sizes {
            product(&mut criterion, &device, n)?;
        }
    }
    criterion.final_summary();
    Ok(())
}

fn pattern(side: usize) -> Result<Arc<Model>> {
    let truth = PatternTruth {
        rows: side,
        columns: side,
        sigma: 1.0,
        range: 0.05,
        total: 0.3 * (side * side) as f64,
        kernel: Kernel::Exponential,
        anisotropy: Anisotropy::NONE,
    };
    let counts = simulate::lgcp(&truth, 1)?.counts;
    let options = LgcpOptions { sides: Sides::PowersOfTwo, ..LgcpOptions::default() };
    Ok(Arc::new(model::lgcp(&counts, &options)?))
}

/// The same field without data: what is left is scaling and transforms.
fn empty(model: &Model) -> Result<Arc<Model>> {
    let structure: Structure = model.structure().clone();
    let nothing = Arc::new(Nothing { sites: structure.sites() });
    let hyperparameters = model.hyperparameters().clone();
    Ok(Arc::new(Model::new("field", structure, nothing, hyperparameters)?))
}

fn latents(device: &Device, model: &Arc<Model>) -> Result<Box<dyn Latents>> {
    let n = model.structure().dim();
    let start = |id| {
        let mut z = vec![0.0; n];
        Stream::new(1, id, 0, Purpose::Other).fill_normals(&mut z);
        (id, z)
    };
    let chains = (0..CHAINS).map(start).collect();
    device.latents(model, &Coordinates::whitened(), &MassKind::Identity, 1, chains)
}

fn everywhere(phi: &[f64]) -> Vec<f64> {
    (0..CHAINS).flat_map(|_| phi.to_vec()).collect()
}

fn gradient(
    criterion: &mut Criterion,
    group: &str,
    device: &Device,
    size: usize,
    model: &Arc<Model>,
) -> Result<()> {
    let mut latents = latents(device, model)?;
    let phi = everywhere(&model.start());
    let (mut u, mut du) = (vec![0.0; CHAINS as usize], vec![0.0; phi.len()]);
    let id = BenchmarkId::new(format!("{group}/{}", device.name()), size);
    criterion.bench_with_input(id, &size, |bench, _| {
        bench.iter(|| latents.evaluate(black_box(&phi), &mut u, &mut du));
    });
    latents.status()
}

fn transition(
    criterion: &mut Criterion,
    group: &str,
    device: &Device,
    size: usize,
    model: &Arc<Model>,
) -> Result<()> {
    let metric = HyperMetric::diagonal(&model.start(), &vec![0.01; model.start().len()]);
    let metrics = vec![metric; CHAINS as usize];
    let mut system = System::new(latents(device, model)?, metrics, everywhere(&model.start()));
    system.evaluate();
    let tuning = Tuning {
        step: 0.01,
        ratio: 1.0,
        path: 0.05,
        jitter: 0.0,
        careful: 0.0,
        retry: false,
        most_steps: 100,
        steps: None,
    };
    let joint = Integrator::Joint(Flow::Rotation);
    let mut kernel = Transitions::new(system, joint, tuning, 1, (0..CHAINS).collect());
    let mut info = vec![Info::default(); CHAINS as usize];
    let mut number = 0;
    let id = BenchmarkId::new(format!("{group}/{}", device.name()), size);
    criterion.bench_with_input(id, &size, |bench, _| {
        bench.iter(|| {
            number += 1;
            kernel.transition(number, &mut info);
        });
    });
    kernel.system.latents.status()
}

fn product(criterion: &mut Criterion, device: &Device, n: usize) -> Result<()> {
    let entries = DMatrix::from_fn(n, n, |i, j| (-(i.abs_diff(j) as f64) / 20.0).exp());
    let x = DVector::from_fn(n * CHAINS as usize, |i, _| (0.1 * i as f64).sin());
    let id = BenchmarkId::new(format!("dense product/{}", device.name()), n);
    if device.is_gpu() {
        let mut matrix = device.dense(n, CHAINS as usize, None)?;
        matrix.set(entries.as_slice())?;
        let mut out = vec![0.0; x.len()];
        criterion.bench_with_input(id, &n, |bench, _| {
            bench.iter(|| matrix.multiply(black_box(x.as_slice()), &mut out));
        });
    } else {
        let x = DMatrix::from_column_slice(n, CHAINS as usize, x.as_slice());
        criterion.bench_with_input(id, &n, |bench, _| bench.iter(|| black_box(&entries * &x)));
    }
    Ok(())
}
