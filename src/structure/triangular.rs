//! Factors and divides dense matrices by recursive halving, so that nearly all work is matrix multiplication.
//!
//! > A = [A₁ ·; B A₂] = L L':  L₁ = chol A₁,  M = B L₁⁻ᵀ,  L₂ = chol(A₂ − M M')
//!
//! nalgebra's own factorisation walks column by column and is bound by memory from a few hundred rows on; its product
//! is blocked. Halving down to a small leaf turns the first into the second.

use crate::numeric::axpy;
use nalgebra::{DMatrix, DMatrixView, DMatrixViewMut};

/// Rows and columns at which halving stops: a smaller product no longer repays its setting up.
const LEAF: usize = 16;

/// Replaces a symmetric matrix by its lower Cholesky factor, zeros above; false if it is not positive definite.
///
/// Only the lower triangle is read. A pivot that the subtractions leading to it may have left as mere rounding error,
/// below n ε times the diagonal entry it came from, counts as not positive.
pub(super) fn cholesky(a: &mut DMatrix<f64>) -> bool {
    let floor: Vec<f64> =
        a.diagonal().iter().map(|d| a.nrows() as f64 * f64::EPSILON * d).collect();
    let done = halve(a.as_view_mut(), &floor);
    a.fill_upper_triangle(0.0, 1);
    done
}

fn halve(mut a: DMatrixViewMut<f64>, floor: &[f64]) -> bool {
    let n = a.nrows();
    if n <= LEAF {
        return cholesky_leaf(a, floor);
    }
    let half = n / 2;
    let (mut left, mut right) = a.columns_range_pair_mut(..half, half..);
    let (mut first, mut below) = left.rows_range_pair_mut(..half, half..);
    if !halve(first.as_view_mut(), &floor[..half]) {
        return false;
    }
    divide(first.as_view(), below.as_view_mut());
    let mut last = right.rows_mut(half, n - half);
    last.gemm(-1.0, &below, &below.transpose(), 1.0);
    halve(last.as_view_mut(), &floor[half..])
}

fn cholesky_leaf(mut a: DMatrixViewMut<f64>, floor: &[f64]) -> bool {
    let n = a.nrows();
    for j in 0..n {
        for l in 0..j {
            let factor = a[(j, l)];
            let (done, mut current) = a.columns_range_pair_mut(l, j);
            axpy(-factor, &done.as_slice()[j..], &mut current.as_mut_slice()[j..]);
        }
        let pivot = a[(j, j)];
        // Written so that NaN fails too.
        if !(pivot > floor[j] && pivot.is_finite()) {
            return false;
        }
        let inverse = 1.0 / pivot.sqrt();
        a.view_mut((j, j), (n - j, 1)).scale_mut(inverse);
    }
    true
}

/// b ← b L⁻ᵀ for a lower triangular L; what is above L's diagonal is not read.
pub(super) fn divide(l: DMatrixView<f64>, mut b: DMatrixViewMut<f64>) {
    let n = l.nrows();
    if n <= LEAF {
        return divide_leaf(l, b);
    }
    let half = n / 2;
    let (mut first, mut last) = b.columns_range_pair_mut(..half, half..);
    divide(l.view((0, 0), (half, half)), first.as_view_mut());
    last.gemm(-1.0, &first, &l.view((half, 0), (n - half, half)).transpose(), 1.0);
    divide(l.view((half, half), (n - half, n - half)), last.as_view_mut());
}

fn divide_leaf(l: DMatrixView<f64>, mut b: DMatrixViewMut<f64>) {
    for j in 0..l.nrows() {
        for k in 0..j {
            let (done, mut current) = b.columns_range_pair_mut(k, j);
            axpy(-l[(j, k)], done.as_slice(), current.as_mut_slice());
        }
        b.column_mut(j).scale_mut(1.0 / l[(j, j)]);
    }
}

/// L⁻¹ S L⁻ᵀ for a symmetric S.
pub(super) fn divide_both_sides(l: &DMatrix<f64>, mut s: DMatrix<f64>) -> DMatrix<f64> {
    divide(l.as_view(), s.as_view_mut());
    s.transpose_mut();
    divide(l.as_view(), s.as_view_mut());
    s
}

/// Reverses the order of rows and of columns, which turns a lower triangle into an upper one.
pub(super) fn reverse(a: &mut DMatrix<f64>) {
    // Column-major storage read backwards is exactly that.
    a.as_mut_slice().reverse();
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Symmetric, diagonally dominant and without any pattern that a wrong index could survive.
    fn example(n: usize) -> DMatrix<f64> {
        DMatrix::from_fn(n, n, |i, j| {
            let (i, j) = (i.max(j), i.min(j));
            if i == j { n as f64 + (i as f64).sin() } else { ((i * i + 3 * j) as f64).cos() }
        })
    }

    fn assert_close(got: &DMatrix<f64>, want: &DMatrix<f64>) {
        let n = want.nrows() as f64;
        let (worst, bound) = ((got - want).amax(), 4.0 * n * f64::EPSILON * want.amax().max(1.0));
        assert!(worst <= bound, "n {n}: off by {worst:e}, bound {bound:e}");
    }

    #[test]
    fn factors_below_at_and_above_the_leaf() {
        for n in [1, 2, LEAF - 1, LEAF, LEAF + 1, 3 * LEAF + 5, 200] {
            let a = example(n);
            let mut l = a.clone();
            l.fill_upper_triangle(f64::NAN, 1);
            assert!(cholesky(&mut l));
            assert_close(&(&l * l.transpose()), &a);
            assert!(
                l.upper_triangle()
                    .iter()
                    .zip(DMatrix::from_diagonal(&l.diagonal()).iter())
                    .all(|(a, b)| a == b)
            );
        }
    }

    #[test]
    fn divides_from_one_and_from_both_sides() {
        for n in [1, 5, LEAF + 3, 150] {
            let mut l = example(n);
            assert!(cholesky(&mut l));
            let b = DMatrix::from_fn(7, n, |i, j| ((i + 5 * j) as f64).sin());
            let mut x = b.clone();
            divide(l.as_view(), x.as_view_mut());
            assert_close(&(x * l.transpose()), &b);
            let s = example(n);
            let both = divide_both_sides(&l, s.clone());
            assert_close(&(&l * both * l.transpose()), &s);
        }
    }

    #[test]
    fn refuses_what_is_not_positive_definite() {
        for at in [0, 40, 99] {
            let mut a = example(100);
            a[(at, at)] = -1.0;
            assert!(!cholesky(&mut a));
        }
        let mut singular = DMatrix::from_element(50, 50, 0.1);
        assert!(!cholesky(&mut singular));
        let mut broken = DMatrix::from_element(2, 2, f64::NAN);
        assert!(!cholesky(&mut broken));
    }
}
