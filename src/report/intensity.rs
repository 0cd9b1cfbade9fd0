//! Turns the draws of a log intensity into maps: mean, standard deviation, exceedance probabilities and quantiles.

use super::map::{Map, MapKind, area_unit};
use super::numbers::number;
use crate::data::Crs;
use crate::diagnose::quantile_of_sorted;
use crate::draws::{Exponential, FieldDraws};
use rayon::prelude::*;

/// Probabilities of the quantile maps.
const QUANTILES: [f64; 3] = [0.05, 0.5, 0.95];

/// A level of intensity: c itself, or so many times the mean intensity of the data.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// What was asked for.
    pub asked: f64,
    /// Whether that is in units of the mean intensity.
    pub relative: bool,
    /// The intensity itself.
    pub value: f64,
}

impl Level {
    /// Reads `2.5` or, for times the mean, `2x`; none if it is neither or not positive.
    pub fn parse(text: &str, mean: f64) -> Option<Self> {
        let text = text.trim();
        let (digits, relative) = match text.strip_suffix(['x', 'X', '×']) {
            Some(digits) => (digits, true),
            None => (text, false),
        };
        let asked: f64 = digits.parse().ok().filter(|c: &f64| *c > 0.0 && c.is_finite())?;
        Some(Level { asked, relative, value: if relative { asked * mean } else { asked } })
    }

    /// The name of its map's files.
    fn name(&self) -> String {
        format!("exceedance_{}{}", self.asked, if self.relative { "x" } else { "" })
    }

    /// What its map shows, without the unit.
    pub(super) fn title(&self) -> String {
        match self.relative {
            true => {
                format!("Probability that the intensity is above {} times its mean", self.asked)
            }
            // As it was asked for, unless that is long with zeros.
            false if (1e-5..1e7).contains(&self.asked) => {
                format!("Probability that the intensity is above {}", self.asked)
            }
            false => format!("Probability that the intensity is above {}", number(self.asked)),
        }
    }

    /// The level in the unit of the maps' legends, in brackets, where its title does not say that.
    pub(super) fn elsewhere(&self, crs: Option<&Crs>) -> String {
        let (factor, unit) = area_unit(crs);
        match factor != 1.0 || self.relative {
            true => format!(" (the level is {} {unit})", number(factor * self.value)),
            false => String::new(),
        }
    }
}

/// All maps of an intensity. Cells for which `shown` is false have no value.
pub fn intensity_maps(chains: &[&FieldDraws], levels: &[Level], shown: &[bool]) -> Vec<Map> {
    let mut maps = moment_maps(chains, levels);
    let all: Vec<&[f32]> = chains.iter().flat_map(|chain| chain.fields()).collect();
    maps.extend(quantile_maps(&all));
    maps.iter_mut().for_each(|map| map.hide(shown));
    maps
}

fn moment_maps(chains: &[&FieldDraws], levels: &[Level]) -> Vec<Map> {
    let pooled = Exponential::pooled(chains.iter().filter_map(|chain| chain.exponential()));
    let Some(pooled) = pooled else { return Vec::new() };
    let map = |name: &str, title: &str, values: Vec<f64>| Map {
        name: name.to_owned(),
        title: title.to_owned(),
        kind: MapKind::Intensity,
        values,
    };
    let mut maps = vec![
        map("intensity_mean", "Posterior mean of the intensity", pooled.mean().to_vec()),
        map("intensity_sd", "Posterior standard deviation of the intensity", pooled.sd()),
    ];
    maps.extend(levels.iter().zip(pooled.exceedances()).map(|(level, (_, values))| Map {
        kind: MapKind::Exceedance(*level),
        ..map(&level.name(), &level.title(), values)
    }));
    maps
}

/// The map of one exceedance from whole fields of the log intensity.
pub fn exceedance_map(fields: &[&[f32]], level: &Level, shown: &[bool]) -> Map {
    let log = level.value.ln() as f32;
    let mut above = vec![0u32; shown.len()];
    for field in fields {
        above.iter_mut().zip(*field).for_each(|(n, &x)| *n += u32::from(x > log));
    }
    let share = |n: u32| f64::from(n) / fields.len().max(1) as f64;
    let mut map = Map {
        name: level.name(),
        title: level.title(),
        kind: MapKind::Exceedance(*level),
        values: above.into_iter().map(share).collect(),
    };
    map.hide(shown);
    map
}

/// Quantiles of the intensity from whole fields of its logarithm.
fn quantile_maps(fields: &[&[f32]]) -> Vec<Map> {
    let sites = fields.first().map_or(0, |field| field.len());
    let all: Vec<[f64; QUANTILES.len()]> = (0..sites)
        .into_par_iter()
        .map_init(Vec::new, |values: &mut Vec<f64>, site| {
            values.clear();
            values.extend(fields.iter().map(|field| f64::from(field[site])));
            values.sort_unstable_by(f64::total_cmp);
            QUANTILES.map(|p| quantile_of_sorted(values, p).exp())
        })
        .collect();
    let map = |(k, p): (usize, &f64)| Map {
        name: format!("intensity_q{:02.0}", 100.0 * p),
        title: format!("Posterior {:.0} % quantile of the intensity", 100.0 * p),
        kind: MapKind::Intensity,
        values: all.iter().map(|values| values[k]).collect(),
    };
    if all.is_empty() { Vec::new() } else { QUANTILES.iter().enumerate().map(map).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::draws::FieldPlan;

    #[test]
    fn maps_agree_with_the_draws_and_hide_what_is_outside() {
        let plan = FieldPlan::new(3, 1, 101, 1 << 20).with_exponential(&[1.5, 4.0]);
        let mut draws = FieldDraws::new(&plan, 101);
        (0..101).for_each(|k| draws.record(&[(1.0 + f64::from(k)).ln(), 0.0, 9.0]));
        let levels = [Level::parse("1.5", 2.0).unwrap(), Level::parse("2x", 2.0).unwrap()];
        assert_eq!(levels[1].value, 4.0);
        let maps = intensity_maps(&[&draws], &levels, &[true, true, false]);
        let names: Vec<&str> = maps.iter().map(|map| map.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "intensity_mean",
                "intensity_sd",
                "exceedance_1.5",
                "exceedance_2x",
                "intensity_q05",
                "intensity_q50",
                "intensity_q95"
            ]
        );
        assert!((maps[0].values[0] - 51.0).abs() < 1e-10);
        assert_eq!(maps[2].values[..2], [100.0 / 101.0, 0.0]);
        // Draws are kept in single precision.
        assert!((maps[4].values[0] - 6.0).abs() < 1e-4 && (maps[6].values[0] - 96.0).abs() < 1e-3);
        assert!(maps.iter().all(|map| map.values[2].is_nan()));
        let fields: Vec<&[f32]> = draws.fields().collect();
        let again = exceedance_map(&fields, &levels[1], &[true, true, false]);
        assert_eq!(again.values[0], maps[3].values[0]);
        let metric = Crs::Epsg(3310);
        assert_eq!(levels[0].elsewhere(None), "");
        assert_eq!(levels[1].elsewhere(None), " (the level is 4 per unit of area)");
        let small = Level::parse("1e-6", 2.0).unwrap();
        assert_eq!(small.elsewhere(Some(&metric)), " (the level is 1 per square kilometre)");
        assert!(small.title().ends_with("above 10⁻⁶"), "{}", small.title());
        assert!(Level::parse("-1", 1.0).is_none() && Level::parse("x", 1.0).is_none());
    }
}
