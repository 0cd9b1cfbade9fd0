//! Compares energies of large fields and series with the same in f64.
//!
//! A series is evaluated far from anything typical, where forces do not balance and no error cancels. A field's transforms are in single
//! precision, so that its energy is as good as that where forces do balance: at a draw of the model it is fitted to.

use super::worst::largest;
use super::{Problem, normals};
use crate::coordinates::Coordinates;
use crate::data::Counts;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::hamiltonian::{MassKind, Target};
use crate::likelihood::CountLikelihood;
use crate::model::{LgcpOptions, Model, lgcp};
use crate::random::{Purpose, Stream};
use crate::sample::{EnergyAudit, Settings, run};
use crate::structure::{Information, Sides};
use std::sync::Arc;

/// A point, and the coordinates it is in, all of which single precision holds.
#[derive(Clone, Debug)]
pub struct EnergyPoint {
    /// What to call it.
    pub name: String,
    /// The model.
    pub model: Arc<Model>,
    /// Its coordinates.
    pub coordinates: Coordinates,
    /// Latents in them.
    pub z: Vec<f64>,
    /// Hyperparameters.
    pub phi: Vec<f64>,
}

/// Size of counts beyond Poisson's.
const SIZE: f64 = 2.0;

fn rounded(x: &[f64]) -> Vec<f64> {
    x.iter().map(|&x| f64::from(x as f32)).collect()
}

fn evaluate(target: &mut Target, z: &[f64], phi: &[f64]) -> f64 {
    target.evaluate(z, phi, &mut vec![0.0; z.len()], &mut vec![0.0; phi.len()])
}

impl EnergyPoint {
    /// A point of a problem's first chain, far from typical.
    pub fn of(problem: Problem) -> Self {
        let id = problem.ids().start;
        Self {
            coordinates: problem.rounded(0.0),
            z: problem.z(id),
            phi: problem.phi(id),
            model: problem.model,
            name: problem.name,
        }
    }

    /// A draw of a field on a square grid and of Poisson counts given the field, so that forces balance, in coordinates with information κ.
    pub fn of_field(side: usize, kappa: f64) -> Result<Self> {
        Self::of_counts(CountLikelihood::Poisson, side, kappa)
    }

    /// The same with counts of another law, where they scatter as much again as Poisson's if two are expected.
    pub fn of_counts(likelihood: CountLikelihood, side: usize, kappa: f64) -> Result<Self> {
        let sides = Sides::PowersOfTwo;
        let options = LgcpOptions { likelihood, sides, ..LgcpOptions::default() };
        let model = |counts| -> Result<Arc<Model>> {
            Ok(Arc::new(lgcp(&Counts::from_vec(side, side, counts)?, &options)?))
        };
        let cells = (side * side) as f64;
        let empty = model(vec![1.0; side * side])?;
        let mut working = vec![0.0, 0.03f64.ln()];
        let own = vec![SIZE; likelihood.hyperparameters().len()];
        working.extend(own.iter().map(|size| size.ln()));
        working.push((0.5 * cells).ln() - 0.5);
        let mut z = rounded(&normals(empty.structure().dim(), 3));
        let whitened = Coordinates::whitened();
        let mut target = Target::new(empty.clone(), &whitened)?;
        evaluate(&mut target, &z, &empty.hyperparameters().coordinates(&working));
        let mut rng = Stream::new(5, 0, 0, Purpose::Other).rng();
        let mut count =
            |eta: &f64| likelihood.draw(eta.exp() / cells, &own, &mut rng).unwrap_or(0.0);
        let model = model(target.predictor().iter().map(&mut count).collect())?;
        let mut phi = model.hyperparameters().coordinates(&working);
        let name = format!("{side} x {side}, kappa {kappa}");
        let mut coordinates = whitened.clone();
        if kappa != 0.0 {
            let shift = rounded(&normals(z.len(), 5)).iter().map(|q| 0.125 * q).collect();
            let information = Information::Scalar(kappa);
            coordinates = Coordinates::Informed { information, shift: Some(Arc::new(shift)) };
            let mut target = Target::new(model.clone(), &whitened)?;
            evaluate(&mut target, &z, &phi);
            target.change(&coordinates, &mut phi, &mut z)?;
            z = rounded(&z);
        }
        Ok(Self { name, model, coordinates, z, phi })
    }

    /// U in f64 at another z.
    pub fn exact_at(&self, z: &[f64]) -> Result<f64> {
        let mut target = Target::new(self.model.clone(), &self.coordinates)?;
        Ok(evaluate(&mut target, z, &self.phi))
    }

    /// U in f64, with z stretched by 1 + `stretch`.
    pub fn exact(&self, stretch: f64) -> Result<f64> {
        self.exact_at(&self.z.iter().map(|z| z * (1.0 + stretch)).collect::<Vec<_>>())
    }

    /// U on a device.
    pub fn potential(&self, device: &Device) -> Result<f64> {
        let chains = vec![(0, self.z.clone())];
        let identity = MassKind::Identity;
        let mut latents = device.latents(&self.model, &self.coordinates, &identity, 11, chains)?;
        let mut got = [f64::NAN];
        latents.evaluate(&self.phi, &mut got, &mut vec![0.0; self.phi.len()]);
        latents.status()?;
        Ok(got[0])
    }

    /// The error of U on a device.
    pub fn error(&self, device: &Device) -> Result<f64> {
        Ok(largest([(self.potential(device)? - self.exact(0.0)?).abs()]))
    }
}

/// Fits a model for a short while and returns what the audit of its energies found.
pub fn audit(device: &Device, model: &Arc<Model>) -> Result<EnergyAudit> {
    let settings = Settings {
        device: device.clone(),
        chains: 2,
        warmup: 60,
        draws: 40,
        small_torus: false,
        ..Settings::default()
    };
    run(model, &settings, &())?.audit.ok_or_else(|| {
        Error::Numeric(
            "no energies were audited: every trajectory diverged, or the device is the processor"
                .into(),
        )
    })
}
