//! Compares potentials, gradients and whole trajectories, point by point, with the same in f64, as `sshmc check device` does: one suite for
//! both devices, each held to the precision of its own numbers.

use crate::own::Own;
use crate::worlds::{World, device, large_worlds, worlds};
use sshmc::check::{COMPARED, Spoilt, Worst, largest, residue, trajectory_errors};
use sshmc::device::{Device, Flow};

const STEPS: usize = 5;

fn compare(device: &Device, world: &World, flow: Flow, steps: usize, spoilt: Spoilt) -> Vec<Worst> {
    let found = trajectory_errors(device, world, flow, steps, spoilt).unwrap();
    let mut seen: Vec<&str> = found.iter().map(|worst| worst.what).collect();
    let mut expected: Vec<&str> =
        COMPARED.into_iter().filter(|what| device.is_gpu() || *what != "r").collect();
    seen.sort_unstable();
    expected.sort_unstable();
    assert_eq!(seen, expected, "{}", world.name);
    found
}

fn agrees(device: &Device, world: &World, flow: Flow, steps: usize) {
    let name = format!("{} {flow:?} on {}", world.name, device.name());
    for worst in compare(device, world, flow, steps, Spoilt::default()) {
        println!("{name}, {}: {:.4} of the bound", worst.what, worst.ratio);
        assert!(worst.ratio <= 1.0, "{name}: {}", worst.text);
    }
}

/// Every comparison must see where a reference that starts elsewhere went.
fn disagrees(device: &Device, world: &World, flow: Flow, steps: usize) {
    let by = if device.is_gpu() { 1e-3 } else { 1e-12 };
    let spoilt = Spoilt { z: by, r: by, ..Spoilt::default() };
    for worst in compare(device, world, flow, steps, spoilt) {
        let name = format!("{} {flow:?} on {}, {}", world.name, device.name(), worst.what);
        println!("{name}: {:.1} of the bound if spoilt by {by}", worst.ratio);
        assert!(worst.ratio > 1.0, "{name}: a start off by {by} passes: {}", worst.text);
    }
}

/// What else may go wrong along the way; the worst of all comparisons must see it.
fn sees(device: &Device, world: &World, what: &str, spoilt: Spoilt) {
    let found = compare(device, world, Flow::Rotation, STEPS, spoilt);
    let worst = largest(found.iter().map(|worst| worst.ratio));
    assert!(worst > 1.0, "{} on {}: a wrong {what} passes", world.name, device.name());
}

/// The suite, for one device.
macro_rules! suite {
    ($name:ident, $device:expr, $error:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn trajectories_follow_those_in_double_precision() {
                for world in worlds() {
                    for flow in [Flow::Rotation, Flow::Drift] {
                        agrees(&$device, &world, flow, STEPS);
                    }
                }
            }

            #[test]
            fn every_comparison_sees_a_small_error_in_every_world() {
                for world in worlds() {
                    disagrees(&$device, &world, Flow::Rotation, 1);
                    let error = $error;
                    sees(&$device, &world, "step", Spoilt { step: error, ..Spoilt::default() });
                    if world.kappa != 0.0 {
                        sees(&$device, &world, "κ", Spoilt { kappa: error, ..Spoilt::default() });
                    }
                }
            }

            #[test]
            fn what_was_in_memory_before_leaves_no_trace() {
                for world in worlds() {
                    let differ = residue(&$device, &world, false).unwrap();
                    assert_eq!(differ, 0, "{}: numbers with other bits", world.name);
                    let moved = residue(&$device, &world, true).unwrap();
                    assert!(moved > 0, "{}: a latent that moved does not show", world.name);
                }
            }
        }
    };
}

suite!(on_the_cpu, Device::cpu(), 1e-10);
suite!(on_the_gpu, device(), 1e-3);

/// At the portable limits, which are less than most adapters have.
#[test]
fn the_longest_lines_and_many_chunks_are_those_in_double_precision() {
    let own = Own::open();
    let gpu = Device::from_wgpu(own.device.clone(), own.queue.clone()).unwrap();
    let adapter = gpu.as_gpu().unwrap().adapter();
    assert_eq!((adapter.workgroup, adapter.shared_memory), (256, 16 << 10), "the portable limits");
    for world in large_worlds() {
        agrees(&gpu, &world, Flow::Rotation, 0);
        disagrees(&gpu, &world, Flow::Rotation, 0);
    }
}
