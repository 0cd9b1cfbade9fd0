//! Compares random numbers and dense products with the same in f64.

use super::normals;
use super::worst::{largest, largest_difference, point};
use crate::coordinates::Coordinates;
use crate::device::Device;
use crate::error::Result;
use crate::hamiltonian::MassKind;
use crate::model::Model;
use crate::random::{Purpose, Stream};
use nalgebra::{DMatrix, DVector};
use std::sync::Arc;

/// What a standard normal number of a device in single precision may be off by.
///
/// It is a radius r below 7 times a point of the circle. In units of 2⁻²⁴: the logarithm of up to 23 is good to 32, which is a unit of its last
/// place, and so r to 32/r; where r is below 1.1 the logarithm is taken from the other end and keeps its digits. Root, point and product
/// add 1, 2 and 1 times r. That is 33 at most, and 7 x 8 are allowed.
pub const NORMAL_TOLERANCE: f64 = 7.0 * 8.0 / (1 << 24) as f64;

/// The largest difference of a momentum drawn on the device from the normals of the same address, for two chains; `error` moves the
/// address by so many transitions, to spoil the reference.
pub fn normals_error(device: &Device, model: &Arc<Model>, error: u32) -> Result<f64> {
    let seed = 0xFEDC_BA98_7654_3210;
    let n = model.structure().dim();
    let ids = [3, u32::MAX];
    let phi = [model.start(), model.start()].concat();
    let mut worst = 0.0f64;
    for transition in [0, 1, 123_456_789] {
        let chains = vec![(ids[0], normals(n, 1)), (ids[1], normals(n, 2))];
        let whitened = Coordinates::whitened();
        let mut latents = device.latents(model, &whitened, &MassKind::Identity, seed, chains)?;
        latents.refresh(transition, &phi);
        let mut want = vec![0.0; n];
        for (chain, id) in ids.into_iter().enumerate() {
            let [_, r] = point(&mut *latents, chain, n)?;
            Stream::new(seed, id, transition + error, Purpose::Momentum).fill_normals(&mut want);
            worst = largest([worst, largest_difference(&r, &want)]);
        }
        latents.status()?;
    }
    Ok(worst)
}

/// The worst error of a product in units of what rounding of its inputs explains; `error` is a relative error of the reference.
pub fn product_error(
    device: &Device,
    matrix: &DMatrix<f64>,
    chains: usize,
    rows: Option<usize>,
    error: f64,
) -> Result<f64> {
    let n = matrix.nrows();
    let mut product = device.dense(n, chains, rows)?;
    product.set(matrix.as_slice())?;
    let x = normals(n * chains, 9);
    let mut got = vec![f64::NAN; n * chains];
    // Twice, so that what the first left behind would show.
    for _ in 0..2 {
        product.multiply(&x, &mut got)?;
    }
    let exact = matrix * (1.0 + error);
    let mut worst = 0.0f64;
    for b in 0..chains {
        let x = DVector::from_column_slice(&x[b * n..(b + 1) * n]);
        let want = &exact * &x;
        let size = matrix.abs() * x.abs();
        for i in 0..n {
            // An entry, an element of x and their product are each rounded to half a unit.
            let bound = 1.5 * 2f64.powi(-23) * size[i];
            worst = largest([worst, (got[b * n + i] - want[i]).abs() / bound]);
        }
    }
    Ok(worst)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_that_hands_over_nothing_does_not_pass() {
        let model = super::super::returns(7).unwrap();
        let error = normals_error(&Device::cpu(), &model, 0).unwrap_err();
        assert!(error.to_string().contains("nothing to compare"), "{error}");
    }
}
