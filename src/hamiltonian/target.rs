//! Evaluates the potential U(z, φ) = −log p(z, φ | y) and its gradients for one chain, in f64.

use super::tilt::{self, Point, Tilt};
use crate::coordinates::{Chart, Coordinates, chart};
use crate::error::Result;
use crate::model::{Column, Model};
use std::sync::Arc;

/// The posterior of a model in given coordinates, with the scratch to evaluate it.
pub struct Target {
    model: Arc<Model>,
    columns: Vec<Vec<f64>>,
    chart: Box<dyn Chart>,
    coordinates: Coordinates,
    /// The model's φ where the sampler's differs from it.
    phi: Vec<f64>,
    w: Vec<f64>,
    dw: Vec<f64>,
    c: Vec<f64>,
    by_w: Vec<f64>,
    by_own: Vec<f64>,
    by_c: Vec<f64>,
    field: Vec<f64>,
    eta: Vec<f64>,
    g: Vec<f64>,
    tilt: Option<Tilt>,
    /// z where a tilt makes it differ from what the sampler moves.
    z: Vec<f64>,
    evaluations: u64,
}

impl Target {
    /// A target in `coordinates`.
    pub fn new(model: Arc<Model>, coordinates: &Coordinates) -> Result<Self> {
        let columns = model.columns();
        let chart = chart(model.structure(), &columns, coordinates)?;
        let (m, sites) = (model.hyperparameters().len(), model.structure().sites());
        Ok(Self {
            chart,
            coordinates: coordinates.clone(),
            phi: vec![0.0; m],
            w: vec![0.0; m],
            dw: vec![0.0; m],
            c: vec![0.0; columns.len()],
            by_w: vec![0.0; model.structure().parameters()],
            by_own: vec![0.0; model.likelihood().parameters()],
            by_c: vec![0.0; columns.len()],
            field: vec![0.0; sites],
            eta: vec![0.0; sites],
            g: vec![0.0; sites],
            tilt: None,
            z: vec![0.0; model.structure().dim()],
            evaluations: 0,
            columns,
            model,
        })
    }

    /// The model.
    pub fn model(&self) -> &Arc<Model> {
        &self.model
    }

    /// The coordinates z is in.
    pub fn coordinates(&self) -> &Coordinates {
        &self.coordinates
    }

    /// How many times the latent gradient was evaluated.
    pub fn evaluations(&self) -> u64 {
        self.evaluations
    }

    /// Returns U(z, φ) and writes its gradients; infinity (gradients unspecified) outside the model.
    pub fn evaluate(
        &mut self,
        z: &[f64],
        phi: &[f64],
        by_z: &mut [f64],
        by_phi: &mut [f64],
    ) -> f64 {
        self.evaluations += 1;
        let volume = self.move_to(phi);
        let p = self.by_w.len();
        let z = match &self.tilt {
            None => z,
            Some(tilt) => {
                tilt.apply(phi, z, &mut self.z);
                &self.z
            }
        };
        let prior = self.chart.forward(&self.w[..p], &self.c, z, &mut self.field);
        if !prior.is_finite() {
            return f64::INFINITY;
        }
        add_mean(&self.model, &self.c, &self.field, &mut self.eta);
        let model = &self.model;
        let own = &self.w[model.likelihood_parameters()];
        let misfit = model.likelihood().evaluate(&self.eta, own, &mut self.g, &mut self.by_own);
        self.chart.backward(z, &self.field, &self.g, by_z, &mut self.by_w, &mut self.by_c);
        for (term, by_c) in model.mean().iter().zip(&mut self.by_c) {
            let direct = match &term.column {
                Column::Constant => crate::numeric::sum(&self.g),
                Column::Values(values) => crate::numeric::dot(values, &self.g),
            };
            *by_c += direct;
        }
        let by = Derivatives { w: &self.by_w, own: &self.by_own, coefficients: &self.by_c };
        let density = chain_rule(model, &self.phi, &self.dw, by, by_phi);
        if let Some(block) = self.coordinates.block() {
            block.pull_back(model.hyperparameters(), phi, &self.phi, by_phi);
        }
        if let Some(tilt) = &self.tilt {
            tilt.pull_back(by_z, by_phi);
        }
        misfit + prior - density - volume
    }

    /// Working values and mean coefficients at the sampler's φ; returns the log determinant of the map to the model's φ.
    fn move_to(&mut self, phi: &[f64]) -> f64 {
        let all = self.model.hyperparameters();
        let volume = match self.coordinates.block() {
            Some(block) => block.hyperparameters(all, phi, &mut self.phi),
            None => {
                self.phi.copy_from_slice(phi);
                0.0
            }
        };
        all.working(&self.phi, &mut self.w, &mut self.dw);
        for (c, term) in self.c.iter_mut().zip(self.model.mean()) {
            *c = term.scale * self.w[term.hyperparameter];
        }
        volume
    }

    /// The model's φ at the sampler's.
    pub fn hyperparameters(&self, sampled: &[f64], phi: &mut [f64]) {
        match self.coordinates.block() {
            Some(block) => {
                block.hyperparameters(self.model.hyperparameters(), sampled, phi);
            }
            None => phi.copy_from_slice(sampled),
        }
    }

    /// The sampler's φ at the model's.
    pub fn sampled(&self, phi: &[f64], sampled: &mut [f64]) {
        match self.coordinates.block() {
            Some(block) => block.sampled(self.model.hyperparameters(), phi, sampled),
            None => sampled.copy_from_slice(phi),
        }
    }

    /// The latents at the sites as they are reported, for the last evaluation.
    pub fn reported(&self) -> &[f64] {
        if self.model.reports_mean() { &self.eta } else { &self.field }
    }

    /// The predictor at the sites, for the last evaluation.
    pub fn predictor(&self) -> &[f64] {
        &self.eta
    }

    /// z as the chart knows it: with the tilt, which belongs to the last evaluation.
    fn charted<'a>(&'a self, z: &'a [f64]) -> &'a [f64] {
        if self.tilt.is_some() { &self.z } else { z }
    }

    /// Writes the latents plus the non-constant mean in the structure's basis, and −∇ log p(y|η) there: what a shift q is
    /// learnt from. Belongs to the last evaluation.
    pub fn latents_and_score(&mut self, z: &[f64], by_z: &[f64], x: &mut [f64], g: &mut [f64]) {
        let z = self.charted(z).to_vec();
        self.chart.latents(&z, &self.field, x);
        for (column, &c) in self.columns.iter().zip(&self.c) {
            crate::numeric::axpy(c, column, x);
        }
        self.chart.site_gradient(&z, &self.field, by_z, g);
    }

    /// Writes the latents u in the structure's basis, for the last evaluation.
    pub fn latents(&mut self, z: &[f64], u: &mut [f64]) {
        let z = self.charted(z).to_vec();
        self.chart.latents(&z, &self.field, u);
    }

    /// Changes coordinates and moves `z` and the sampler's `phi` so that latents and hyperparameters stay what they are. Needs the
    /// last evaluation at (z, φ). A tilt is forgotten.
    pub fn change(
        &mut self,
        coordinates: &Coordinates,
        phi: &mut [f64],
        z: &mut [f64],
    ) -> Result<()> {
        let mut next = chart(self.model.structure(), &self.columns, coordinates)?;
        let mut u = vec![0.0; z.len()];
        self.latents(z, &mut u);
        self.move_to(phi);
        if !next.invert(&self.w[..self.by_w.len()], &self.c, &u, z) {
            return Err(crate::Error::Numeric(
                "the coordinates cannot be changed here: the prior covariance is not positive definite".into(),
            ));
        }
        self.chart = next;
        self.coordinates = coordinates.clone();
        self.tilt = None;
        self.sampled(&self.phi, phi);
        Ok(())
    }

    /// How z follows φ, if that was learnt.
    pub fn tilt(&self) -> Option<&Tilt> {
        self.tilt.as_ref()
    }

    /// Takes up coordinates, a tilt and a count of evaluations as they were in another target of the same model.
    pub fn restore(
        &mut self,
        coordinates: &Coordinates,
        tilt: Option<Tilt>,
        evaluations: u64,
    ) -> Result<()> {
        self.chart = chart(self.model.structure(), &self.columns, coordinates)?;
        self.coordinates = coordinates.clone();
        self.tilt = tilt;
        self.evaluations = evaluations;
        Ok(())
    }

    /// Puts the latents at u (in the structure's basis) by choosing z; false outside the model.
    pub fn place(&mut self, phi: &[f64], u: &[f64], z: &mut [f64]) -> bool {
        self.move_to(phi);
        let p = self.by_w.len();
        let placed = self.chart.invert(&self.w[..p], &self.c, u, z);
        if let Some(tilt) = &self.tilt {
            tilt.shift(-1.0, phi, z);
        }
        placed
    }

    /// Learns how z follows φ from a few draws (φ and latents with their mean, in the structure's basis), and moves `z` so that
    /// the latents stay what they are at `phi`. False if it cannot be learnt there; there is no tilt then.
    pub fn lean(
        &mut self,
        centre: &[f64],
        scale: &[f64],
        draws: &[(Vec<f64>, Vec<f64>)],
        phi: &[f64],
        z: &mut [f64],
    ) -> bool {
        if let Some(tilt) = self.tilt.take() {
            tilt.shift(1.0, phi, z);
        }
        let mut points = Vec::with_capacity(draws.len());
        for (phi, x) in draws {
            self.move_to(phi);
            let mut u = x.clone();
            for (column, &c) in self.columns.iter().zip(&self.c) {
                crate::numeric::axpy(-c, column, &mut u);
            }
            let mut z = vec![0.0; u.len()];
            if !self.place(phi, &u, &mut z) {
                return false;
            }
            points.push(Point { z, phi: phi.clone() });
        }
        let mut by_phi = vec![0.0; phi.len()];
        let tilt = tilt::learn(&points, centre, scale, &mut |z, phi, by_z| {
            self.evaluate(z, phi, by_z, &mut by_phi).is_finite()
        });
        if let Some(tilt) = &tilt {
            tilt.shift(-1.0, phi, z);
        }
        self.tilt = tilt;
        self.tilt.is_some()
    }

    /// Working values of the structure's hyperparameters and their derivatives in φ.
    pub(crate) fn working(&mut self, phi: &[f64]) -> (&[f64], &[f64]) {
        self.move_to(phi);
        let p = self.by_w.len();
        (&self.w[..p], &self.dw[..p])
    }
}

/// Derivatives of U less the hyperparameters' prior in what the parts of a model see of the hyperparameters.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Derivatives<'a> {
    /// In the structure's working values.
    pub(crate) w: &'a [f64],
    /// In the likelihood's own.
    pub(crate) own: &'a [f64],
    /// In the mean's coefficients.
    pub(crate) coefficients: &'a [f64],
}

/// Writes ∂U/∂φ from the derivatives in what depends on φ; returns the log prior at φ.
pub(crate) fn chain_rule(
    model: &Model,
    phi: &[f64],
    dw: &[f64],
    by: Derivatives<'_>,
    by_phi: &mut [f64],
) -> f64 {
    by_phi.fill(0.0);
    let density = model.hyperparameters().log_prior(phi, by_phi);
    by_phi.iter_mut().for_each(|d| *d = -*d);
    // The structure's hyperparameters come first, then the likelihood's.
    let working = by.w.iter().chain(by.own);
    for ((by_phi, by), dw) in by_phi.iter_mut().zip(working).zip(dw) {
        *by_phi += by * dw;
    }
    for (term, by_c) in model.mean().iter().zip(by.coefficients) {
        let k = term.hyperparameter;
        by_phi[k] += by_c * term.scale * dw[k];
    }
    density
}

/// η = offset + Σ cⱼ Zⱼ + u.
pub(crate) fn add_mean(model: &Model, c: &[f64], field: &[f64], eta: &mut [f64]) {
    let mut constant = model.offset();
    for (term, &c) in model.mean().iter().zip(c) {
        if matches!(term.column, Column::Constant) {
            constant += c;
        }
    }
    eta.iter_mut().zip(field).for_each(|(eta, u)| *eta = u + constant);
    for (term, &c) in model.mean().iter().zip(c) {
        if let Column::Values(values) = &term.column {
            crate::numeric::axpy(c, values, eta);
        }
    }
}
