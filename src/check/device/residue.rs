//! Finds out whether an evaluation depends on what was in a device's memory before.

use super::Problem;
use crate::device::{Device, LatentState, Latents};
use crate::error::Result;
use crate::hamiltonian::MassKind;

/// Numbers that are none, infinite, or so large that everything made of them is.
const GARBAGE: [f64; 4] = [f64::NAN, f64::INFINITY, -1e30, f64::NEG_INFINITY];

fn spill(numbers: &mut [f64]) {
    numbers.iter_mut().zip(GARBAGE.iter().cycle()).for_each(|(to, from)| *to = *from);
}

/// All that an evaluation gives: potentials, gradients, and z, ∂U/∂z and the field of each chain.
fn evaluate(latents: &mut dyn Latents, phi: &[f64]) -> Result<(Vec<f64>, Vec<LatentState>)> {
    let chains = latents.chains();
    let mut numbers = vec![f64::NAN; chains + phi.len()];
    let (potential, by_phi) = numbers.split_at_mut(chains);
    latents.evaluate(phi, potential, by_phi);
    let states: Vec<LatentState> =
        (0..chains).map(|chain| latents.snapshot(chain)).collect::<Result<_>>()?;
    for state in &states {
        numbers.extend([&state.z[..], &state.by_z, &state.field].concat());
    }
    Ok((numbers, states))
}

/// Evaluates a problem, fills the device's memory with garbage through all that can be written and evaluates that too, then puts the problem
/// back and evaluates it again: how many numbers have other bits than before. `spoilt` moves one latent by one unit of single precision
/// when it is put back, to see that it shows.
pub fn residue(device: &Device, problem: &Problem, spoilt: bool) -> Result<usize> {
    let chains = problem.ids().map(|id| (id, problem.z(id))).collect();
    let phi: Vec<f64> = problem.ids().flat_map(|chain| problem.phi(chain)).collect();
    let (coordinates, identity) = (problem.rounded(0.0), MassKind::Identity);
    let mut latents = device.latents(&problem.model, &coordinates, &identity, 1, chains)?;
    let (first, mut states) = evaluate(&mut *latents, &phi)?;
    let each = phi.chunks_exact(phi.len() / states.len());
    for (chain, (state, phi)) in states.iter().zip(each.clone()).enumerate() {
        let mut dirty = state.clone();
        for numbers in [&mut dirty.z, &mut dirty.by_z, &mut dirty.field] {
            spill(numbers);
        }
        if let Some(kept) = &mut dirty.kept {
            for numbers in [&mut kept.x, &mut kept.g] {
                spill(numbers);
            }
            let sums = kept.fields.sums.iter_mut().flatten();
            let garbage = GARBAGE.iter().cycle();
            kept.fields
                .reference
                .iter_mut()
                .chain(sums)
                .zip(garbage)
                .for_each(|(to, from)| *to = *from as f32);
        }
        latents.restore(chain, &dirty, phi)?;
    }
    latents.refresh(1, &phi);
    evaluate(&mut *latents, &phi)?;
    latents.observe();
    latents.save();
    if spoilt {
        let z = &mut states[0].z[0];
        *z = f64::from((*z as f32).next_up());
    }
    for (chain, (state, phi)) in states.iter().zip(each).enumerate() {
        latents.restore(chain, state, phi)?;
    }
    let (again, _) = evaluate(&mut *latents, &phi)?;
    latents.status()?;
    let differ = |(a, b): &(&f64, &f64)| a.to_bits() != b.to_bits();
    Ok(first.iter().zip(&again).filter(differ).count() + first.len().abs_diff(again.len()))
}
