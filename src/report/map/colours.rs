//! Turns values into colours and labels a colour bar.

use super::canvas::Ink;
use crate::report::numbers::steps;

/// Colours from low to high: nine of the colour map viridis (Smith and van der Walt 2015), which is evenly spaced in lightness
/// and safe for the colour-blind.
const VIRIDIS: [(u8, u8, u8); 9] = [
    (68, 1, 84),
    (71, 44, 122),
    (59, 81, 139),
    (44, 113, 142),
    (33, 144, 141),
    (39, 173, 129),
    (92, 200, 99),
    (170, 220, 50),
    (253, 231, 37),
];

/// The largest spread that equal steps of value show well; beyond it equal steps are factors.
const LINEAR_SPREAD: f64 = 15.0;

/// How values are coloured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct ColourScale {
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl ColourScale {
    /// From 0 to 1, for probabilities.
    pub(super) const PROBABILITY: ColourScale =
        ColourScale { low: 0.0, high: 1.0, logarithmic: false };

    /// For positive values, by factors if they span many.
    pub(super) fn of(values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let (Some(&low), Some(&high)) = (sorted.first(), sorted.last()) else {
            return Self::PROBABILITY;
        };
        // One cell in a hundred at either end may saturate rather than take half of the colours.
        let at = |share: f64| sorted[(share * (sorted.len() - 1) as f64).round() as usize];
        let (inner_low, inner_high) = (at(0.01), at(0.99));
        if low > 0.0 && inner_high > LINEAR_SPREAD * inner_low {
            return ColourScale { low: inner_low, high, logarithmic: true };
        }
        match high - low {
            range if range > 0.0 => ColourScale { low, high, logarithmic: false },
            _ => ColourScale { low: low - 0.5, high: high + 0.5, logarithmic: false },
        }
    }

    /// Where a value lies between the ends.
    fn share(&self, value: f64) -> f64 {
        let (low, high) = (self.low, self.high);
        let share = match self.logarithmic {
            true => (value / low).ln() / (high / low).ln(),
            false => (value - low) / (high - low),
        };
        share.clamp(0.0, 1.0)
    }

    /// The colour of a value.
    pub(super) fn ink(&self, value: f64) -> Ink {
        ink(self.share(value))
    }

    /// Marks of the colour bar: places from 0 to 1 and values.
    pub(super) fn marks(&self) -> Vec<(f64, f64)> {
        let marks = match self.logarithmic {
            true => factors(self.low, self.high),
            false => steps(self.low, self.high, 5),
        };
        marks.into_iter().map(|value| (self.share(value), value)).collect()
    }

    /// The power of ten by which labels are divided, so that they are short: 0 unless values are very large or small.
    pub(super) fn exponent(&self) -> i32 {
        let exponent = self.high.abs().log10().floor();
        if self.logarithmic || (-2.0..5.0).contains(&exponent) || !exponent.is_finite() {
            return 0;
        }
        exponent as i32
    }
}

/// The colour of a share between 0 and 1.
pub(in crate::report) fn ink(share: f64) -> Ink {
    let position = share.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let below = (position as usize).min(VIRIDIS.len() - 2);
    let (a, b) = (VIRIDIS[below], VIRIDIS[below + 1]);
    let mix = |a: u8, b: u8| {
        let (a, b) = (f64::from(a), f64::from(b));
        (a + (position - below as f64) * (b - a)).round() as u8
    };
    (mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2), 255)
}

/// 1, 2 and 5 times powers of ten between two positive ends, thinned to at most eight.
fn factors(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let within = |leads: &[f64]| -> Vec<f64> {
        let all = (first..=last).flat_map(|k| leads.iter().map(move |lead| lead * 10f64.powi(k)));
        all.filter(|v| (0.999 * low..=1.001 * high).contains(v)).collect()
    };
    let fine = within(&[1.0, 2.0, 5.0]);
    if fine.len() <= 8 {
        return fine;
    }
    let tens = within(&[1.0]);
    let every = tens.len().div_ceil(8).max(1);
    tens.into_iter().step_by(every).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scales_run_from_end_to_end() {
        let scale = ColourScale::of(&[1.0, 2.0, f64::NAN, 3.0]);
        assert_eq!(scale.ink(1.0), (68, 1, 84, 255));
        assert_eq!(scale.ink(3.0), (253, 231, 37, 255));
        assert_eq!(
            scale.marks().iter().map(|m| m.1).collect::<Vec<_>>(),
            [1.0, 1.5, 2.0, 2.5, 3.0]
        );
        let skewed: Vec<f64> = (0..100).map(|k| 1e-9 * 1.1f64.powi(k)).collect();
        let scale = ColourScale::of(&skewed);
        assert!(scale.logarithmic);
        assert!(
            scale.marks().len() > 2 && scale.marks().iter().all(|m| (0.0..=1.0).contains(&m.0))
        );
        assert_eq!(ColourScale::of(&[7.0, 7.0]).ink(7.0), ink(0.5));
        assert_eq!(ColourScale::of(&[3e-10, 4e-10]).exponent(), -10);
    }
}
