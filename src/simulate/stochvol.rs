//! Draws returns with stochastic volatility.
//!
//! x_1 ~ N(0, σ²/(1−φ²)), x_{t+1} = φ x_t + N(0, σ²), y_t ~ N(0, β² e^{x_t}).

use super::{normals, positive, within};
use crate::data::{OutputDir, Returns};
use crate::error::{Error, Result};
use serde_json::json;
use std::io::Write;

/// Which random numbers are for what.
const INNOVATION: u32 = 0;
const RETURN: u32 = 1;

/// What a series is drawn from.
#[derive(Clone, Copy, Debug)]
pub struct VolatilityTruth {
    /// Number of steps.
    pub steps: usize,
    /// Persistence of the log volatility.
    pub phi: f64,
    /// Innovation standard deviation of the log volatility.
    pub sigma: f64,
    /// Standard deviation of the returns where the latent value is 0.
    pub beta: f64,
}

/// A simulated series.
#[derive(Clone, Debug)]
pub struct ReturnSeries {
    /// What it was drawn from.
    pub truth: VolatilityTruth,
    /// The seed it was drawn with.
    pub seed: u64,
    /// The latent values.
    pub x: Vec<f64>,
    /// The returns.
    pub returns: Returns,
}

/// Draws a series.
pub fn stochvol(truth: &VolatilityTruth, seed: u64) -> Result<ReturnSeries> {
    let VolatilityTruth { steps, phi, sigma, beta } = *truth;
    within("steps", steps, 2, 10_000_000)?;
    if phi.is_nan() || phi.abs() >= 1.0 {
        let remedy = "take for instance --phi 0.95";
        return Err(Error::input("phi", "a number between -1 and 1", phi.to_string(), remedy));
    }
    positive("sigma", sigma, 100.0)?;
    positive("beta", beta, 1e100)?;
    let mut x = normals(seed, INNOVATION, steps);
    let mut before = x[0] * sigma / (1.0 - phi * phi).sqrt();
    x[0] = before;
    for value in &mut x[1..] {
        before = phi * before + sigma * *value;
        *value = before;
    }
    let mut y = normals(seed, RETURN, steps);
    y.iter_mut().zip(&x).for_each(|(y, x)| *y *= beta * (0.5 * x).exp());
    Ok(ReturnSeries { truth: *truth, seed, x, returns: Returns::from_vec(y)? })
}

impl ReturnSeries {
    /// Writes `returns.csv` (t from 1, y, x_true) and `truth.json`.
    pub fn write(&self, output: &OutputDir) -> Result<()> {
        output.write_with("returns.csv", |file| {
            writeln!(file, "t,y,x_true")?;
            let rows = self.returns.y().iter().zip(&self.x).zip(1..);
            rows.into_iter().try_for_each(|((y, x), t)| writeln!(file, "{t},{y:?},{x:?}"))
        })?;
        let VolatilityTruth { steps, phi, sigma, beta } = self.truth;
        output.write_json(
            "truth.json",
            &json!({
                "model": "sv",
                "seed": self.seed,
                "steps": steps,
                "parameters": { "phi": phi, "sigma": sigma, "beta": beta },
            }),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRUTH: VolatilityTruth =
        VolatilityTruth { steps: 40_000, phi: 0.8, sigma: 0.3, beta: 2.0 };

    #[test]
    fn the_series_has_the_moments_of_its_truth() {
        let series = stochvol(&TRUTH, 1).unwrap();
        let n = TRUTH.steps as f64;
        let variance = 0.3f64.powi(2) / (1.0 - 0.8f64.powi(2));
        // Squares of an AR(1) have the correlation time (1+φ²)/(1−φ²) and a standard deviation of √2 times their mean.
        let slack = 4.0 * (2.0 * (1.0 + 0.64) / (1.0 - 0.64) / n).sqrt();
        let square = series.x.iter().map(|x| x * x).sum::<f64>() / n;
        let product = series.x.windows(2).map(|x| x[0] * x[1]).sum::<f64>() / (n - 1.0);
        assert!((square / variance - 1.0).abs() < slack, "{square}");
        assert!((product / variance - 0.8).abs() < slack, "{product}");
        let standardised = series.returns.y().iter().zip(&series.x);
        let scaled = standardised.map(|(y, x)| (y / (0.5 * x).exp()).powi(2)).sum::<f64>() / n;
        assert!((scaled / 4.0 - 1.0).abs() < 4.0 * (2.0 / n).sqrt(), "{scaled}");
    }

    #[test]
    fn truths_that_make_no_series_are_refused() {
        let wrong = [
            VolatilityTruth { steps: 1, ..TRUTH },
            VolatilityTruth { phi: 1.0, ..TRUTH },
            VolatilityTruth { phi: f64::NAN, ..TRUTH },
            VolatilityTruth { sigma: 0.0, ..TRUTH },
            VolatilityTruth { beta: -1.0, ..TRUTH },
        ];
        for truth in wrong {
            assert!(matches!(stochvol(&truth, 1), Err(Error::Input { .. })), "{truth:?}");
        }
    }
}
