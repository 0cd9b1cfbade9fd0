//! Draws the posterior volatility of a series of returns with its band.

use super::{FieldMoments, drawing};
use crate::diagnose::normal_quantile;
use crate::error::Result;
use plotters::prelude::*;

/// Size of the figure in pixels.
const SIZE: (u32, u32) = (960, 380);
/// The most places along the time axis; beyond that steps are joined, or the file would be many megabytes.
const MOST_PLACES: usize = 1500;

/// What is shown at one place along the time axis.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Place {
    t: f64,
    low: f64,
    middle: f64,
    high: f64,
    /// The largest |y| of the steps joined there.
    size: f64,
}

/// The figure as SVG: absolute returns as dots, and the volatility β e^{x/2} with its 90 % band at a fixed β (give the
/// posterior median), x being normal with the posterior's moments.
pub fn draw_volatility(y: &[f64], field: &FieldMoments, beta: f64) -> Result<String> {
    let places = places(y, field, beta);
    let top = places.iter().flat_map(|p| [p.high, p.size]).filter(|v| v.is_finite());
    let top = 1.05 * top.fold(f64::MIN_POSITIVE, f64::max);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        root.fill(&WHITE).map_err(drawing)?;
        let title = "posterior volatility with its 90 % band; dots: absolute returns";
        root.draw_text(title, &("sans-serif", 15).into(), (60, 12)).map_err(drawing)?;
        let mut chart = ChartBuilder::on(&root)
            .margin_top(36)
            .margin_right(20)
            .x_label_area_size(30)
            .y_label_area_size(60)
            .build_cartesian_2d(1.0..y.len().max(2) as f64, 0.0..top)
            .map_err(drawing)?;
        let mut mesh = chart.configure_mesh();
        let mesh = mesh.light_line_style(TRANSPARENT).label_style(("sans-serif", 12));
        let mesh = mesh.x_label_formatter(&|t| format!("{t:.0}"));
        mesh.draw().map_err(drawing)?;
        let blue = RGBColor(44, 113, 142);
        let grey = RGBColor(120, 120, 120).mix(0.5).filled();
        let dots = places.iter().map(|p| Circle::new((p.t, p.size), 1, grey));
        chart.draw_series(dots).map_err(drawing)?;
        // A chain that got lost leaves no finite moments; the returns are still worth showing.
        let known: Vec<&Place> = places.iter().filter(|p| p.high.is_finite()).collect();
        let upper = known.iter().map(|p| (p.t, p.high));
        let lower = known.iter().rev().map(|p| (p.t, p.low));
        let band = Polygon::new(upper.chain(lower).collect::<Vec<_>>(), blue.mix(0.25));
        chart.draw_series([band]).map_err(drawing)?;
        let line = LineSeries::new(known.iter().map(|p| (p.t, p.middle)), blue.stroke_width(2));
        chart.draw_series(line).map_err(drawing)?;
        root.present().map_err(drawing)?;
    }
    Ok(svg)
}

/// Joins neighbouring steps until few enough places are left.
fn places(y: &[f64], field: &FieldMoments, beta: f64) -> Vec<Place> {
    let reach = normal_quantile(0.95);
    let block = y.len().div_ceil(MOST_PLACES).max(1);
    let blocks = y.chunks(block).zip(field.mean.chunks(block)).zip(field.sd.chunks(block));
    blocks
        .enumerate()
        .map(|(k, ((y, mean), sd))| {
            let n = y.len() as f64;
            let average = |values: &[f64]| values.iter().sum::<f64>() / n;
            let (mean, sd) = (average(mean), average(sd));
            let at = |x: f64| beta * (0.5 * x).exp();
            Place {
                t: (k * block) as f64 + 0.5 * (n + 1.0),
                low: at(mean - reach * sd),
                middle: at(mean),
                high: at(mean + reach * sd),
                size: y.iter().map(|y| y.abs()).fold(0.0, f64::max),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_series_are_joined_and_short_ones_kept() {
        let field = |n: usize| FieldMoments { mean: vec![0.0; n], sd: vec![1.0; n] };
        let short = places(&[0.5, -2.0, 1.0], &field(3), 2.0);
        assert_eq!(short.len(), 3);
        assert_eq!((short[1].t, short[1].size, short[1].middle), (2.0, 2.0, 2.0));
        assert!((short[0].high / short[0].middle - (0.5f64 * 1.6448536).exp()).abs() < 1e-6);
        assert_eq!(places(&vec![0.1; 100_000], &field(100_000), 1.0).len(), 1493);
        let svg = draw_volatility(&[0.5, -2.0, 1.0], &field(3), 2.0).unwrap();
        assert!(svg.starts_with("<svg") && svg.contains("<polyline"));
        let lost = FieldMoments { mean: vec![f64::NAN; 3], sd: vec![f64::NAN; 3] };
        assert!(draw_volatility(&[0.5, -2.0, 1.0], &lost, 2.0).is_ok());
    }
}
