//! Draws a point of Neal's funnel: v ~ N(0, 9) unless given, x_i ~ N(0, e^{−v}).

use super::{normals, within};
use crate::data::OutputDir;
use crate::error::{Error, Result};
use serde_json::json;
use std::io::Write;

/// Which random numbers are for what.
const LATENT: u32 = 0;
const NECK: u32 = 1;
/// The largest |v|: e^{∓v/2} stays far from overflow.
const WIDEST: f64 = 500.0;

/// What a point is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct FunnelTruth {
    /// Number of latents.
    pub dim: usize,
    /// The log precision; none: drawn from N(0, 9).
    pub v: Option<f64>,
}

/// A point of the funnel.
#[derive(Clone, Debug)]
pub struct FunnelDraw {
    /// The seed it was drawn with.
    pub seed: u64,
    /// The log precision.
    pub v: f64,
    /// The latents.
    pub x: Vec<f64>,
}

/// Draws a point.
pub fn funnel(truth: &FunnelTruth, seed: u64) -> Result<FunnelDraw> {
    within("dim", truth.dim, 1, 10_000_000)?;
    let v = truth.v.unwrap_or_else(|| 3.0 * normals(seed, NECK, 1)[0]);
    if v.is_nan() || v.abs() > WIDEST {
        let expected = format!("a number between -{WIDEST} and {WIDEST}");
        return Err(Error::input("v", expected, v.to_string(), "leave out --v to have it drawn"));
    }
    let scale = (-0.5 * v).exp();
    let x = normals(seed, LATENT, truth.dim).iter().map(|z| scale * z).collect();
    Ok(FunnelDraw { seed, v, x })
}

impl FunnelDraw {
    /// Writes `funnel.csv` (i, x) and `truth.json`.
    pub fn write(&self, output: &OutputDir) -> Result<()> {
        output.write_with("funnel.csv", |file| {
            writeln!(file, "i,x")?;
            self.x.iter().enumerate().try_for_each(|(i, x)| writeln!(file, "{i},{x:?}"))
        })?;
        output.write_json(
            "truth.json",
            &json!({
                "model": "funnel",
                "seed": self.seed,
                "dim": self.x.len(),
                "parameters": { "v": self.v },
            }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_neck_narrows_with_v() {
        let at = |v| funnel(&FunnelTruth { dim: 10_000, v: Some(v) }, 1).unwrap();
        for v in [-2.0, 0.0, 3.0] {
            let square = at(v).x.iter().map(|x| x * x).sum::<f64>() / 1e4;
            assert!((square * f64::exp(v) - 1.0).abs() < 4.0 * (2.0f64 / 1e4).sqrt());
        }
        let free = |seed| funnel(&FunnelTruth { dim: 1, v: None }, seed).unwrap().v;
        let square = (0..2000).map(|seed| free(seed).powi(2)).sum::<f64>() / 2000.0;
        assert!((square / 9.0 - 1.0).abs() < 4.0 * (2.0f64 / 2000.0).sqrt(), "{square}");
    }

    #[test]
    fn truths_that_make_no_point_are_refused() {
        for truth in [
            FunnelTruth { dim: 0, v: None },
            FunnelTruth { dim: 5, v: Some(f64::NAN) },
            FunnelTruth { dim: 5, v: Some(-1e4) },
        ] {
            assert!(matches!(funnel(&truth, 1), Err(Error::Input { .. })), "{truth:?}");
        }
    }
}
