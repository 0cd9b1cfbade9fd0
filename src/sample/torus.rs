//! Finds the smallest torus in which a field with short ranges can be put.

use crate::model::Model;
use crate::structure::Spectral;

/// Largest difference of correlations in the window.
const TOLERANCE: f64 = 1e-3;
/// Margins that are tried, as multiples of this share of the window.
const STEP: f64 = 0.02;
/// The torus must become smaller by this factor to be worth it.
const WORTHWHILE: f64 = 0.8;
/// Standard deviations of the log range beyond its mean that still count as likely, and the least such deviation.
const DEVIATIONS: f64 = 3.0;
const LEAST_DEVIATION: f64 = 0.05;

/// The longest range that draws of w make likely.
pub(super) fn likely(draws: &[[f64; 2]]) -> f64 {
    let count = draws.len() as f64;
    let mean = draws.iter().map(|w| w[1]).sum::<f64>() / count;
    let variance = draws.iter().map(|w| (w[1] - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean + DEVIATIONS * variance.sqrt().max(LEAST_DEVIATION)).exp()
}

/// The margin of the smallest torus that is good enough up to `longest`, if it is worth it.
pub(super) fn shrink(spectral: &Spectral, longest: f64) -> Option<f64> {
    let now = spectral.torus().dim() as f64;
    (1..=50)
        .map(|step| STEP * f64::from(step))
        .map(|margin| (margin, spectral.with_margin(margin)))
        .take_while(|(_, smaller)| (smaller.torus().dim() as f64) < WORTHWHILE * now)
        .find(|(_, smaller)| smaller.window_error(longest) <= TOLERANCE)
        .map(|(margin, _)| margin)
}

/// The model in that torus, with a note that says so.
pub(super) fn re_embed(model: &Model, smaller: Spectral, longest: f64) -> Model {
    let torus = smaller.torus();
    let note = format!(
        "a {} x {} torus is enough: up to range {longest:.3}, beyond all that a pilot run found likely, correlations in the \
         window differ from the plane's by at most {:.1e} (--torus full keeps the larger one)",
        torus.p1,
        torus.p2,
        smaller.window_error(longest)
    );
    model.embedded_in(smaller).with_note(note)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::Kernel;

    #[test]
    fn short_ranges_get_a_margin_and_long_ones_keep_the_torus() {
        let open = (0.0, f64::INFINITY);
        let field = Spectral::new(64, 64, 1.0 / 64.0, Kernel::Exponential, open).unwrap();
        let small = field.with_margin(shrink(&field, 0.04).unwrap());
        assert!(small.torus().p1 < 96, "{:?}", small.torus());
        assert!(small.window_error(0.04) <= TOLERANCE);
        let smaller = field.with_margin(0.5 * (small.torus().p1 as f64 / 64.0 - 1.0));
        assert!(smaller.window_error(0.04) > TOLERANCE, "no smaller than it must be");
        assert!(!small.can_shrink());
        assert!(shrink(&field, 0.2).is_none(), "a long range needs the whole torus");
    }

    #[test]
    fn what_is_likely_lies_beyond_every_draw() {
        let draws = [0.02f64, 0.03, 0.025, 0.028, 0.022].map(|r| [0.0, r.ln()]);
        assert!(likely(&draws) > 0.03 && likely(&draws) < 0.1);
        let same = likely(&[[0.0, 0.05f64.ln()]; 5]);
        assert!((same / 0.05 - (DEVIATIONS * LEAST_DEVIATION).exp()).abs() < 1e-12);
    }
}
