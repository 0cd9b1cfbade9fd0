//! Compares products with a dense covariance and with its inverse with the same in f64.

use crate::common::{normals, points};
use crate::own::Own;
use crate::worlds::device;
use nalgebra::DMatrix;
use sshmc::check::product_error;
use sshmc::device::Device;
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
    for (n, chains, rows) in [
        (1, 1, None),
        (63, 2, None),
        (64, 1, Some(7)),
        (65, 3, Some(64)),
        (67, 4, None),
        (40, 5, Some(40)),
        (30, 9, Some(13)),
        (300, 2, Some(101)),
    ] {
        let sigma = covariance(n);
        let inverse = sigma.clone().cholesky().unwrap().inverse();
        for (name, matrix) in [("Σ", &sigma), ("Σ⁻¹", &inverse)] {
            let error = worst(matrix, 0.0, chains, rows);
            assert!(error <= 1.0, "{name} of {n} in slabs of {rows:?}: {error} of the bound");
        }
        for matrix in [&sigma, &inverse] {
            assert!(worst(matrix, 1e-6, chains, rows) > 1.0, "an error of a millionth must show");
        }
    }
}

#[test]
fn a_matrix_larger_than_a_binding_is_multiplied_in_slabs() {
    assert_eq!(device().dense(300, 1, Some(101)).unwrap().slabs(), 3);
    let n: usize = 200;
    let small = 64 << 10;
    assert!(4 * n * n > 2 * small, "the matrix must not fit");
    let gpu = limited(small as u64);
    // 81 rows fit into 64 KiB, and 200 into three times that.
    assert_eq!(gpu.dense(n, 3, None).unwrap().slabs(), 3);
    let sigma = covariance(n);
    let error = product_error(&gpu, &sigma, 3, None, 0.0).unwrap();
    println!("{error} of the bound");
    assert!(error <= 1.0, "{error} of the bound");
    assert!(product_error(&gpu, &sigma, 3, None, 1e-6).unwrap() > 1.0, "a millionth must show");
}

/// The adapter under test, opened with bindings of no more than so many bytes.
fn limited(binding: u64) -> Device {
    let own = Own::open();
    let name = own.device.adapter_info().name;
    let found = pollster::block_on(own.instance.enumerate_adapters(wgpu::Backends::PRIMARY));
    let adapter = found.iter().find(|adapter| adapter.get_info().name == name).unwrap();
    let required_limits =
        wgpu::Limits { max_storage_buffer_binding_size: binding, ..wgpu::Limits::default() };
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
    Device::from_wgpu(device, queue).unwrap()
}

/// Bytes that one product moves.
fn traffic(n: usize, chains: usize) -> u64 {
    let gpu = limited(1 << 20);
    let mut product = gpu.dense(n, chains, None).unwrap();
    product.set(covariance(n).as_slice()).unwrap();
    let before = gpu.as_gpu().unwrap().cost().traffic;
    let mut out = vec![0.0; n * chains];
    product.multiply(&normals(n * chains, 3), &mut out).unwrap();
    gpu.as_gpu().unwrap().cost().traffic - before
}

#[test]
fn four_vectors_share_a_reading_of_the_matrix() {
    let n = 256;
    let least = |chains: u64| 4 * (n * n) as u64 * chains.div_ceil(4);
    for chains in [1, 2, 3, 4, 5, 8] {
        let moved = traffic(n, chains);
        let share = moved as f64 / least(chains as u64) as f64;
        println!("{chains} vectors: {moved} bytes, {share:.3} times the matrix and its repeats");
        assert!((1.0..1.15).contains(&share), "{chains} vectors move {moved} bytes");
    }
}

#[test]
fn wrong_sizes_are_errors() {
    assert!(device().dense(0, 1, None).is_err());
    assert!(Device::cpu().dense(3, 1, None).is_err());
    let mut product = device().dense(3, 1, None).unwrap();
    assert!(product.set(&[0.0; 8]).is_err());
    assert!(product.multiply(&[0.0; 4], &mut [0.0; 3]).is_err());
}
