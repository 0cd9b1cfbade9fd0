//! Says what a sampler may ask of a device, in four parts: what moves, learns, records and is kept.

use super::LatentState;
use crate::coordinates::Coordinates;
use crate::draws::{FieldDraws, FieldPlan};
use crate::error::{Error, Result};

/// The exact flow that moves the latents between two kicks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flow {
    /// z ← z + εM⁻¹r, the leapfrog's; kicks use all of ∂U/∂z.
    Drift,
    /// (z, r) turns by the angle ε, the flow of ½|z|² + ½|r|²; kicks use ∂U/∂z − z. For identity mass only.
    Rotation,
}

/// What can be asked of a device without waiting for the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// U, as by [`Move::evaluate`].
    Potential,
    /// The kinetic energy, as by [`Move::kinetic`].
    Kinetic,
}

/// The answer: energies of all chains and their gradients in φ.
#[derive(Clone, Copy, Debug)]
pub struct Reading<'a> {
    /// One energy per chain.
    pub energy: &'a [f64],
    /// Gradients, chain after chain.
    pub by_phi: &'a [f64],
}

/// What moves: positions z, momenta r and the gradient at z of every chain, and the energies there.
pub trait Move: Send {
    /// Number of chains.
    fn chains(&self) -> usize;

    /// An error if the device has failed; what it returned since is worthless, and no proposal was accepted on it.
    fn status(&self) -> Result<()> {
        Ok(())
    }

    /// Draws r ~ N(0, M(φ)) with the random numbers of this transition.
    fn refresh(&mut self, transition: u32, phi: &[f64]);

    /// Evaluates U(z, φ) and its gradients: one latent gradient per chain. ∂U/∂z stays on the device.
    fn evaluate(&mut self, phi: &[f64], potential: &mut [f64], by_phi: &mut [f64]);

    /// Kinetic energies at (r, φ), and their gradients in φ if asked for.
    fn kinetic(&mut self, phi: &[f64], energy: &mut [f64], by_phi: Option<&mut [f64]>);

    /// Whether waiting for an answer costs something, so that [`Self::request`] and [`Self::collect`] are worth using.
    fn defers(&self) -> bool {
        false
    }

    /// Asks for a quantity at the current point and φ without waiting. For devices that defer.
    fn request(&mut self, _phi: &[f64], _quantity: Quantity) {}

    /// Waits once for everything that was requested and hands it over in that order; nothing if the device has failed.
    fn collect(&mut self, _visit: &mut dyn FnMut(Reading<'_>)) {}

    /// r ← r − ε ∂U/∂z (less z for [`Flow::Rotation`]), one ε per chain.
    fn kick(&mut self, step: &[f64], flow: Flow);

    /// Moves z (and r) along the flow, with the mass at the φ of the last call that named one.
    fn flow(&mut self, step: &[f64], flow: Flow);

    /// [`Self::kick`], then [`Self::flow`], each with steps of its own: how a step of the latents begins. The gradient that was there is
    /// gone: the new point has to be evaluated before the next kick.
    fn leap(&mut self, kick: &[f64], step: &[f64], flow: Flow) {
        self.kick(kick, flow);
        self.flow(step, flow);
    }

    /// Turns every momentum around.
    fn reverse(&mut self);

    /// Remembers z and its gradient as the point to come back to.
    fn save(&mut self);

    /// Takes chains back to the saved point where `accepted` is false.
    fn settle(&mut self, accepted: &[bool]);

    /// Makes room for a second point to come back to; false on a device that has none, where [`Self::put_aside`] and
    /// [`Self::take_back`] must not be used.
    fn make_room_aside(&mut self) -> bool {
        false
    }

    /// Puts the saved points aside, so that others can be saved.
    fn put_aside(&mut self) {}

    /// Takes every chain to the point that was put aside.
    fn take_back(&mut self) {}

    /// Number of latent gradients evaluated so far for a chain.
    fn gradients(&self, chain: usize) -> u64;
}

/// What warm-up learns from, and what it changes.
pub trait Learn: Send {
    /// Changes a chain's coordinates; latents and hyperparameters stay where they are, and `phi` becomes the sampler's in the new
    /// coordinates. The point must be evaluated again.
    fn change(&mut self, chain: usize, coordinates: &Coordinates, phi: &mut [f64]) -> Result<()>;

    /// Writes the model's φ of a chain at the sampler's: the same but in block coordinates.
    fn hyperparameters(&self, _chain: usize, sampled: &[f64], phi: &mut [f64]) {
        phi.copy_from_slice(sampled);
    }

    /// Learns how a chain's latents follow its hyperparameters from a few draws (see [`crate::hamiltonian::Tilt`]); the latents stay
    /// where they are. The point must be evaluated again. False if nothing was learnt, as on a device that does not offer it.
    fn lean(
        &mut self,
        _chain: usize,
        _centre: &[f64],
        _scale: &[f64],
        _draws: &[(Vec<f64>, Vec<f64>)],
        _phi: &[f64],
    ) -> bool {
        false
    }

    /// The latents with their mean, and −∇ log p(y|η), both in the structure's basis: what coordinates are learnt from.
    fn latents_and_score(&mut self, chain: usize, x: &mut [f64], g: &mut [f64]);

    /// The predictor of a chain at the sites.
    fn predictor(&mut self, chain: usize, out: &mut [f64]);

    /// Adds every chain's current point to running means that the device keeps, and says so; false if the caller has to keep them by
    /// [`Self::latents_and_score`] and [`Self::predictor`], because that costs nothing here.
    fn observe(&mut self) -> bool {
        false
    }

    /// The means of a chain's observed latents, scores and predictors.
    fn learnt(&mut self, _chain: usize, _x: &mut [f64], _g: &mut [f64], _eta: &mut [f64]) {}

    /// Begins the means afresh with the next observation.
    fn forget(&mut self) {}
}

/// What is recorded of the draws.
pub trait Record: Send {
    /// The reported latents of a chain at the sites. Belongs to the current, evaluated point.
    fn field(&mut self, chain: usize, out: &mut [f64]);

    /// Says what [`Self::record`] is to keep of each chain's draws: at which sites, and whether of exponentials.
    fn choose(&mut self, _plans: &[&FieldPlan]) -> Result<()> {
        Ok(())
    }

    /// Adds every chain's current field to its record. A device may keep what it recorded until [`Self::finish`].
    fn record(&mut self, draws: &mut [FieldDraws]) {
        for (chain, draws) in draws.iter_mut().enumerate() {
            let mut field = vec![0.0; draws.mean().len()];
            self.field(chain, &mut field);
            draws.record(&field);
        }
    }

    /// Hands over what of the records the device has kept so far, except moments.
    fn deliver(&mut self, _draws: &mut [FieldDraws]) {}

    /// Completes the records.
    fn finish(&mut self, _draws: &mut [FieldDraws]) {}
}

/// What is kept of a chain so that it can go on elsewhere, or be looked at.
pub trait Keep: Send {
    /// A chain's complete state between two transitions.
    fn snapshot(&mut self, _chain: usize) -> Result<LatentState> {
        Err(Error::Numeric("this device does not hand its latents over".into()))
    }

    /// Puts a chain, whose hyperparameters are φ, into such a state: from there it goes on with the same bits.
    fn restore(&mut self, _chain: usize, _state: &LatentState, _phi: &[f64]) -> Result<()> {
        Err(Error::Numeric("this device does not take latents over".into()))
    }

    /// Copies a chain's z and r and returns its coordinates, for an audit of its energies in f64; none on a device whose energies
    /// are in f64 anyway.
    fn point(&mut self, _chain: usize, _z: &mut [f64], _r: &mut [f64]) -> Option<Coordinates> {
        None
    }
}

/// The latent block of a batch of chains, where it is computed.
///
/// Each call acts on every chain of the batch unless it names one. **Where the host waits** for a device that computes apart from it:
///
/// | trait | waits | goes on at once |
/// |---|---|---|
/// | [`Move`] | `evaluate`, `kinetic`, `collect` | everything else; `request` asks and `collect` waits once for all that was asked |
/// | [`Learn`] | `change`, `lean`, `latents_and_score`, `predictor`, `learnt` | `observe`, `forget`, `hyperparameters` |
/// | [`Record`] | `field`, `deliver`, `finish`, and `record` when the device has no room left for draws that were not fetched | `choose`, any other `record` |
/// | [`Keep`] | `snapshot`, `point` | `restore` |
///
/// So a transition waits for energies alone, once or a few times, and everything else is asked for at the ends of windows, at
/// checkpoints and at the end.
pub trait Latents: Move + Learn + Record + Keep {}

impl<T: Move + Learn + Record + Keep> Latents for T {}
