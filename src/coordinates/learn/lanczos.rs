//! Finds the leading eigenvectors of a symmetric operator from its products alone.

use crate::numeric::{axpy, dot, squared_norm};
use nalgebra::{DMatrix, SymmetricEigen};

/// The `count` largest eigenvalues and their vectors, one after the other.
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
        if !norm.is_finite() || norm < 1e-10 {
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
    // Nothing to look at, or numbers that are none.
    if m == 0 || diagonal.iter().chain(&beside).any(|x| !x.is_finite()) {
        return (Vec::new(), Vec::new());
    }
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
    for (vector, &own) in vectors.chunks_exact_mut(n.max(1)).zip(&order) {
        for (i, step) in basis.iter().enumerate() {
            axpy(eigen.eigenvectors[(i, own)], step, vector);
        }
    }
    (order.iter().map(|&k| eigen.eigenvalues[k]).collect(), vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leading_vectors_are_orthonormal_and_keep_their_direction() {
        // Eigenvalues 1/(1 + i) in a basis turned by a reflection.
        let n = 40;
        let v: Vec<f64> = (0..n).map(|i| (1.0 + 3.1 * i as f64).sin()).collect();
        let scale = 2.0 / squared_norm(&v);
        let reflect = |x: &[f64]| {
            let along = scale * dot(&v, x);
            x.iter().zip(&v).map(|(x, v)| x - along * v).collect::<Vec<f64>>()
        };
        let product = |x: &[f64], out: &mut [f64]| {
            let mut y = reflect(x);
            y.iter_mut().enumerate().for_each(|(i, y)| *y /= 1.0 + i as f64);
            out.copy_from_slice(&reflect(&y));
        };
        let (values, vectors) = leading(n, 4, 30, product);
        for (k, value) in values.iter().enumerate() {
            assert!((value - 1.0 / (1.0 + k as f64)).abs() < 1e-6, "{values:?}");
            let own = &vectors[n * k..n * (k + 1)];
            let mut image = vec![0.0; n];
            product(own, &mut image);
            let error = image.iter().zip(own).map(|(a, b)| (a - value * b).abs());
            assert!(error.fold(0.0, f64::max) < 1e-3);
            for other in 0..=k {
                let inner = dot(own, &vectors[n * other..n * (other + 1)]);
                let want = if other == k { 1.0 } else { 0.0 };
                assert!((inner - want).abs() < 1e-9, "{k} {other}: {inner}");
            }
        }
    }

    #[test]
    fn nothing_and_numbers_that_are_none_lead_nowhere() {
        assert!(leading(0, 1, 10, |_, _| ()).0.is_empty());
        assert!(leading(5, 1, 10, |_, out| out.fill(f64::NAN)).0.is_empty());
    }
}
