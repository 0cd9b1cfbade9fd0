//! Keeps the worst error of a comparison, and lets nothing pass that is no number.

use crate::device::Latents;
use crate::error::{Error, Result};

/// The largest of some errors, 0 if there are none. An error that is not a number counts as infinite: a device that returns one is wrong.
pub fn largest(errors: impl IntoIterator<Item = f64>) -> f64 {
    let larger = |worst: f64, error: f64| {
        if error.is_nan() { f64::INFINITY } else { worst.max(error) }
    };
    errors.into_iter().fold(0.0, larger)
}

/// The largest difference of two rows of numbers; infinite if they differ in length.
pub fn largest_difference(got: &[f64], want: &[f64]) -> f64 {
    if got.len() != want.len() {
        return f64::INFINITY;
    }
    largest(got.iter().zip(want).map(|(got, want)| (got - want).abs()))
}

/// The worst ratio of an error to its bound in one quantity, and where.
#[derive(Clone, Debug)]
pub struct Worst {
    /// The quantity.
    pub what: &'static str,
    /// The ratio; infinite if it is not a number.
    pub ratio: f64,
    /// Where, with both values.
    pub text: String,
}

/// Adds an error of a quantity to the worst of each.
pub(super) fn see(
    all: &mut Vec<Worst>,
    what: &'static str,
    place: &str,
    [got, want]: [f64; 2],
    bound: f64,
) {
    let ratio = largest([(got - want).abs() / bound]);
    // A vector is compared by its distance, whose right value is zero.
    let text = || match want == 0.0 {
        true => format!("{what} at {place}: differs by {got:.2e}, bound {bound:.2e}"),
        false => format!("{what} at {place}: got {got}, want {want}, bound {bound:.2e}"),
    };
    match all.iter_mut().find(|worst| worst.what == what) {
        Some(worst) if ratio > worst.ratio => (worst.ratio, worst.text) = (ratio, text()),
        Some(_) => {}
        None => all.push(Worst { what, ratio, text: text() }),
    }
}

/// A chain's z and r, which a GPU must hand over.
pub(super) fn point(latents: &mut dyn Latents, chain: usize, n: usize) -> Result<[Vec<f64>; 2]> {
    let (mut z, mut r) = (vec![f64::NAN; n], vec![f64::NAN; n]);
    match latents.point(chain, &mut z, &mut r) {
        Some(_) => Ok([z, r]),
        None => Err(Error::Numeric(format!(
            "the device hands over no point of chain {chain}: there is nothing to compare"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_number_that_is_none_fails_every_comparison() {
        assert_eq!(largest([0.5, 0.25]), 0.5);
        assert_eq!(largest([]), 0.0);
        assert_eq!(largest([f64::NAN, 0.25]), f64::INFINITY);
        assert_eq!(largest([0.25, f64::NAN, 0.5]), f64::INFINITY);
        let good = [1.0, 2.0, 3.0];
        assert_eq!(largest_difference(&good, &[1.0, 2.5, 3.0]), 0.5);
        assert_eq!(largest_difference(&[1.0, f64::NAN, 3.0], &good), f64::INFINITY);
        assert_eq!(largest_difference(&good[..2], &good), f64::INFINITY);
    }

    #[test]
    fn every_quantity_keeps_a_worst_of_its_own() {
        let mut all = Vec::new();
        see(&mut all, "U", "step 0", [1.0, 1.5], 1.0);
        see(&mut all, "z", "step 0", [1.0, 1.25], 1.0);
        see(&mut all, "U", "step 1", [1.0, 1.25], 1.0);
        let ratios: Vec<_> = all.iter().map(|worst| (worst.what, worst.ratio)).collect();
        assert_eq!(ratios, [("U", 0.5), ("z", 0.25)]);
        assert!(all[0].text.contains("step 0"), "{}", all[0].text);
        assert!(all[0].text.contains("got 1, want 1.5, bound 1.00e0"), "{}", all[0].text);
        see(&mut all, "r", "step 0", [8.2e-6, 0.0], 1.0);
        assert_eq!(all[2].text, "r at step 0: differs by 8.20e-6, bound 1.00e0");
        see(&mut all, "z", "step 1", [f64::NAN, 1.0], 1.0);
        see(&mut all, "z", "step 2", [7.0, 1.0], 1.0);
        assert_eq!(all[1].ratio, f64::INFINITY);
        // An infinite potential on both sides is no agreement either.
        see(&mut all, "U", "step 2", [f64::INFINITY; 2], 1.0);
        assert_eq!(all[0].ratio, f64::INFINITY);
    }
}
