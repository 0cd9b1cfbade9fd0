//! Factors independent groups of exchangeable coefficients, each with a block of information of its own.
//!
//! The prior is w_g ~ N(0, e^{±γ} I) for every group g, with the one hyperparameter w = (γ). With τ = e^{∓γ} and a
//! block B_g = E Λ E' decomposed once,
//!
//! > V_g = (τ I + B_g)⁻¹ = E (τ + Λ)⁻¹ E',  T_g = E (τ + Λ)^{−½},
//!
//! so moving to another γ costs a square root per coefficient and no decomposition. When the information is κI there is
//! nothing to rotate and T is a number.

use super::{Factor, Information};
use crate::error::{Error, Result};
use crate::numeric::inline::{axpy, dot};
use crate::numeric::scale_into;
use nalgebra::{DMatrix, SymmetricEigen};

/// Groups of equally many coefficients, group after group, with one shared variance e^γ; w = (γ).
#[derive(Clone, Debug, PartialEq)]
pub struct Groups {
    groups: usize,
    size: usize,
    sign: f64,
}

impl Groups {
    /// As many groups, of as many coefficients each, both at least one.
    pub fn new(groups: usize, size: usize) -> Result<Self> {
        match groups.checked_mul(size) {
            Some(dim) if dim > 0 => Ok(Groups { groups, size, sign: 1.0 }),
            _ => Err(Error::input(
                "groups",
                "at least one group of at least one coefficient",
                format!("{groups} groups of {size}"),
                "count the distinct labels and the columns of the design",
            )),
        }
    }

    /// Makes the log variance sign·γ: −1 is the funnel, where γ is a log precision.
    pub fn with_sign(self, sign: f64) -> Result<Self> {
        if sign.abs() != 1.0 {
            return Err(Error::input(
                "sign of the log variance",
                "1 or -1",
                sign.to_string(),
                "use -1 for a funnel",
            ));
        }
        Ok(Groups { sign, ..self })
    }

    /// Number of coefficients in all groups.
    pub fn dim(&self) -> usize {
        self.groups * self.size
    }

    /// Number of coefficients in one group.
    pub fn size(&self) -> usize {
        self.size
    }

    /// The sign of γ in the log variance.
    pub fn sign(&self) -> f64 {
        self.sign
    }

    pub(super) fn factor(&self, information: &Information) -> Result<Box<dyn Factor>> {
        Ok(match information {
            Information::Blocks(blocks) => Box::new(self.block_factor(blocks)?),
            Information::Scalar(_) => {
                let kappa = information.scalar("groups")?;
                Box::new(ScalarFactor {
                    dim: self.dim(),
                    sign: self.sign,
                    kappa,
                    tau: 1.0,
                    scale: 1.0,
                })
            }
        })
    }

    fn block_factor(&self, blocks: &[DMatrix<f64>]) -> Result<BlockFactor> {
        if blocks.len() != self.groups {
            return Err(Error::input(
                "information blocks",
                format!("{} of them, one a group", self.groups),
                blocks.len().to_string(),
                "give a group without data a block of zeros",
            ));
        }
        let (size, dim) = (self.size, self.dim());
        let mut factor = BlockFactor {
            size,
            sign: self.sign,
            values: Vec::with_capacity(dim),
            vectors: Vec::with_capacity(dim * size),
            blocks: Vec::with_capacity(dim * size),
            scale: vec![1.0; dim],
            share: vec![0.0; dim],
            log_det: 0.0,
        };
        for (g, block) in blocks.iter().enumerate() {
            let eigen = decompose(block, size, g)?;
            let rebuilt = eigen.recompose();
            factor.values.extend(eigen.eigenvalues.iter());
            factor.vectors.extend(eigen.eigenvectors.iter());
            factor.blocks.extend(rebuilt.iter());
        }
        Ok(factor)
    }
}

/// Checks that a block is symmetric and positive semi-definite, and decomposes it.
fn decompose(
    block: &DMatrix<f64>,
    size: usize,
    g: usize,
) -> Result<SymmetricEigen<f64, nalgebra::Dyn>> {
    let wrong = |expected: String, got: String| {
        Error::input(
            format!("information block {g}"),
            expected,
            got,
            "pass X'WX with weights of at least zero",
        )
    };
    if block.shape() != (size, size) {
        let (rows, columns) = block.shape();
        return Err(wrong(format!("{size} by {size}"), format!("{rows} by {columns}")));
    }
    let largest = block.amax();
    if !block.iter().all(|x| x.is_finite()) {
        return Err(wrong("finite entries".into(), "a NaN or an infinity".into()));
    }
    // Summing any feasible number of rows rounds far below √ε of the largest entry; a mistake does not.
    let slack = f64::EPSILON.sqrt() * largest;
    let asymmetry = (block - block.transpose()).amax();
    if asymmetry > slack {
        return Err(wrong("a symmetric matrix".into(), format!("two entries {asymmetry:e} apart")));
    }
    let symmetric = (block + block.transpose()) * 0.5;
    let sweeps = 100 * size;
    let mut eigen = SymmetricEigen::try_new(symmetric, f64::EPSILON, sweeps).ok_or_else(|| {
        Error::Numeric(format!("information block {g}: its eigenvalues did not converge"))
    })?;
    let least = eigen.eigenvalues.min();
    if least < -slack {
        return Err(wrong("no negative eigenvalue".into(), format!("{least:e}")));
    }
    eigen.eigenvalues.apply(|x| *x = x.max(0.0));
    Ok(eigen)
}

/// T = (τ+κ)^{−½}, the same for every coefficient.
#[derive(Clone, Debug)]
struct ScalarFactor {
    dim: usize,
    sign: f64,
    kappa: f64,
    tau: f64,
    scale: f64,
}

impl ScalarFactor {
    /// ∂ log T / ∂γ: half the share of the prior in the precision, with γ's sign.
    fn log_scale_gradient(&self) -> f64 {
        0.5 * self.sign * (self.tau / (self.tau + self.kappa))
    }
}

impl Factor for ScalarFactor {
    fn dim(&self) -> usize {
        self.dim
    }

    fn parameters(&self) -> usize {
        1
    }

    fn set(&mut self, w: &[f64]) -> bool {
        self.tau = (-self.sign * w[0]).exp();
        self.scale = 1.0 / (self.tau + self.kappa).sqrt();
        self.tau > 0.0 && self.scale > 0.0 && self.scale.is_finite()
    }

    fn log_det(&self) -> f64 {
        -(self.dim as f64) * (self.tau + self.kappa).ln()
    }

    fn log_det_gradient(&self, out: &mut [f64]) {
        out[0] = 2.0 * self.dim as f64 * self.log_scale_gradient();
    }

    fn apply(&mut self, z: &[f64], out: &mut [f64]) {
        scale_into(self.scale, z, out);
    }

    fn apply_transposed(&mut self, y: &[f64], out: &mut [f64]) {
        scale_into(self.scale, y, out);
    }

    fn solve(&mut self, u: &[f64], out: &mut [f64]) {
        scale_into(1.0 / self.scale, u, out);
    }

    fn solve_transposed(&mut self, r: &[f64], out: &mut [f64]) {
        scale_into(1.0 / self.scale, r, out);
    }

    fn sensitivity(&mut self, a: &[f64], z: &[f64], out: &mut [f64]) {
        out[0] = self.log_scale_gradient() * self.scale * dot(a, z);
    }

    fn information(&self, v: &[f64], out: &mut [f64]) {
        scale_into(self.kappa, v, out);
    }
}

/// T = E (τ+Λ)^{−½} group by group; matrices are stored column after column, group after group.
#[derive(Clone, Debug)]
struct BlockFactor {
    size: usize,
    sign: f64,
    /// Λ of every group.
    values: Vec<f64>,
    /// E of every group.
    vectors: Vec<f64>,
    /// E Λ E' of every group: the block given, less its rounding errors.
    blocks: Vec<f64>,
    /// (τ+Λ)^{−½}.
    scale: Vec<f64>,
    /// τ/(τ+Λ): the prior's share of the precision.
    share: Vec<f64>,
    log_det: f64,
}

impl BlockFactor {
    /// out = E (weight(i) r_i), where i counts coefficients over all groups.
    fn rotate(&self, r: &[f64], weight: impl Fn(usize) -> f64, out: &mut [f64]) {
        let size = self.size;
        for (g, out) in out.chunks_exact_mut(size).enumerate() {
            out.fill(0.0);
            for j in 0..size {
                let i = g * size + j;
                axpy(weight(i) * r[i], self.column(i), out);
            }
        }
    }

    /// out_i = weight(i) (E'y)_i.
    fn rotate_back(&self, y: &[f64], weight: impl Fn(usize) -> f64, out: &mut [f64]) {
        for (i, out) in out.iter_mut().enumerate() {
            *out = weight(i) * dot(self.column(i), self.group_of(i, y));
        }
    }

    fn column(&self, i: usize) -> &[f64] {
        &self.vectors[i * self.size..(i + 1) * self.size]
    }

    fn group_of<'a>(&self, i: usize, v: &'a [f64]) -> &'a [f64] {
        let start = i - i % self.size;
        &v[start..start + self.size]
    }
}

impl Factor for BlockFactor {
    fn dim(&self) -> usize {
        self.values.len()
    }

    fn parameters(&self) -> usize {
        1
    }

    fn set(&mut self, w: &[f64]) -> bool {
        let tau = (-self.sign * w[0]).exp();
        self.log_det = 0.0;
        for ((value, scale), share) in self.values.iter().zip(&mut self.scale).zip(&mut self.share)
        {
            let precision = tau + value;
            *scale = 1.0 / precision.sqrt();
            *share = tau / precision;
            self.log_det -= precision.ln();
        }
        tau > 0.0 && self.log_det.is_finite()
    }

    fn log_det(&self) -> f64 {
        self.log_det
    }

    fn log_det_gradient(&self, out: &mut [f64]) {
        out[0] = self.sign * self.share.iter().sum::<f64>();
    }

    fn apply(&mut self, z: &[f64], out: &mut [f64]) {
        self.rotate(z, |i| self.scale[i], out);
    }

    fn apply_transposed(&mut self, y: &[f64], out: &mut [f64]) {
        self.rotate_back(y, |i| self.scale[i], out);
    }

    fn solve(&mut self, u: &[f64], out: &mut [f64]) {
        self.rotate_back(u, |i| 1.0 / self.scale[i], out);
    }

    fn solve_transposed(&mut self, r: &[f64], out: &mut [f64]) {
        self.rotate(r, |i| 1.0 / self.scale[i], out);
    }

    fn sensitivity(&mut self, a: &[f64], z: &[f64], out: &mut [f64]) {
        let terms = z.iter().enumerate().map(|(i, z)| {
            self.share[i] * self.scale[i] * z * dot(self.column(i), self.group_of(i, a))
        });
        out[0] = 0.5 * self.sign * terms.sum::<f64>();
    }

    fn information(&self, v: &[f64], out: &mut [f64]) {
        for (i, (out, row)) in out.iter_mut().zip(self.blocks.chunks_exact(self.size)).enumerate() {
            *out = dot(row, self.group_of(i, v));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    fn refused(blocks: Vec<DMatrix<f64>>) -> String {
        let groups = Groups::new(2, 2).unwrap();
        groups.factor(&Information::Blocks(Arc::new(blocks))).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn bad_blocks_are_errors() {
        let good = || DMatrix::from_row_slice(2, 2, &[2.0, 0.5, 0.5, 1.0]);
        let bad = |entries: [f64; 4]| vec![good(), DMatrix::from_row_slice(2, 2, &entries)];
        assert!(refused(vec![good()]).contains("one a group"));
        assert!(refused(vec![good(), DMatrix::zeros(3, 2)]).contains("3 by 2"));
        assert!(refused(bad([1.0, 0.2, 0.3, 1.0])).contains("symmetric"));
        assert!(refused(bad([1.0, 2.0, 2.0, 1.0])).contains("negative eigenvalue"));
        assert!(refused(bad([1.0, f64::NAN, f64::NAN, 1.0])).contains("finite"));
    }

    #[test]
    fn bad_shapes_and_signs_are_errors() {
        assert!(
            Groups::new(0, 3).is_err()
                && Groups::new(3, 0).is_err()
                && Groups::new(usize::MAX, 2).is_err()
        );
        let groups = Groups::new(1, 100).unwrap();
        assert!(
            groups.clone().with_sign(-3.0).is_err() && groups.clone().with_sign(f64::NAN).is_err()
        );
        assert!(groups.factor(&Information::Scalar(-0.1)).is_err());
    }

    #[test]
    fn rounding_below_zero_is_clamped() {
        let direction = [1.0, 1.0 / 3.0, -0.7];
        let mut block = DMatrix::from_fn(3, 3, |i, j| direction[i] * direction[j]);
        block[(2, 2)] -= 1e-12;
        let information = Information::Blocks(Arc::new(vec![block]));
        let mut factor = Groups::new(1, 3).unwrap().factor(&information).unwrap();
        // τ far below the rounding error: an unclamped eigenvalue would make the precision negative.
        assert!(factor.set(&[40.0]) && factor.log_det().is_finite());
    }

    #[test]
    fn hopeless_parameters_are_refused() {
        let groups = Groups::new(2, 2).unwrap();
        let blocks = Information::Blocks(Arc::new(vec![DMatrix::identity(2, 2); 2]));
        for information in [Information::NONE, Information::Scalar(1.0), blocks] {
            let mut factor = groups.factor(&information).unwrap();
            for w in [800.0, -800.0, f64::NAN] {
                assert!(!factor.set(&[w]), "accepted {w} with {information:?}");
            }
            assert!(factor.set(&[0.4]));
        }
    }
}
