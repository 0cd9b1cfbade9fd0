//! Finds the leading eigenvectors of a symmetric operator from its products alone.

use crate::numeric::{axpy, dot, squared_norm};
use nalgebra::{DMatrix, SymmetricEigen};

/// The `count` largest eigenvalues and their vectors, one after the other in each row of the space: entry (i, k) at i·count + k.
///
/// Lanczos with every vector kept orthogonal to all before it. Vectors are orthonormal whatever happens; how well they are
/// eigenvectors grows with `steps`.
pub(crate) fn leading(
    n: usize,
    count: usize,
    steps: usize,
    mut product: impl FnMut(&[f64], &mut [f64]),
) -> (Vec<f64>, Vec<f64>) {
    let steps = steps.min(n).max(count);
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(steps);
    let (mut diagonal, mut beside) = (Vec::new(), Vec::new());
    // A start with a share of everything, the same every time.
    let mut next: Vec<f64> = (0..n).map(|i| 1.0 + 0.5 * (12.9898 * i as f64).sin()).collect();
    let mut image = vec![0.0; n];
    while basis.len() < steps {
        let norm = squared_norm(&next).sqrt();
        if norm < 1e-10 {
            break;
        }
        next.iter_mut().for_each(|x| *x /= norm);
        product(&next, &mut image);
        diagonal.push(dot(&next, &image));
        basis.push(std::mem::replace(&mut next, image.clone()));
        for _ in 0..2 {
            for vector in &basis {
                axpy(-dot(vector, &next), vector, &mut next);
            }
        }
        beside.push(squared_norm(&next).sqrt());
    }
    let m = basis.len();
    let tridiagonal = DMatrix::from_fn(m, m, |i, j| match i.abs_diff(j) {
        0 => diagonal[i],
        1 => beside[i.min(j)],
        _ => 0.0,
    });
    let eigen = SymmetricEigen::new(tridiagonal);
    let mut order: Vec<usize> = (0..m).collect();
    order.sort_by(|&a, &b| eigen.eigenvalues[b].total_cmp(&eigen.eigenvalues[a]));
    order.truncate(count);
    let mut vectors = vec![0.0; n * order.len()];
    let width = order.len();
    let mut line = vec![0.0; n];
    for (k, &own) in order.iter().enumerate() {
        line.fill(0.0);
        for (i, vector) in basis.iter().enumerate() {
            axpy(eigen.eigenvectors[(i, own)], vector, &mut line);
        }
        for (i, x) in line.iter().enumerate() {
            vectors[i * width + k] = *x;
        }
    }
    (order.iter().map(|&k| eigen.eigenvalues[k]).collect(), vectors)
}
