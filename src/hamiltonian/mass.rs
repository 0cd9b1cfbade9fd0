//! Gives latents a mass that depends on the hyperparameters.
//!
//! In the latents' own coordinates the masses are M = I, Σ(φ)⁻¹ (the paper's) or Σ(φ)⁻¹ + κ. Where z = T⁻¹(u − …), the same
//! mass reads M = T'(Σ⁻¹ + K)T. With V_m = (Σ⁻¹ + K)⁻¹ = T_m T_m', f = T⁻ᵀr and h = T_m'f,
//!
//!   ½r'M⁻¹r = ½|h|²,   M⁻¹r = T⁻¹T_m h,   log|M| = log|V| − log|V_m|,   r = T'T_m⁻ᵀξ for ξ ~ N(0, I),
//!   ∂(½r'M⁻¹r) = f'(∂T_m)h − f'(∂T)T⁻¹T_m h.

use crate::coordinates::Coordinates;
use crate::error::Result;
use crate::numeric::squared_norm;
use crate::structure::{Factor, Information, Structure};

/// Which mass the latents have.
#[derive(Clone, Debug, PartialEq)]
pub enum MassKind {
    /// One for every coordinate.
    Identity,
    /// The prior precision Σ(φ)⁻¹ plus information (none: the paper's choice).
    Precision(Information),
}

/// T_m and, unless the coordinates are centred, T.
type Factors = (Box<dyn Factor>, Option<Box<dyn Factor>>);

/// The latents' mass in given coordinates.
pub struct LatentMass {
    /// None for the identity.
    factors: Option<Factors>,
    /// The w the factors are at; empty before the first and after a failure.
    at: Vec<f64>,
    f: Vec<f64>,
    h: Vec<f64>,
    scratch: Vec<f64>,
    small: Vec<f64>,
}

impl LatentMass {
    /// The mass `kind` of a structure's latents as seen in `coordinates`.
    pub fn new(structure: &Structure, kind: &MassKind, coordinates: &Coordinates) -> Result<Self> {
        let factors = match (kind, coordinates) {
            (MassKind::Identity, _) => None,
            (MassKind::Precision(k), Coordinates::Centred) => Some((structure.factor(k)?, None)),
            // T'(Σ⁻¹ + K)T is the identity when T is the factor of the same K.
            (MassKind::Precision(k), Coordinates::Informed { information, .. })
                if k == information =>
            {
                None
            }
            (MassKind::Precision(_), Coordinates::Block(_)) => {
                return Err(crate::Error::input(
                    "mass",
                    "the identity in block-informed coordinates",
                    "the prior's precision",
                    "choose the identity mass, or other coordinates",
                ));
            }
            (MassKind::Precision(k), Coordinates::Informed { information, .. }) => {
                Some((structure.factor(k)?, Some(structure.factor(information)?)))
            }
        };
        let n = if factors.is_some() { structure.dim() } else { 0 };
        Ok(Self {
            factors,
            at: Vec::new(),
            f: vec![0.0; n],
            h: vec![0.0; n],
            scratch: vec![0.0; n],
            small: vec![0.0; structure.parameters()],
        })
    }

    /// Whether the mass is the identity whatever φ is: H is then separable.
    pub fn is_identity(&self) -> bool {
        self.factors.is_none()
    }

    /// Moves to w; false outside the model.
    pub fn set(&mut self, w: &[f64]) -> bool {
        let Some((inner, outer)) = &mut self.factors else { return true };
        if self.at == w && !w.is_empty() {
            return true;
        }
        let set = inner.set(w) && outer.as_mut().is_none_or(|t| t.set(w));
        self.at.clear();
        self.at.extend(w.iter().filter(|_| set));
        set
    }

    /// Turns standard normals into a momentum, r ~ N(0, M).
    pub fn draw(&mut self, r: &mut [f64]) {
        if let Some((inner, outer)) = &mut self.factors {
            inner.solve_transposed(r, &mut self.h);
            match outer {
                None => r.copy_from_slice(&self.h),
                Some(t) => t.apply_transposed(&self.h, r),
            }
        }
    }

    /// f = T⁻ᵀr and h = T_m'f.
    fn resolve(&mut self, r: &[f64]) {
        if let Some((inner, outer)) = &mut self.factors {
            match outer {
                None => self.f.copy_from_slice(r),
                Some(t) => t.solve_transposed(r, &mut self.f),
            }
            inner.apply_transposed(&self.f, &mut self.h);
        }
    }

    /// ½r'M⁻¹r + ½log|M|.
    pub fn kinetic(&mut self, r: &[f64]) -> f64 {
        self.resolve(r);
        match &self.factors {
            None => 0.5 * squared_norm(r),
            Some((inner, outer)) => {
                let volume = outer.as_ref().map_or(0.0, |t| t.log_det()) - inner.log_det();
                0.5 * (squared_norm(&self.h) + volume)
            }
        }
    }

    /// Writes ∂/∂w of [`Self::kinetic`].
    pub fn kinetic_gradient(&mut self, r: &[f64], by_w: &mut [f64]) {
        by_w.fill(0.0);
        self.resolve(r);
        let Some((inner, outer)) = &mut self.factors else { return };
        inner.sensitivity(&self.f, &self.h, by_w);
        inner.log_det_gradient(&mut self.small);
        by_w.iter_mut().zip(&self.small).for_each(|(o, s)| *o -= 0.5 * s);
        if let Some(t) = outer {
            inner.apply(&self.h, &mut self.scratch);
            t.solve(&self.scratch, &mut self.h);
            t.sensitivity(&self.f, &self.h, &mut self.small);
            by_w.iter_mut().zip(&self.small).for_each(|(o, s)| *o -= s);
            t.log_det_gradient(&mut self.small);
            by_w.iter_mut().zip(&self.small).for_each(|(o, s)| *o += 0.5 * s);
        }
    }

    /// Writes M⁻¹r.
    pub fn velocity(&mut self, r: &[f64], out: &mut [f64]) {
        self.resolve(r);
        match &mut self.factors {
            None => out.copy_from_slice(r),
            Some((inner, None)) => inner.apply(&self.h, out),
            Some((inner, Some(t))) => {
                inner.apply(&self.h, &mut self.scratch);
                t.solve(&self.scratch, out);
            }
        }
    }
}
