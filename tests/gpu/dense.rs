//! Compares products with a dense covariance and with its inverse with the same in f64.

use crate::common::points;
use crate::worlds::device;
use nalgebra::DMatrix;
use sshmc::check::product_error;
use sshmc::structure::{Covariance, Stationary};

/// Σ of points on a line, as rounded to f32.
fn covariance(n: usize) -> DMatrix<f64> {
    let mut sigma = DMatrix::zeros(n, n);
    Stationary::exponential(&points(n)).unwrap().fill(&[0.2, 0.5], &mut sigma);
    sigma
}

fn worst(matrix: &DMatrix<f64>, spoilt: f64, chains: usize, rows: Option<usize>) -> f64 {
    product_error(&device(), matrix, chains, rows, spoilt).unwrap()
}

#[test]
fn products_are_those_in_double_precision() {
    for (n, chains, rows) in
        [(1, 1, None), (63, 2, None), (64, 1, Some(7)), (65, 3, Some(64)), (300, 2, Some(101))]
    {
        let sigma = covariance(n);
        let inverse = sigma.clone().cholesky().unwrap().inverse();
        for (name, matrix) in [("Σ", &sigma), ("Σ⁻¹", &inverse)] {
            let error = worst(matrix, 0.0, chains, rows);
            assert!(error <= 1.0, "{name} of {n} in slabs of {rows:?}: {error} of the bound");
        }
        assert!(worst(&sigma, 1e-6, chains, rows) > 1.0, "an error of a millionth must show");
    }
}

#[test]
fn slabs_are_as_many_as_it_takes() {
    assert_eq!(device().dense(300, 1, Some(101)).unwrap().slabs(), 3);
    let limit = device().as_gpu().unwrap().adapter().binding;
    // A side whose square just exceeds one binding; nothing is uploaded.
    let side = ((limit / 4) as f64).sqrt() as usize + 1;
    if side < 10_000 {
        assert_eq!(device().dense(side, 1, None).unwrap().slabs(), 2);
    }
}

#[test]
fn wrong_sizes_are_errors() {
    assert!(device().dense(0, 1, None).is_err());
    assert!(sshmc::device::Device::cpu().dense(3, 1, None).is_err());
    let mut product = device().dense(3, 1, None).unwrap();
    assert!(product.set(&[0.0; 8]).is_err());
    assert!(product.multiply(&[0.0; 4], &mut [0.0; 3]).is_err());
}
