//! Computes potentials and gradients for any structure from its factors alone.
//!
//! With e = T's + z and u = T e, a = Σ⁻¹u and G = g + a: ∂U/∂z = T'G = y, and by the chain rule
//! ∂U/∂w = G'(∂T)e + s'(∂T)y − a'(∂T₀)T₀⁻¹u + ½∂log|Σ| − ½∂log|V|, where T₀ is the prior's factor.

use super::{Chart, Coordinates};
use crate::error::Result;
use crate::numeric::{axpy, dot, squared_norm};
use crate::structure::{Basis, Factor, Structure};
use std::sync::Arc;

/// A chart made of factors; the reference for fused ones.
pub(super) struct GenericChart {
    prior: Box<dyn Factor>,
    /// T; none when centred.
    root: Option<Box<dyn Factor>>,
    /// K = 0, so T is the prior's factor and a has a short form.
    whitened: bool,
    shift: Option<Arc<Vec<f64>>>,
    /// The w the factors are at; empty before the first and after a failure.
    at: Vec<f64>,
    /// K Zⱼ.
    pulls: Vec<Vec<f64>>,
    basis: Basis,
    s: Vec<f64>,
    e: Vec<f64>,
    u: Vec<f64>,
    standard: Vec<f64>,
    a: Vec<f64>,
    total: Vec<f64>,
    scratch: Vec<f64>,
    small: Vec<f64>,
}

impl GenericChart {
    pub(super) fn new(
        structure: &Structure,
        columns: &[Vec<f64>],
        coordinates: &Coordinates,
    ) -> Result<Self> {
        let n = structure.dim();
        let prior = structure.factor(&crate::structure::Information::NONE)?;
        let (root, whitened, shift, pulls) = match coordinates {
            Coordinates::Centred => (None, false, None, Vec::new()),
            Coordinates::Block(_) => {
                return Err(crate::Error::input(
                    "coordinates",
                    "centred, whitened or informed ones for this structure",
                    "block-informed ones",
                    "only fields on a grid have these",
                ));
            }
            Coordinates::Informed { information, shift } => {
                let pulls = if information.is_none() {
                    Vec::new()
                } else {
                    columns.iter().map(|z| information.times(z)).collect()
                };
                let root = structure.factor(information)?;
                (Some(root), information.is_none(), shift.clone(), pulls)
            }
        };
        let zeros = || vec![0.0; n];
        Ok(Self {
            small: vec![0.0; structure.parameters()],
            prior,
            root,
            whitened,
            shift,
            at: Vec::new(),
            pulls,
            basis: structure.basis(),
            s: zeros(),
            e: zeros(),
            u: zeros(),
            standard: zeros(),
            a: zeros(),
            total: zeros(),
            scratch: zeros(),
        })
    }

    /// Whether s is anything but zero.
    fn shifted(&self) -> bool {
        self.shift.is_some() || !self.pulls.is_empty()
    }

    /// Moves the factors to w and s to c.
    fn set(&mut self, w: &[f64], c: &[f64]) -> bool {
        match &self.shift {
            Some(q) => self.s.copy_from_slice(q),
            None => self.s.fill(0.0),
        }
        for (pull, &c) in self.pulls.iter().zip(c) {
            axpy(-c, pull, &mut self.s);
        }
        // Where blocks take turns the hyperparameters often stay, and a dense factor is what takes the time.
        if self.at == w && !w.is_empty() {
            return true;
        }
        let root = self.root.as_mut().is_none_or(|root| root.set(w));
        let set = root && (self.whitened || self.prior.set(w));
        self.at.clear();
        self.at.extend(w.iter().filter(|_| set));
        set
    }

    /// e = T's + z and u = T e (or u = z when centred).
    fn latent_values(&mut self, z: &[f64]) {
        let shifted = self.shifted();
        match &mut self.root {
            None => self.u.copy_from_slice(z),
            Some(root) => {
                if shifted {
                    root.apply_transposed(&self.s, &mut self.e);
                    axpy(1.0, z, &mut self.e);
                } else {
                    self.e.copy_from_slice(z);
                }
                root.apply(&self.e, &mut self.u);
            }
        }
    }

    /// The chart's own contribution to ∂U/∂w besides the prior's explicit one, given y = T'G.
    fn through_latents(&mut self, y: &[f64], by_w: &mut [f64]) {
        let shifted = self.shifted();
        let Some(root) = &mut self.root else { return };
        root.sensitivity(&self.total, &self.e, &mut self.small);
        add(&self.small, 1.0, by_w);
        if shifted {
            root.sensitivity(&self.s, y, &mut self.small);
            add(&self.small, 1.0, by_w);
        }
        if !self.whitened {
            root.log_det_gradient(&mut self.small);
            add(&self.small, -0.5, by_w);
        }
    }
}

fn add(x: &[f64], factor: f64, y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, x)| *y += factor * x);
}

impl Chart for GenericChart {
    fn forward(&mut self, w: &[f64], c: &[f64], z: &[f64], sites: &mut [f64]) -> f64 {
        if !self.set(w, c) {
            return f64::INFINITY;
        }
        self.latent_values(z);
        self.basis.write_field(&self.u, sites);
        if self.whitened {
            return 0.5 * squared_norm(&self.e);
        }
        self.prior.solve(&self.u, &mut self.standard);
        self.prior.solve_transposed(&self.standard, &mut self.a);
        let volume = self.root.as_ref().map_or(0.0, |root| root.log_det());
        0.5 * (squared_norm(&self.standard) + self.prior.log_det() - volume)
    }

    fn backward(
        &mut self,
        _z: &[f64],
        _sites: &[f64],
        g: &[f64],
        by_z: &mut [f64],
        by_w: &mut [f64],
        by_c: &mut [f64],
    ) {
        self.basis.write_basis(g, &mut self.total);
        by_w.fill(0.0);
        if self.whitened {
            // T'a = e, and the terms in a of ∂U/∂w cancel: only g remains in G.
            if let Some(root) = &mut self.root {
                root.apply_transposed(&self.total, by_z);
            }
            axpy(1.0, &self.e, by_z);
        } else {
            axpy(1.0, &self.a, &mut self.total);
            match &mut self.root {
                None => by_z.copy_from_slice(&self.total),
                Some(root) => root.apply_transposed(&self.total, by_z),
            }
            self.prior.sensitivity(&self.a, &self.standard, &mut self.small);
            add(&self.small, -1.0, by_w);
            self.prior.log_det_gradient(&mut self.small);
            add(&self.small, 0.5, by_w);
        }
        self.through_latents(by_z, by_w);
        by_c.fill(0.0);
        if let (Some(root), false) = (&mut self.root, self.pulls.is_empty()) {
            root.apply(by_z, &mut self.scratch);
            for (by_c, pull) in by_c.iter_mut().zip(&self.pulls) {
                *by_c = -dot(pull, &self.scratch);
            }
        }
    }

    fn invert(&mut self, w: &[f64], c: &[f64], u: &[f64], z: &mut [f64]) -> bool {
        if !self.set(w, c) {
            return false;
        }
        let shifted = self.shifted();
        match &mut self.root {
            None => z.copy_from_slice(u),
            Some(root) => {
                root.solve(u, z);
                if shifted {
                    root.apply_transposed(&self.s, &mut self.scratch);
                    axpy(-1.0, &self.scratch, z);
                }
            }
        }
        true
    }

    fn latents(&mut self, _z: &[f64], _sites: &[f64], u: &mut [f64]) {
        u.copy_from_slice(&self.u);
    }

    fn site_gradient(&mut self, _z: &[f64], _sites: &[f64], _by_z: &[f64], g: &mut [f64]) {
        g.copy_from_slice(&self.total);
        if !self.whitened {
            axpy(-1.0, &self.a, g);
        }
    }
}
