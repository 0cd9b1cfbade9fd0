//! Measures distance differently in different directions: geometric anisotropy.

use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Correlation that reaches further in one direction than across it.
///
/// The range ℓ is the one along the angle; across it the range is ℓ divided by the ratio.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Anisotropy {
    /// Direction of the longest reach in degrees from the x axis towards the y axis, from 0 up to 180.
    angle: f64,
    /// The longest range over the shortest, at least one.
    ratio: f64,
}

/// The largest ratio: a field that is smooth along lines and rough across them needs other models.
const LARGEST_RATIO: f64 = 10.0;

/// A quadratic form: the squared distance of a lag is xx·x² + 2·xy·xy + yy·y².
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Metric {
    pub(super) xx: f64,
    pub(super) xy: f64,
    pub(super) yy: f64,
}

impl Anisotropy {
    /// The same reach in all directions.
    pub const NONE: Anisotropy = Anisotropy { angle: 0.0, ratio: 1.0 };

    /// An angle in degrees, any, and a ratio from 1 to 10.
    pub fn new(angle: f64, ratio: f64) -> Result<Self> {
        if !angle.is_finite() || !(1.0..=LARGEST_RATIO).contains(&ratio) {
            return Err(Error::input(
                "anisotropy",
                format!("an angle in degrees and a ratio from 1 to {LARGEST_RATIO}"),
                format!("{angle} and {ratio}"),
                "give the direction of the longest range and how many times the shortest it is; for a ratio below 1 turn the \
                 angle by 90 degrees and take 1/ratio",
            ));
        }
        Ok(Self { angle: angle.rem_euclid(180.0), ratio })
    }

    /// The direction of the longest range in degrees from the x axis towards the y axis, from 0 up to 180.
    pub fn angle(&self) -> f64 {
        self.angle
    }

    /// The longest range over the shortest.
    pub fn ratio(&self) -> f64 {
        self.ratio
    }

    /// Whether all directions are alike.
    pub fn is_none(&self) -> bool {
        self.ratio == 1.0
    }

    /// Whether the field looks the same in a mirror held along an axis: all a GPU can do.
    pub fn is_aligned(&self) -> bool {
        self.is_none() || self.angle == 0.0 || self.angle == 90.0
    }

    pub(super) fn metric(&self) -> Metric {
        let across = self.ratio * self.ratio;
        // Without rounding where the axes are those of the grid.
        let (sin, cos) = match self.angle {
            0.0 => (0.0, 1.0),
            90.0 => (1.0, 0.0),
            angle => angle.to_radians().sin_cos(),
        };
        if self.is_none() {
            return Metric { xx: 1.0, xy: 0.0, yy: 1.0 };
        }
        Metric {
            xx: cos * cos + across * sin * sin,
            xy: cos * sin * (1.0 - across),
            yy: sin * sin + across * cos * cos,
        }
    }
}

impl Metric {
    /// The length of a lag.
    #[inline(always)]
    pub(super) fn distance(&self, x: f64, y: f64) -> f64 {
        (self.xx * x * x + (2.0 * self.xy * x * y + self.yy * y * y)).sqrt()
    }

    /// The form as seen in a mirror.
    pub(super) fn mirrored(self) -> Self {
        Self { xy: -self.xy, ..self }
    }

    /// The inverse form, which measures frequencies.
    pub(super) fn inverse(self) -> Self {
        let scale = 1.0 / (self.xx * self.yy - self.xy * self.xy);
        Self { xx: self.yy * scale, xy: -self.xy * scale, yy: self.xx * scale }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_plain_along_the_angle_and_stretched_across() {
        for angle in [0.0, 30.0, 90.0, 135.0] {
            let metric = Anisotropy::new(angle, 3.0).unwrap().metric();
            let (sin, cos) = f64::to_radians(angle).sin_cos();
            assert!((metric.distance(2.0 * cos, 2.0 * sin) - 2.0).abs() < 1e-14);
            assert!((metric.distance(-2.0 * sin, 2.0 * cos) - 6.0).abs() < 1e-14);
            let (x, y) = (0.3, -0.8);
            assert_eq!(metric.mirrored().distance(-x, y), metric.distance(x, y));
            let back = metric.inverse().inverse();
            assert!((back.xx - metric.xx).abs() + (back.xy - metric.xy).abs() < 1e-13);
        }
        assert_eq!(Anisotropy::NONE.metric().distance(3.0, 4.0), 5.0);
        let turned = Anisotropy::new(-45.0, 2.0).unwrap();
        assert_eq!(turned, Anisotropy::new(135.0, 2.0).unwrap());
        assert!(!turned.is_aligned() && Anisotropy::new(-90.0, 2.0).unwrap().is_aligned());
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        for (angle, ratio) in [(0.0, 0.5), (0.0, 11.0), (f64::NAN, 2.0), (0.0, f64::NAN)] {
            assert!(Anisotropy::new(angle, ratio).is_err(), "{angle} {ratio}");
        }
    }
}
