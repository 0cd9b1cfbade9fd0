//! Estimates clustering from counts on a grid.
//!
//! Counts of a log-Gaussian Cox process with expectations m have E[y_a y_b] = m_a m_b g(lag) for two cells, and
//! E[y(y − 1)] = m² g(0) within one. The products of all pairs of cells are two transforms away.

use super::contrast::minimum_contrast;
use super::{Clustering, FEWEST_POINTS};
use crate::data::Counts;
use crate::structure::{Correlation, Torus, Transform};

/// The longest distance as a share of the shorter side, and the fewest cells that is.
const REACH: f64 = 0.25;
const LEAST_REACH: f64 = 3.0;
/// The shortest range in cells, and the longest as a share of the longer side.
const SHORTEST: f64 = 0.5;
const LONGEST: f64 = 0.5;

/// Estimates σ and range (in map units) of a field with this correlation from counts and what was expected of them if the field
/// were flat; none if points are few or look placed by chance.
pub fn count_clustering(
    counts: &Counts,
    expected: &[f64],
    correlation: Correlation,
) -> Option<Clustering> {
    if counts.total() < FEWEST_POINTS as f64 {
        return None;
    }
    let grid = counts.grid();
    let (rows, columns) = (grid.rows(), grid.columns());
    let torus = Torus::around(rows, columns);
    let seen = pairs(torus, counts.counts());
    let flat = pairs(torus, expected);
    let reach = (REACH * rows.min(columns) as f64).max(LEAST_REACH);
    // Bands one cell wide, the first of which holds the lag zero alone.
    let mut bands = vec![[0.0; 3]; reach as usize + 1];
    for (lag, (&y, &m)) in seen.iter().zip(&flat).enumerate() {
        let signed = |k: usize, p: usize| if 2 * k > p { k as f64 - p as f64 } else { k as f64 };
        let (i, j) = (signed(lag / torus.p2, torus.p1), signed(lag % torus.p2, torus.p2));
        let distance = correlation.anisotropy.distance(j, i);
        // A point makes no pair with itself.
        let y = if lag == 0 { y - counts.total() } else { y };
        let band = if lag == 0 { 0 } else { (distance.round() as usize).max(1) };
        if let Some([pairs, chance, sum]) = bands.get_mut(band) {
            *pairs += y;
            *chance += m;
            *sum += m * distance;
        }
    }
    bands.retain(|[_, chance, _]| *chance > 0.0);
    let distances: Vec<f64> = bands.iter().map(|[_, chance, sum]| sum / chance).collect();
    let g: Vec<f64> = bands.iter().map(|[pairs, chance, _]| pairs / chance).collect();
    let ranges = (SHORTEST, LONGEST * rows.max(columns) as f64);
    let found = minimum_contrast(&distances, &g, |r| correlation.kernel.correlation(r), ranges)?;
    Some(Clustering { range: found.range * grid.cell(), ..found })
}

/// Σ over cells of v(cell) v(cell + lag) for every lag, row by row over the torus.
fn pairs(torus: Torus, values: &[f64]) -> Vec<f64> {
    let Torus { rows, columns, p1, p2 } = torus;
    let whole = Torus { rows: p1, columns: p2, p1, p2 };
    let mut field = vec![0.0; whole.dim()];
    for i in 0..rows {
        field[i * p2..i * p2 + columns].copy_from_slice(&values[i * columns..(i + 1) * columns]);
    }
    let mut transform = Transform::new(whole);
    transform.analyse(&field);
    let scale = 1.0 / whole.dim() as f64;
    for x in transform.spectrum() {
        *x = (scale * x.norm_sqr()).into();
    }
    transform.synthesise(&mut field);
    field
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulate::{PatternTruth, lgcp};
    use crate::structure::{Anisotropy, Kernel};

    #[test]
    fn pairs_are_the_sums_of_products() {
        let torus = Torus::around(3, 4);
        let values: Vec<f64> = (0..12).map(|k| f64::from((7 * k + 3) % 5)).collect();
        let all = pairs(torus, &values);
        for (i, j) in [(0, 0), (1, 2), (2, 0), (0, 3)] {
            let mut want = [0.0; 2];
            for a in 0..3 - i {
                for b in 0..4 - j {
                    want[0] += values[a * 4 + b] * values[(a + i) * 4 + b + j];
                    want[1] += values[a * 4 + b + j] * values[(a + i) * 4 + b];
                }
            }
            let left = (torus.p2 - j) % torus.p2;
            assert!((all[i * torus.p2 + j] - want[0]).abs() < 1e-12);
            assert!((all[i * torus.p2 + left] - want[1]).abs() < 1e-12);
        }
    }

    #[test]
    fn sigma_and_range_of_simulated_counts_are_found_and_chance_has_none() {
        let slanting = Anisotropy::new(30.0, 2.0).unwrap();
        for (kernel, anisotropy) in [
            (Kernel::Exponential, Anisotropy::NONE),
            (Kernel::Gaussian, Anisotropy::NONE),
            (Kernel::Matern1, slanting),
        ] {
            let guess = |sigma: f64, total: f64, seed: u64| {
                let truth = PatternTruth {
                    rows: 64,
                    columns: 64,
                    sigma,
                    range: 0.06,
                    total,
                    kernel,
                    anisotropy,
                };
                let counts = lgcp(&truth, seed).unwrap().counts;
                let flat = vec![counts.total() / 4096.0; 4096];
                count_clustering(&counts, &flat, Correlation { kernel, anisotropy })
            };
            // Medians over patterns: single ones scatter by a third or more.
            let mut found: Vec<_> = (0..9).filter_map(|seed| guess(1.2, 3000.0, seed)).collect();
            assert_eq!(found.len(), 9);
            found.sort_by(|a, b| a.range.total_cmp(&b.range));
            assert!((0.035..0.1).contains(&found[4].range), "{kernel:?} {found:?}");
            found.sort_by(|a, b| a.sigma.total_cmp(&b.sigma));
            assert!((0.9..1.5).contains(&found[4].sigma), "{kernel:?} {found:?}");
            assert!(guess(0.01, 3000.0, 1).is_none());
            assert!(guess(1.2, 10.0, 1).is_none());
        }
    }
}
