//! Compares potentials, gradients and whole trajectories, point by point, with the same in f64, as `sshmc check device` does.

use crate::worlds::{device, worlds};
use sshmc::check::trajectory_error;
use sshmc::device::Flow;

#[test]
fn trajectories_follow_those_in_double_precision() {
    for world in worlds() {
        for flow in [Flow::Rotation, Flow::Drift] {
            let worst = trajectory_error(&device(), &world, flow, 0.0).unwrap();
            println!("{} {flow:?}: {:.3} of the bound ({})", world.name, worst.ratio, worst.text);
            assert!(worst.ratio <= 1.0, "{} {flow:?}: {}", world.name, worst.text);
        }
    }
}

#[test]
fn the_comparison_sees_a_small_error() {
    for name in ["33 x 32", "20 x 30, covariates", "1025 returns"] {
        let world = worlds().into_iter().find(|w| w.name == name).unwrap();
        let worst = trajectory_error(&device(), &world, Flow::Rotation, 1e-3).unwrap();
        assert!(worst.ratio > 1.0, "κ off by a thousandth passes: {}", worst.text);
    }
}
