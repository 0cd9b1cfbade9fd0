//! Tries a trajectory that lost its energy once more, with smaller steps: delayed rejection.
//!
//! A step that serves nearly everywhere is too long near a wall of the posterior, and a chain that is there would sit still. So a
//! proposal whose energy error exceeds [`LOST`] is followed by a second one from the same point with the same momenta, in steps of
//! a share [`SHORTER`]. It is taken with the probability that leaves the posterior as it is (Tierney and Mira 1999; for trajectories
//! Modi, Barnett and Carpenter 2023): the way back from it must also begin with a trajectory that is lost, so that one is followed too,
//! and α = min(1, e^−Δ₂ (1 − e^−Δ') / (1 − e^−Δ₁)), Δ₁ and Δ' being the errors of the two lost trajectories.

use super::sshmc::Sshmc;
use crate::draws::{DIVERGENT, Info};
use crate::random::{Purpose, Stream};

/// Energy error from which a trajectory counts as lost.
const LOST: f64 = 5.0;
/// Steps of a second try over those of the first, and its length over that of the first.
const SHORTER: f64 = 0.25;
const NEARER: f64 = 0.5;

impl Sshmc {
    /// Makes a second try for a chain that is alone in its batch, if its tuning says so and it lost its trajectory.
    pub(super) fn retry_if_lost(&mut self, transition: u32, info: &mut Info) {
        let error = known(self.system.energy(0) - self.energy_before(0));
        if self.tuning[0].retry && self.two_points && !info.accepted && error > LOST {
            self.retry(transition, error, info);
        }
    }

    fn retry(&mut self, transition: u32, first: f64, info: &mut Info) {
        let (count, size) = (self.counts[0], self.sizes[0]);
        self.draw_momenta(transition);
        self.counts[0] = ((f64::from(count) * NEARER / SHORTER).ceil() as u32).max(1);
        self.sizes[0] = size * SHORTER;
        self.follow();
        let error = self.error_since(self.energy_before(0));
        info.divergent = error > DIVERGENT;
        let stream = Stream::new(self.seed, self.ids[0], transition, Purpose::Accept);
        // What is compared with e^−Δ₂; the way back can only make it worse.
        let needed = stream.uniform(1) * -(-first).exp_m1();
        info.accepted = needed < (-error).exp() && {
            (self.counts[0], self.sizes[0]) = (count, size);
            self.is_lost_backwards(needed * error.exp())
        };
        if info.accepted {
            self.system.evaluate();
        } else {
            self.go_back();
        }
    }

    /// Whether the first trajectory from here backwards is lost too, and likely enough: 1 − e^−Δ' is more than `needed`.
    fn is_lost_backwards(&mut self, needed: f64) -> bool {
        self.second_phi.copy_from_slice(&self.system.phi);
        self.system.latents.put_aside();
        self.system.latents.save();
        self.system.reverse();
        let before = self.system.energy(0);
        self.follow();
        let error = self.error_since(before);
        self.system.phi.copy_from_slice(&self.second_phi);
        self.system.latents.settle(&[false]);
        let lost = error > LOST && needed < -(-error).exp_m1();
        if !lost {
            self.system.latents.take_back();
        }
        lost
    }

    /// H of the chain less another.
    fn error_since(&mut self, before: f64) -> f64 {
        self.system.energies();
        known(self.system.energy(0) - before)
    }

    /// Takes the chain back to where the transition began.
    fn go_back(&mut self) {
        let m = self.system.phi.len();
        self.saved.give_back(&mut self.system, 0..m, 0);
        self.system.latents.settle(&[false]);
    }
}

/// An error of the energy; infinite where there is none.
fn known(error: f64) -> f64 {
    if error.is_nan() { f64::INFINITY } else { error }
}
