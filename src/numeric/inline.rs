//! Sums and combines slices inside the code of the caller, in one fixed order that gives the same bits everywhere.
//!
//! A floating-point sum depends on the order of its terms, and compilers may not change it; a plain loop is therefore
//! one long chain of additions. Here element `i` goes to accumulator `i % 8`, and the eight are added as a tree:
//!
//! ```text
//! ((a0 + a4) + (a2 + a6)) + ((a1 + a5) + (a3 + a7))
//! ```
//!
//! Each vector width up to eight can do that without changing a bit. These functions are always inlined and take the
//! instruction set of the code around them: call them inside [`vectorised`](super::vectorised), or on slices known to
//! be short. Elsewhere use their namesakes in [`numeric`](super), which choose the instruction set.

/// The number of accumulators: the latency of an addition times the additions begun per cycle, for two-wide vectors.
const LANES: usize = 8;

/// Returns Σ term(aᵢ, bᵢ, …) over slices of one length.
///
/// # Panics
///
/// If the lengths differ.
#[inline(always)]
pub fn sum_of<const K: usize>(slices: [&[f64]; K], term: impl Fn([f64; K]) -> f64) -> f64 {
    let n = slices.first().map_or(0, |slice| slice.len());
    assert!(slices.iter().all(|s| s.len() == n), "sum over slices of different length");
    let mut lanes = [0.0; LANES];
    let mut first = 0;
    while first + LANES <= n {
        // Of a known length, so that there is one check for eight terms.
        let blocks = slices.map(|slice| &slice[first..first + LANES]);
        for (lane, sum) in lanes.iter_mut().enumerate() {
            *sum += term(blocks.map(|block| block[lane]));
        }
        first += LANES;
    }
    for (lane, i) in lanes.iter_mut().zip(first..n) {
        *lane += term(slices.map(|slice| slice[i]));
    }
    tree(lanes)
}

/// Returns the sum of all elements; zero for an empty slice.
#[inline(always)]
pub fn sum(a: &[f64]) -> f64 {
    sum_of([a], |[x]| x)
}

/// Returns the inner product.
///
/// # Panics
///
/// If the lengths differ.
#[inline(always)]
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    sum_of([a, b], |[x, y]| x * y)
}

/// Returns the sum of squares.
#[inline(always)]
pub fn squared_norm(a: &[f64]) -> f64 {
    dot(a, a)
}

/// Adds `alpha * x` to `y`.
///
/// # Panics
///
/// If the lengths differ.
#[inline(always)]
pub fn axpy(alpha: f64, x: &[f64], y: &mut [f64]) {
    assert_eq!(x.len(), y.len(), "axpy on slices of different length");
    for (y, x) in y.iter_mut().zip(x) {
        *y += alpha * x;
    }
}

/// Adds the accumulators in the order in which registers are folded in half.
#[inline(always)]
fn tree(a: [f64; LANES]) -> f64 {
    ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::numeric::vectorised;

    /// Numbers whose sizes spread over six decades and whose signs alternate, so that another order shows.
    fn values(len: usize, seed: f64) -> Vec<f64> {
        (0..len).map(|i| (i as f64 * seed).sin() * 10f64.powi((i % 7) as i32 - 3)).collect()
    }

    /// The definition, element by element.
    fn reference(terms: impl Iterator<Item = f64>) -> f64 {
        let mut a = [0.0; 8];
        for (i, term) in terms.enumerate() {
            a[i % 8] += term;
        }
        ((a[0] + a[4]) + (a[2] + a[6])) + ((a[1] + a[5]) + (a[3] + a[7]))
    }

    #[test]
    fn sums_have_the_stated_order_to_the_last_bit_with_and_without_vectors() {
        for len in [0, 1, 7, 8, 9, 15, 16, 17, 64, 1000, 1023] {
            let (a, b) = (values(len, 1.1), values(len, 0.7));
            let expected = reference(a.iter().copied());
            assert_eq!(sum(&a).to_bits(), expected.to_bits(), "length {len}");
            let expected = reference(a.iter().zip(&b).map(|(x, y)| x * y));
            assert_eq!(dot(&a, &b).to_bits(), expected.to_bits(), "length {len}");
            let wide = vectorised(
                #[inline(always)]
                || dot(&a, &b),
            );
            assert_eq!(wide.to_bits(), expected.to_bits(), "length {len}");
            let expected = reference(a.iter().map(|x| x * x));
            assert_eq!(squared_norm(&a).to_bits(), expected.to_bits(), "length {len}");
        }
    }

    #[test]
    fn the_comparison_of_bits_notices_another_order() {
        let a = values(1000, 1.1);
        assert_ne!(sum(&a).to_bits(), a.iter().sum::<f64>().to_bits());
    }

    #[test]
    fn sums_are_right_where_arithmetic_is_exact() {
        let a: Vec<f64> = (1..=100).map(f64::from).collect();
        assert_eq!(sum(&a), 5050.0);
        assert_eq!(squared_norm(&a), 338_350.0);
        let mut y = a.clone();
        axpy(-2.0, &a, &mut y);
        assert!(y.iter().zip(&a).all(|(y, a)| *y == -a));
    }

    #[test]
    #[should_panic(expected = "different length")]
    fn a_dot_product_refuses_unequal_lengths() {
        dot(&[1.0, 2.0], &[1.0]);
    }
}
