//! Holds what a transition costs against its gradients, and two chains on two threads against one on one.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

mod ratio;

use criterion::Criterion;
use sshmc::Result;
use sshmc::coordinates::Coordinates;
use sshmc::hamiltonian::Target;
use sshmc::likelihood::Curvature;
use sshmc::model::{self, LgcpOptions, Model};
use sshmc::random::{Purpose, Stream};
use sshmc::sample::{Fit, Info, Progress, Settings, Stage, run};
use sshmc::simulate::{self, PatternTruth, RegressionTruth, VolatilityTruth};
use sshmc::structure::{Anisotropy, Information, Kernel};
use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

fn main() -> Result<()> {
    let mut criterion = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(200))
        .measurement_time(Duration::from_millis(600))
        .configure_from_args();
    let (draws, rounds) = if ratio::measuring() { (100, 5) } else { (5, 1) };
    let settings =
        Settings { chains: 1, warmup: draws, draws, threads: Some(1), ..Settings::default() };
    for (name, model) in models()? {
        overhead(name, &model, &settings, rounds)?;
        two_chains(name, &model, &settings, rounds)?;
    }
    normals(&mut criterion);
    criterion.final_summary();
    Ok(())
}

fn models() -> Result<[(&'static str, Arc<Model>); 3]> {
    let pattern = PatternTruth {
        rows: 64,
        columns: 64,
        sigma: 1.0,
        range: 0.05,
        total: 1000.0,
        kernel: Kernel::Exponential,
        anisotropy: Anisotropy::NONE,
    };
    let returns = VolatilityTruth { steps: 2000, phi: 0.95, sigma: 0.2, beta: 0.65 };
    let table = RegressionTruth { groups: 10, features: 20, rows: 100, v: 0.3 };
    let options =
        LgcpOptions { priors: vec!["range=uniform(0.02,0.1)".into()], ..LgcpOptions::default() };
    Ok([
        ("LGCP 64 x 64", Arc::new(model::lgcp(&simulate::lgcp(&pattern, 1)?.counts, &options)?)),
        ("SV T = 2000", Arc::new(model::stochvol(&simulate::stochvol(&returns, 1)?.returns, &[])?)),
        ("logistic", Arc::new(model::logistic(&simulate::logistic(&table, 1)?.table, &[])?)),
    ])
}

/// Seconds of a transition for each of its gradients, against the seconds of a gradient by itself. What it adds is everything
/// else: normals, integration, Metropolis, recording, and what the latents learnt to follow.
fn overhead(name: &str, model: &Arc<Model>, settings: &Settings, rounds: usize) -> Result<()> {
    let (mut clock, mut gradients, mut alone) = (Clock::default(), 0, f64::INFINITY);
    for _ in 0..rounds {
        let fit = run(model, settings, &clock)?;
        gradients += fit.chains[0].gradients;
        let model = &fit.model;
        let mut target = Target::new(model.clone(), &coordinates(&fit))?;
        let (z, start) = (vec![0.1; model.structure().dim()], model.start());
        let mut phi = start.clone();
        target.sampled(&start, &mut phi);
        let (mut by_z, mut by_phi) = (vec![0.0; z.len()], vec![0.0; phi.len()]);
        let evaluate = || {
            phi[0] += 1e-9;
            black_box(target.evaluate(&z, &phi, &mut by_z, &mut by_phi));
        };
        alone = alone.min(ratio::best(0.1, evaluate, || ()).0);
    }
    let times = (clock.seconds() / gradients as f64, alone);
    let share = 100.0 * (times.0 / times.1 - 1.0);
    println!("everything else in a transition / its gradients, {name}: {share:.0} %");
    ratio::report(&format!("transition per gradient / gradient, {name}"), times);
    Ok(())
}

/// Times every transition after warm-up, with its number of steps.
#[derive(Default)]
struct Clock {
    state: Mutex<Times>,
}

/// When the last transition ended, and steps and seconds of those timed.
type Times = (Option<Instant>, Vec<(u32, f64)>);

impl Progress for Clock {
    fn transition(&self, _: u32, stage: Stage, info: &Info, _: &[f64]) {
        // A poisoned lock means that the run has panicked, and there is nothing left to time.
        let Ok(mut state) = self.state.lock() else { return };
        if let (Stage::Sampling, Some(last)) = (stage, state.0) {
            state.1.push((info.steps, last.elapsed().as_secs_f64()));
        }
        state.0 = Some(Instant::now());
    }
}

impl Clock {
    /// Seconds of all transitions, each charged the least that any with as many steps took: what a quiet machine would need.
    fn seconds(&mut self) -> f64 {
        let Ok(state) = self.state.get_mut() else { return f64::NAN };
        let mut least = BTreeMap::new();
        for &(steps, seconds) in &state.1 {
            let own = least.entry(steps).or_insert(f64::INFINITY);
            *own = seconds.min(*own);
        }
        state.1.iter().map(|(steps, _)| least[steps]).sum()
    }
}

/// Coordinates of the kind a run ended in, and of the size.
fn coordinates(fit: &Fit) -> Coordinates {
    let model = &fit.model;
    if fit.coordinates == "block-informed" {
        let [sigma, range] = [0, 1].map(|i| &fit.chains[0].parameters[i]);
        let likely: Vec<[f64; 2]> =
            sigma.iter().zip(range).map(|(s, l)| [s.ln(), l.ln()]).collect();
        return Coordinates::block_informed(model, &likely, None)
            .expect("a field that was sampled in a block has one");
    }
    let (flat, own) = (vec![0.0; model.structure().sites()], model.own(&model.start()));
    let information = match (fit.coordinates, model.likelihood().curvature(&flat, &own)) {
        ("centred", _) => return Coordinates::Centred,
        ("informed", Curvature::Blocks(blocks)) => Information::Blocks(Arc::new(blocks)),
        ("informed", Curvature::Sites(_)) => Information::Scalar(0.5),
        _ => return Coordinates::whitened(),
    };
    let shift = Some(Arc::new(vec![0.1; model.structure().dim()]));
    Coordinates::Informed { information, shift }
}

/// Chains 0 and 1 together on two threads against the slower of the two alone: the same draws, so the same work.
fn two_chains(name: &str, model: &Arc<Model>, settings: &Settings, rounds: usize) -> Result<()> {
    let together = Settings { chains: 2, threads: Some(2), ..settings.clone() };
    let mut least = [f64::INFINITY; 3];
    for _ in 0..rounds {
        least[0] = least[0].min(seconds(model, &together)?);
        for chain in 0..2 {
            let alone = Settings { first_chain: chain, ..settings.clone() };
            let own = &mut least[1 + chain as usize];
            *own = own.min(seconds(model, &alone)?);
        }
    }
    let what = format!("two chains on two threads / the slower of them alone, {name}");
    ratio::report(&what, (least[0], least[1].max(least[2])));
    Ok(())
}

fn seconds(model: &Arc<Model>, settings: &Settings) -> Result<f64> {
    let begun = Instant::now();
    black_box(run(model, settings, &())?);
    Ok(begun.elapsed().as_secs_f64())
}

/// The random numbers of a 64 x 64 grid's momenta.
fn normals(criterion: &mut Criterion) {
    let mut out = vec![0.0; 128 * 128];
    criterion.bench_function("momenta of a 128 x 128 torus", |b| {
        b.iter(|| Stream::new(1, 0, 0, Purpose::Momentum).fill_normals(black_box(&mut out)));
    });
}
