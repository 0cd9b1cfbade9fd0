//! Runs the latents of one chain in the open: positions and momenta can be read, set and spoilt.
//!
//! This is the device interface written down once more with nothing but formulas, as what the laws of the integrators
//! are held against and what real devices are compared with.

use super::Case;
use sshmc::Result;
use sshmc::coordinates::Coordinates;
use sshmc::device::{Flow, Keep, Learn, Move, Record};
use sshmc::hamiltonian::{LatentMass, MassKind, Target};
use sshmc::random::{Purpose, Stream};
use std::sync::{Arc, Mutex};

/// Seed of the momenta.
pub(crate) const SEED: u64 = 1;

/// What is done wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Fault {
    None,
    /// The gradient of the kinetic energy in φ has the wrong sign.
    AuxiliarySign,
    /// The latents are kicked uphill.
    KickSign,
    /// A kick also rubs: momenta lose a thousandth.
    Friction,
}

/// z, r and ∂U/∂z.
#[derive(Clone, Debug, Default)]
pub(crate) struct Open {
    pub(crate) z: Vec<f64>,
    pub(crate) r: Vec<f64>,
    by_z: Vec<f64>,
}

/// One chain whose latents are shared with the test.
pub(crate) struct Probe {
    pub(crate) open: Arc<Mutex<Open>>,
    target: Target,
    mass: LatentMass,
    fault: Fault,
    saved: Open,
}

impl Probe {
    pub(crate) fn new(
        case: &Case,
        coordinates: &Coordinates,
        mass: &MassKind,
        fault: Fault,
    ) -> Self {
        let structure = case.model.structure();
        let zeros = vec![0.0; structure.dim()];
        let open = Open { z: zeros.clone(), r: zeros.clone(), by_z: zeros };
        Self {
            open: Arc::new(Mutex::new(open)),
            target: Target::new(case.model.clone(), coordinates).unwrap(),
            mass: LatentMass::new(structure, mass, coordinates).unwrap(),
            fault,
            saved: Open::default(),
        }
    }

    /// Working values and their derivatives in φ.
    fn working(&self, phi: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let model = self.target.model();
        let (mut w, mut dw) = (phi.to_vec(), phi.to_vec());
        model.hyperparameters().working(phi, &mut w, &mut dw);
        w.truncate(model.structure().parameters());
        dw.truncate(w.len());
        (w, dw)
    }
}

impl Move for Probe {
    fn chains(&self) -> usize {
        1
    }

    fn refresh(&mut self, transition: u32, phi: &[f64]) {
        let w = self.working(phi).0;
        let mut open = self.open.lock().unwrap();
        Stream::new(SEED, 0, transition, Purpose::Momentum).fill_normals(&mut open.r);
        assert!(self.mass.set(&w));
        self.mass.draw(&mut open.r);
    }

    fn evaluate(&mut self, phi: &[f64], potential: &mut [f64], by_phi: &mut [f64]) {
        let open = &mut *self.open.lock().unwrap();
        potential[0] = self.target.evaluate(&open.z, phi, &mut open.by_z, by_phi);
    }

    fn kinetic(&mut self, phi: &[f64], energy: &mut [f64], by_phi: Option<&mut [f64]>) {
        let (w, dw) = self.working(phi);
        assert!(self.mass.set(&w), "outside the model at {w:?}");
        let open = self.open.lock().unwrap();
        energy[0] = self.mass.kinetic(&open.r);
        let Some(by_phi) = by_phi else { return };
        let mut by_w = vec![0.0; w.len()];
        self.mass.kinetic_gradient(&open.r, &mut by_w);
        let sign = if self.fault == Fault::AuxiliarySign { -1.0 } else { 1.0 };
        by_phi.fill(0.0);
        for k in 0..w.len() {
            by_phi[k] = sign * by_w[k] * dw[k];
        }
    }

    fn kick(&mut self, step: &[f64], flow: Flow) {
        let open = &mut *self.open.lock().unwrap();
        let sign = if self.fault == Fault::KickSign { -1.0 } else { 1.0 };
        for i in 0..open.r.len() {
            let reference = if flow == Flow::Rotation { open.z[i] } else { 0.0 };
            open.r[i] -= step[0] * sign * (open.by_z[i] - reference);
            if self.fault == Fault::Friction {
                open.r[i] *= 0.999;
            }
        }
    }

    fn flow(&mut self, step: &[f64], flow: Flow) {
        let open = &mut *self.open.lock().unwrap();
        let n = open.z.len();
        let mut velocity = vec![0.0; n];
        self.mass.velocity(&open.r, &mut velocity);
        let (sin, cos) = step[0].sin_cos();
        for i in 0..n {
            let (z, r) = (open.z[i], open.r[i]);
            match flow {
                Flow::Drift => open.z[i] += step[0] * velocity[i],
                Flow::Rotation => {
                    (open.z[i], open.r[i]) = (cos * z + sin * r, cos * r - sin * z);
                }
            }
        }
    }

    fn reverse(&mut self) {
        self.open.lock().unwrap().r.iter_mut().for_each(|r| *r = -*r);
    }

    fn save(&mut self) {
        self.saved = self.open.lock().unwrap().clone();
    }

    fn settle(&mut self, accepted: &[bool]) {
        if !accepted[0] {
            *self.open.lock().unwrap() = self.saved.clone();
        }
    }

    fn gradients(&self, _chain: usize) -> u64 {
        self.target.evaluations()
    }
}

impl Learn for Probe {
    fn change(&mut self, _: usize, _: &Coordinates, _: &mut [f64]) -> Result<()> {
        Err(sshmc::Error::Numeric("the probe keeps its coordinates".into()))
    }

    fn latents_and_score(&mut self, _chain: usize, x: &mut [f64], g: &mut [f64]) {
        let open = self.open.lock().unwrap();
        self.target.latents_and_score(&open.z, &open.by_z, x, g);
    }

    fn predictor(&mut self, _chain: usize, out: &mut [f64]) {
        out.copy_from_slice(self.target.predictor());
    }
}

impl Record for Probe {
    fn field(&mut self, _chain: usize, out: &mut [f64]) {
        out.copy_from_slice(self.target.reported());
    }
}

impl Keep for Probe {}
