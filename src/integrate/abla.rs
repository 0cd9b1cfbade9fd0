//! Steps the blocks in turn: Φ₁(ε/2) ∘ Φ₂(ε) ∘ Φ₁(ε/2), a palindrome of leapfrogs.
//!
//! Φ₁ moves (z, r) with (φ, p) frozen under U(z, φ) + ½r'M(φ)⁻¹r; Φ₂ moves (φ, p) with (z, r) frozen under
//! U(z, φ) + ½r'M(φ)⁻¹r + ½log|M(φ)| + ½p'Cp: the kinetic energy of one block is potential energy to the other.

use super::{Steps, System};
use crate::device::Flow;

pub(super) fn step(system: &mut System, steps: &Steps, flow: Flow, k1: u32, k2: u32) {
    latents(system, steps, flow, k1);
    hyperparameters(system, steps, k2);
    latents(system, steps, flow, k1);
}

/// Φ₁(ε/2) in k₁ leapfrogs.
fn latents(system: &mut System, steps: &Steps, flow: Flow, k1: u32) {
    let share = 0.5 / f64::from(k1);
    system.mark_energies();
    for _ in 0..k1 {
        system.leap_latents(steps, share, flow);
        system.evaluate_by_and_by();
        system.kick_latents(steps, 0.5 * share, flow);
    }
    system.attribute_to_latents();
}

/// Φ₂(ε) in k₂ leapfrogs.
fn hyperparameters(system: &mut System, steps: &Steps, k2: u32) {
    let share = 1.0 / f64::from(k2);
    for _ in 0..k2 {
        system.kick_hyperparameters(steps, 0.5 * share, Flow::Drift, true);
        system.flow_hyperparameters(steps, share, Flow::Drift);
        system.evaluate_by_and_by();
        system.kick_hyperparameters(steps, 0.5 * share, Flow::Drift, true);
    }
}
