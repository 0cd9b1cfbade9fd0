//! Makes the same transitions of large grids on both devices: the same random numbers, so the same draws but for rounding.
//!
//! Chains start at a draw of the model they are fitted to, which is a draw of their posterior, so that they are where a run would be.

use crate::energies::field;
use crate::worlds::device;
use sshmc::check::{largest, largest_difference};
use sshmc::device::{Device, Flow};
use sshmc::hamiltonian::MassKind;
use sshmc::integrate::{HyperMetric, Integrator, System};
use sshmc::sample::{Info, Sshmc, Tuning};

const TRANSITIONS: u32 = 4;
/// Two chains, which part ways with their first momenta.
const CHAINS: u32 = 2;

/// Hyperparameters of both chains after each transition, and acceptance probabilities of their trajectories.
fn follow(device: &Device, side: usize, step: f64) -> [Vec<f64>; 2] {
    let point = field(side, 0.125);
    let chains = (0..CHAINS).map(|id| (id, point.z.clone())).collect();
    let latents =
        device.latents(&point.model, &point.coordinates, &MassKind::Identity, 3, chains).unwrap();
    let metric = HyperMetric::diagonal(&point.phi, &vec![0.02; point.phi.len()]);
    let phi = point.phi.repeat(CHAINS as usize);
    let mut system = System::new(latents, vec![metric; CHAINS as usize], phi);
    system.evaluate();
    let tuning = Tuning {
        step,
        ratio: 1.0,
        path: 6.0 * step,
        jitter: 0.3,
        careful: 0.0,
        retry: false,
        most_steps: 100,
        steps: None,
    };
    let joint = Integrator::Joint(Flow::Rotation);
    let mut kernel = Sshmc::new(system, joint, tuning, 3, (0..CHAINS).collect());
    let mut info = vec![Info::default(); CHAINS as usize];
    let mut seen = [Vec::new(), Vec::new()];
    for transition in 0..TRANSITIONS {
        kernel.transition(transition, &mut info);
        seen[0].extend_from_slice(&kernel.system.phi);
        seen[1].extend(info.iter().map(|info| info.acceptance));
    }
    kernel.system.latents.status().unwrap();
    seen
}

/// The worst differences, in units of what is allowed.
///
/// Hyperparameters may differ by a two-hundredth of 0.02, which is less than any posterior standard deviation here: no run could tell.
/// Acceptance probabilities may differ by what their energies may be off, a thousandth.
fn apart(a: &[Vec<f64>; 2], b: &[Vec<f64>; 2]) -> f64 {
    let worst = |k: usize, allowed: f64| largest_difference(&a[k], &b[k]) / allowed;
    largest([worst(0, 1e-4), worst(1, 1e-3)])
}

#[test]
fn transitions_of_large_grids_are_the_cpus() {
    for (side, step) in [(64, 0.12), (128, 0.1), (256, 0.08)] {
        let (gpu, cpu) = (follow(&device(), side, step), follow(&Device::cpu(), side, step));
        let longer = follow(&Device::cpu(), side, 1.02 * step);
        let (off, spoilt) = (apart(&gpu, &cpu), apart(&gpu, &longer));
        println!("{side} x {side}: off by {off} of what is allowed, with longer steps by {spoilt}");
        println!("  acceptance {:.3?}", gpu[1]);
        let rough = gpu[1].iter().any(|p| (0.01..0.999).contains(p));
        assert!(rough, "no trajectory is rough enough to show anything: {:?}", gpu[1]);
        assert!(off <= 1.0, "{side} x {side}: {off} times what is allowed");
        assert!(spoilt > 1.0, "{side} x {side}: steps longer by a fiftieth pass");
    }
}
