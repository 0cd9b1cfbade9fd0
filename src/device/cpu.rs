//! Runs latents on the host in f64: complete on its own, and the reference for other devices.

use super::{Flow, Keep, Lane, LatentState, Learn, Move, Record};
use crate::coordinates::Coordinates;
use crate::draws::FieldDraws;
use crate::error::{Error, Result};
use crate::hamiltonian::{LatentMass, MassKind, Target};
use crate::model::Model;
use crate::numeric::{axpy, vectorised};
use crate::random::{Purpose, Stream};
use std::sync::Arc;

/// Latents of a batch of chains in host memory.
pub struct CpuLatents {
    chains: Vec<Chain>,
    hyperparameters: usize,
}

/// One chain's latents. What is reported is kept as it was at the current point, so a rejected proposal costs nothing. The point to
/// come back to is not copied: the first leap away from it goes into the other pair of arrays.
struct Chain {
    id: u32,
    seed: u64,
    target: Target,
    mass: LatentMass,
    kind: MassKind,
    z: Vec<f64>,
    r: Vec<f64>,
    by_z: Vec<f64>,
    saved_z: Vec<f64>,
    saved_by_z: Vec<f64>,
    field: Vec<f64>,
    predictor: Vec<f64>,
    scratch: Vec<f64>,
    by_w: Vec<f64>,
    /// Room for a point put aside, once it has been asked for.
    aside: Aside,
    /// Whether the current point is itself the one to come back to; what was saved is worthless then.
    at_saved: bool,
    /// Whether the target's last evaluation was at the current z.
    current: bool,
    /// Whether what is reported has been taken from that evaluation.
    reported: bool,
}

/// A point put aside, with what is reported of it.
#[derive(Default)]
struct Aside {
    z: Vec<f64>,
    by_z: Vec<f64>,
    field: Vec<f64>,
    predictor: Vec<f64>,
}

impl CpuLatents {
    /// Latents of `chains` (their ids and starting z), all in the same coordinates and mass.
    pub fn new(
        model: &Arc<Model>,
        coordinates: &Coordinates,
        mass: &MassKind,
        seed: u64,
        chains: Vec<(u32, Vec<f64>)>,
    ) -> Result<Self> {
        let lane = |(id, z)| Lane { model: model.clone(), id, coordinates: coordinates.clone(), z };
        Self::of_lanes(mass, seed, chains.into_iter().map(lane).collect())
    }

    /// Latents of chains of several models, with as many hyperparameters each.
    pub fn of_lanes(mass: &MassKind, seed: u64, lanes: Vec<Lane>) -> Result<Self> {
        let count = |lane: &Lane| lane.model.hyperparameters().len();
        let hyperparameters = lanes.first().map_or(0, count);
        if lanes.iter().any(|lane| count(lane) != hyperparameters) {
            return Err(Error::Numeric(
                "chains of one batch differ in their hyperparameters".into(),
            ));
        }
        let chains = lanes.into_iter().map(|lane| Chain::new(mass, seed, lane));
        Ok(Self { chains: chains.collect::<Result<_>>()?, hyperparameters })
    }

    fn each<'a>(&'a mut self, phi: &'a [f64]) -> impl Iterator<Item = (&'a mut Chain, &'a [f64])> {
        self.chains.iter_mut().zip(phi.chunks_exact(self.hyperparameters))
    }
}

impl Chain {
    fn new(mass: &MassKind, seed: u64, lane: Lane) -> Result<Self> {
        let Lane { model, id, coordinates, z } = lane;
        let structure = model.structure();
        let (n, sites) = (structure.dim(), structure.sites());
        Ok(Self {
            id,
            seed,
            target: Target::new(model.clone(), &coordinates)?,
            mass: LatentMass::new(structure, mass, &coordinates)?,
            kind: mass.clone(),
            r: vec![0.0; n],
            by_z: vec![0.0; n],
            saved_z: z.clone(),
            saved_by_z: vec![0.0; n],
            field: vec![0.0; sites],
            predictor: vec![0.0; sites],
            scratch: vec![0.0; n],
            by_w: vec![0.0; structure.parameters()],
            aside: Aside::default(),
            at_saved: true,
            current: false,
            reported: false,
            z,
        })
    }

    /// Brings the reported values up to the current point, if the target's belong to it and they have not been brought yet.
    fn keep_reported(&mut self) {
        if self.current && !self.reported {
            self.field.copy_from_slice(self.target.reported());
            self.predictor.copy_from_slice(self.target.predictor());
            self.reported = true;
        }
    }

    /// Copies the point to come back to, if the chain is still there, before something changes in place.
    fn leave(&mut self) {
        if std::mem::take(&mut self.at_saved) {
            self.saved_z.copy_from_slice(&self.z);
            self.saved_by_z.copy_from_slice(&self.by_z);
        }
    }

    /// Exchanges the current point with the saved one.
    fn exchange(&mut self) {
        std::mem::swap(&mut self.z, &mut self.saved_z);
        std::mem::swap(&mut self.by_z, &mut self.saved_by_z);
    }

    /// A kick of r by z − ∂U/∂z, then a turn of (z, r) by an angle.
    fn turn(&mut self, kick: f64, angle: f64) {
        let turn = Turn::new(kick, angle);
        if std::mem::take(&mut self.at_saved) {
            turn.into(&self.z, &mut self.r, &self.by_z, &mut self.saved_z);
            self.exchange();
        } else {
            turn.in_place(&mut self.z, &mut self.r, &self.by_z);
        }
    }

    /// z ← z + ε M⁻¹ r.
    fn drift(&mut self, step: f64) {
        self.leave();
        if self.mass.is_identity() {
            axpy(step, &self.r, &mut self.z);
        } else {
            self.mass.velocity(&self.r, &mut self.scratch);
            axpy(step, &self.scratch, &mut self.z);
        }
    }
}

/// A kick of r by z − ∂U/∂z, then a turn of (z, r), in one pass.
#[derive(Clone, Copy)]
struct Turn {
    kick: f64,
    sin: f64,
    cos: f64,
}

impl Turn {
    fn new(kick: f64, angle: f64) -> Self {
        let (sin, cos) = angle.sin_cos();
        Self { kick, sin, cos }
    }

    /// Where z and r go.
    #[inline(always)]
    fn apply(self, z: f64, r: f64, by_z: f64) -> (f64, f64) {
        let kicked = r + self.kick * (z - by_z);
        (self.cos * z + self.sin * kicked, self.cos * kicked - self.sin * z)
    }

    fn in_place(self, z: &mut [f64], r: &mut [f64], by_z: &[f64]) {
        vectorised(
            #[inline(always)]
            || {
                for ((z, r), by_z) in z.iter_mut().zip(r).zip(by_z) {
                    (*z, *r) = self.apply(*z, *r, *by_z);
                }
            },
        );
    }

    /// Leaves z as it was and writes where it goes to `out`.
    fn into(self, z: &[f64], r: &mut [f64], by_z: &[f64], out: &mut [f64]) {
        vectorised(
            #[inline(always)]
            || {
                for (((out, z), r), by_z) in out.iter_mut().zip(z).zip(r).zip(by_z) {
                    (*out, *r) = self.apply(*z, *r, *by_z);
                }
            },
        );
    }
}

/// r ← r + ε (z − ∂U/∂z).
fn kick_rest(z: &[f64], r: &mut [f64], by_z: &[f64], step: f64) {
    vectorised(
        #[inline(always)]
        || {
            for ((r, z), by_z) in r.iter_mut().zip(z).zip(by_z) {
                *r += step * (z - by_z);
            }
        },
    );
}

impl Move for CpuLatents {
    fn chains(&self) -> usize {
        self.chains.len()
    }

    fn refresh(&mut self, transition: u32, phi: &[f64]) {
        for (chain, phi) in self.each(phi) {
            let stream = Stream::new(chain.seed, chain.id, transition, Purpose::Momentum);
            stream.fill_normals(&mut chain.r);
            if !chain.mass.is_identity() && chain.mass.set(chain.target.working(phi).0) {
                chain.mass.draw(&mut chain.r);
            }
        }
    }

    fn evaluate(&mut self, phi: &[f64], potential: &mut [f64], by_phi: &mut [f64]) {
        let m = self.hyperparameters;
        for (b, (chain, phi)) in self.each(phi).enumerate() {
            let by_phi = &mut by_phi[b * m..(b + 1) * m];
            chain.leave();
            potential[b] = chain.target.evaluate(&chain.z, phi, &mut chain.by_z, by_phi);
            chain.current = true;
            chain.reported = false;
        }
    }

    fn kinetic(&mut self, phi: &[f64], energy: &mut [f64], mut by_phi: Option<&mut [f64]>) {
        let m = self.hyperparameters;
        for (b, (chain, phi)) in self.each(phi).enumerate() {
            if let Some(by_phi) = by_phi.as_deref_mut() {
                by_phi[b * m..(b + 1) * m].fill(0.0);
            }
            let (w, dw) = chain.target.working(phi);
            if !chain.mass.set(w) {
                energy[b] = f64::INFINITY;
                continue;
            }
            energy[b] = chain.mass.kinetic(&chain.r);
            if let Some(by_phi) = by_phi.as_deref_mut()
                && !chain.mass.is_identity()
            {
                chain.mass.kinetic_gradient(&chain.r, &mut chain.by_w);
                for ((o, by_w), dw) in by_phi[b * m..].iter_mut().zip(&chain.by_w).zip(dw) {
                    *o = by_w * dw;
                }
            }
        }
    }

    fn kick(&mut self, step: &[f64], flow: Flow) {
        for (chain, &step) in self.chains.iter_mut().zip(step) {
            match flow {
                Flow::Rotation => kick_rest(&chain.z, &mut chain.r, &chain.by_z, step),
                Flow::Drift => axpy(-step, &chain.by_z, &mut chain.r),
            }
        }
    }

    fn flow(&mut self, step: &[f64], flow: Flow) {
        for (chain, &step) in self.chains.iter_mut().zip(step) {
            chain.leave();
            match flow {
                Flow::Rotation => chain.turn(0.0, step),
                Flow::Drift => chain.drift(step),
            }
            chain.current = false;
        }
    }

    fn leap(&mut self, kick: &[f64], step: &[f64], flow: Flow) {
        for ((chain, &kick), &step) in self.chains.iter_mut().zip(kick).zip(step) {
            match flow {
                Flow::Rotation => chain.turn(kick, step),
                Flow::Drift => {
                    axpy(-kick, &chain.by_z, &mut chain.r);
                    chain.drift(step);
                }
            }
            chain.current = false;
        }
    }

    fn reverse(&mut self) {
        for chain in &mut self.chains {
            chain.r.iter_mut().for_each(|r| *r = -*r);
        }
    }

    fn save(&mut self) {
        for chain in &mut self.chains {
            chain.keep_reported();
            chain.at_saved = true;
        }
    }

    fn settle(&mut self, accepted: &[bool]) {
        for (chain, &accepted) in self.chains.iter_mut().zip(accepted) {
            if accepted {
                chain.keep_reported();
            } else if !chain.at_saved {
                chain.exchange();
                (chain.at_saved, chain.current) = (true, false);
            }
        }
    }

    fn make_room_aside(&mut self) -> bool {
        for chain in &mut self.chains {
            let aside = &mut chain.aside;
            aside.z.resize(chain.z.len(), 0.0);
            aside.by_z.resize(chain.z.len(), 0.0);
            aside.field.resize(chain.field.len(), 0.0);
            aside.predictor.resize(chain.predictor.len(), 0.0);
        }
        true
    }

    fn put_aside(&mut self) {
        for chain in &mut self.chains {
            chain.leave();
            let aside = &mut chain.aside;
            std::mem::swap(&mut aside.z, &mut chain.saved_z);
            std::mem::swap(&mut aside.by_z, &mut chain.saved_by_z);
            std::mem::swap(&mut aside.field, &mut chain.field);
            std::mem::swap(&mut aside.predictor, &mut chain.predictor);
        }
    }

    fn take_back(&mut self) {
        for chain in &mut self.chains {
            let aside = &mut chain.aside;
            std::mem::swap(&mut aside.z, &mut chain.z);
            std::mem::swap(&mut aside.by_z, &mut chain.by_z);
            std::mem::swap(&mut aside.field, &mut chain.field);
            std::mem::swap(&mut aside.predictor, &mut chain.predictor);
            (chain.at_saved, chain.current) = (true, false);
        }
    }

    fn gradients(&self, chain: usize) -> u64 {
        self.chains[chain].target.evaluations()
    }
}

impl Learn for CpuLatents {
    fn change(&mut self, chain: usize, coordinates: &Coordinates, phi: &mut [f64]) -> Result<()> {
        let chain = &mut self.chains[chain];
        let mut by_phi = vec![0.0; self.hyperparameters];
        if !chain.current {
            chain.target.evaluate(&chain.z, phi, &mut chain.by_z, &mut by_phi);
        }
        chain.target.change(coordinates, phi, &mut chain.z)?;
        chain.mass = LatentMass::new(chain.target.model().structure(), &chain.kind, coordinates)?;
        chain.current = false;
        Ok(())
    }

    fn hyperparameters(&self, chain: usize, sampled: &[f64], phi: &mut [f64]) {
        self.chains[chain].target.hyperparameters(sampled, phi);
    }

    fn lean(
        &mut self,
        chain: usize,
        centre: &[f64],
        scale: &[f64],
        draws: &[(Vec<f64>, Vec<f64>)],
        phi: &[f64],
    ) -> bool {
        let chain = &mut self.chains[chain];
        chain.current = false;
        chain.target.lean(centre, scale, draws, phi, &mut chain.z)
    }

    fn latents_and_score(&mut self, chain: usize, x: &mut [f64], g: &mut [f64]) {
        let chain = &mut self.chains[chain];
        chain.target.latents_and_score(&chain.z, &chain.by_z, x, g);
    }

    fn predictor(&mut self, chain: usize, out: &mut [f64]) {
        out.copy_from_slice(&self.chains[chain].predictor);
    }
}

impl Record for CpuLatents {
    fn field(&mut self, chain: usize, out: &mut [f64]) {
        out.copy_from_slice(&self.chains[chain].field);
    }

    fn record(&mut self, draws: &mut [FieldDraws]) {
        for (chain, draws) in self.chains.iter().zip(draws) {
            draws.record(&chain.field);
        }
    }
}

impl Keep for CpuLatents {
    fn snapshot(&mut self, chain: usize) -> Result<LatentState> {
        let chain = &mut self.chains[chain];
        chain.keep_reported();
        Ok(LatentState {
            coordinates: chain.target.coordinates().clone(),
            tilt: chain.target.tilt().cloned(),
            z: chain.z.clone(),
            by_z: chain.by_z.clone(),
            field: chain.field.clone(),
            predictor: chain.predictor.clone(),
            gradients: chain.target.evaluations(),
            kept: None,
        })
    }

    fn restore(&mut self, chain: usize, state: &LatentState, _phi: &[f64]) -> Result<()> {
        let chain = &mut self.chains[chain];
        let lengths =
            |z: &[f64], field: &[f64], predictor: &[f64]| (z.len(), field.len(), predictor.len());
        if lengths(&state.z, &state.field, &state.predictor)
            != lengths(&chain.z, &chain.field, &chain.predictor)
        {
            return Err(Error::Numeric("the state that was kept is not one of this model".into()));
        }
        chain.target.restore(&state.coordinates, state.tilt.clone(), state.gradients)?;
        let structure = chain.target.model().structure();
        chain.mass = LatentMass::new(structure, &chain.kind, &state.coordinates)?;
        chain.z.copy_from_slice(&state.z);
        chain.by_z.copy_from_slice(&state.by_z);
        chain.field.copy_from_slice(&state.field);
        chain.predictor.copy_from_slice(&state.predictor);
        chain.current = false;
        Ok(())
    }
}
