//! Finds the torus a field needs by a short run before the chains start.
//!
//! A torus twice the window's size serves every range that the model allows, but most of it lies outside the window: latents
//! without data, which cost time and keep the coordinates from learning from the data. A field with a short range needs only a
//! margin of a few ranges. How short the range is the data say, so one chain is run for a while, and the
//! smallest is taken whose correlations in the window differ from the plane's by at most 0.001 at any range this chain
//! makes likely. The pilot has a seed and settings of its own, so that the torus depends on the model alone, not on the run.

use super::batch::Batch;
use super::member::Member;
use super::plan::Plan;
use super::run::Part;
use super::settings::Settings;
use super::state::{Keeper, Stops};
use crate::error::{Error, Result};
use crate::model::Model;
use crate::structure::{Spectral, Structure};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Grids with fewer cells are fast as they are.
const SMALLEST: usize = 64 * 64;
/// Largest difference of correlations in the window.
const TOLERANCE: f64 = 1e-3;
/// Margins that are tried, as multiples of this share of the window.
const STEP: f64 = 0.02;
/// The torus must become smaller by this factor to be worth it.
const WORTHWHILE: f64 = 0.8;
/// Number of the pilot's chain: never one of a run's.
const PILOT: u32 = u32::MAX;
/// Warm-up transitions and draws of the pilot.
const WARMUP: u32 = 100;
const DRAWS: u32 = 60;
/// Standard deviations of the log range beyond its mean that still count as likely, and the least such deviation.
const DEVIATIONS: f64 = 3.0;
const LEAST_DEVIATION: f64 = 0.05;

/// What a pilot run found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct PilotResult {
    /// Margin of the torus as a share of the window's longer side; none if the torus stays as it is.
    margin: Option<f64>,
    /// The longest range it makes likely.
    longest: f64,
    /// Latent gradients it took.
    cost: u64,
}

/// The model in the torus it needs, and the latent gradients it took to find out.
pub(super) fn settle_torus(model: &Arc<Model>, keeper: &dyn Keeper) -> Result<(Arc<Model>, u64)> {
    let Structure::Spectral(spectral) = model.structure() else { return Ok((model.clone(), 0)) };
    if spectral.torus().sites() < SMALLEST || !spectral.can_shrink() {
        return Ok((model.clone(), 0));
    }
    let result = match keeper.recall_pilot()? {
        Some(result) => result,
        None => {
            let result = pilot(model, spectral, keeper)?;
            keeper.keep_pilot(&result)?;
            result
        }
    };
    let settled = match result.margin {
        Some(margin) => Arc::new(re_embed(model, spectral.with_margin(margin), result.longest)),
        None => model.clone(),
    };
    Ok((settled, result.cost))
}

/// Runs the pilot.
fn pilot(model: &Arc<Model>, spectral: &Spectral, keeper: &dyn Keeper) -> Result<PilotResult> {
    let settings = Settings { chains: 1, warmup: WARMUP, draws: DRAWS, ..Settings::default() };
    // Half a side of margin is enough to see whether the range is short.
    let rough = Arc::new(model.embedded_in(spectral.with_margin(0.5)));
    let plan = Plan::new(&rough, &settings)?;
    let part = Part { model: &rough, progress: &(), keeper: &Stops(keeper) };
    let members = [Member::new(&plan, &[PILOT], 0, &part)];
    let records = Batch::new(&members)?.run()?;
    let [(pilots, _)] = &records[..] else { return Err(Error::Numeric("no pilot".into())) };
    let pilot = &pilots[0];
    let cost = pilot.warmup_gradients + pilot.gradients;
    let longest = likely(&pilot.parameters[1]);
    Ok(PilotResult { margin: shrink(spectral, longest), longest, cost })
}

/// The longest range the draws make likely.
fn likely(ranges: &[f64]) -> f64 {
    let count = ranges.len() as f64;
    let mean = ranges.iter().map(|r| r.ln()).sum::<f64>() / count;
    let variance = ranges.iter().map(|r| (r.ln() - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (mean + DEVIATIONS * variance.sqrt().max(LEAST_DEVIATION)).exp()
}

/// The margin of the smallest torus that is good enough up to `longest`, if it is worth it.
fn shrink(spectral: &Spectral, longest: f64) -> Option<f64> {
    let now = spectral.torus().dim() as f64;
    (1..=50)
        .map(|step| STEP * f64::from(step))
        .map(|margin| (margin, spectral.with_margin(margin)))
        .take_while(|(_, smaller)| (smaller.torus().dim() as f64) < WORTHWHILE * now)
        .find(|(_, smaller)| smaller.window_error(longest) <= TOLERANCE)
        .map(|(margin, _)| margin)
}

fn re_embed(model: &Model, smaller: Spectral, longest: f64) -> Model {
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
        let draws = [0.02, 0.03, 0.025, 0.028, 0.022];
        assert!(likely(&draws) > 0.03 && likely(&draws) < 0.1);
        let same = likely(&[0.05; 5]);
        assert!((same / 0.05 - (DEVIATIONS * LEAST_DEVIATION).exp()).abs() < 1e-12);
    }
}
