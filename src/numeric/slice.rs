//! Sums and combines slices with the best instructions that the processor has.
//!
//! Each function is its namesake in [`inline`] and has its result, bit by bit; a long slice is handed to
//! [`vectorised`] first. Eight accumulators make even narrow vectors fast, so that sums of numbers in the cache gain
//! up to a quarter and [`axpy`] gains up to a half.

use super::{inline, vectorised};

/// The longest slice that is not worth the two nanoseconds of choosing: it takes about ten itself.
const SHORT: usize = 64;

/// Returns the sum of all elements, in the order that [`inline`] states; zero for an empty slice.
pub fn sum(a: &[f64]) -> f64 {
    if a.len() <= SHORT {
        return inline::sum(a);
    }
    vectorised(
        #[inline(always)]
        || inline::sum(a),
    )
}

/// Returns the inner product, summed in the order that [`inline`] states.
///
/// # Panics
///
/// If the lengths differ.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    if a.len() <= SHORT {
        return inline::dot(a, b);
    }
    vectorised(
        #[inline(always)]
        || inline::dot(a, b),
    )
}

/// Returns the sum of squares, in the order that [`inline`] states.
pub fn squared_norm(a: &[f64]) -> f64 {
    if a.len() <= SHORT {
        return inline::squared_norm(a);
    }
    vectorised(
        #[inline(always)]
        || inline::squared_norm(a),
    )
}

/// Adds `alpha * x` to `y`.
///
/// # Panics
///
/// If the lengths differ.
pub fn axpy(alpha: f64, x: &[f64], y: &mut [f64]) {
    if x.len() <= SHORT {
        return inline::axpy(alpha, x, y);
    }
    vectorised(
        #[inline(always)]
        || inline::axpy(alpha, x, y),
    )
}

/// Puts `alpha * x` into `out`, over the shorter of the two.
pub fn scale_into(alpha: f64, x: &[f64], out: &mut [f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = alpha * x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_and_short_slices_give_the_bits_of_the_undispatched_functions() {
        for len in [0, 1, SHORT - 1, SHORT, SHORT + 1, 1000, 1023] {
            let a: Vec<f64> = (0..len).map(|i| (1.1 * i as f64).sin()).collect();
            let b: Vec<f64> = (0..len).map(|i| (0.7 * i as f64).exp2().recip()).collect();
            assert_eq!(sum(&a).to_bits(), inline::sum(&a).to_bits(), "length {len}");
            assert_eq!(dot(&a, &b).to_bits(), inline::dot(&a, &b).to_bits(), "length {len}");
            let expected = inline::squared_norm(&a);
            assert_eq!(squared_norm(&a).to_bits(), expected.to_bits(), "length {len}");
            let (mut y, mut expected) = (b.clone(), b);
            axpy(-0.3, &a, &mut y);
            inline::axpy(-0.3, &a, &mut expected);
            assert!(y.iter().zip(&expected).all(|(y, e)| y.to_bits() == e.to_bits()), "{len}");
        }
    }

    #[test]
    fn scaled_vectors_are_written_over_what_was_there() {
        let mut out = [f64::NAN; 3];
        scale_into(2.0, &[1.0, -1.0, 0.5], &mut out);
        assert_eq!(out, [2.0, -2.0, 1.0]);
    }

    #[test]
    #[should_panic(expected = "different length")]
    fn a_long_dot_product_refuses_unequal_lengths() {
        dot(&[1.0; SHORT + 2], &[1.0; SHORT + 1]);
    }

    #[test]
    #[should_panic(expected = "different length")]
    fn a_long_axpy_refuses_unequal_lengths() {
        axpy(1.0, &[1.0; SHORT + 1], &mut [1.0; SHORT + 2]);
    }
}
