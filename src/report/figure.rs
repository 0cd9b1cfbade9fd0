//! Draws figures of several panels side by side: curves, histograms and maps, as SVG.

use super::drawing;
use super::tiles::{colour, limits, share, tiles};
use crate::data::Grid;
use crate::error::Result;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Size of a panel in pixels.
const PANEL: (u32, u32) = (360, 300);
/// Colours of the series, apart in lightness too.
const COLOURS: [RGBColor; 5] = [
    RGBColor(33, 102, 172),
    RGBColor(214, 96, 77),
    RGBColor(27, 120, 55),
    RGBColor(117, 112, 179),
    RGBColor(80, 80, 80),
];

/// One curve with its name.
#[derive(Clone, Debug)]
pub struct Curve {
    /// What the legend calls it; empty for none.
    pub name: String,
    /// Which of the colours it has; panels that belong together use the same for the same thing.
    pub colour: usize,
    /// Its points in order.
    pub points: Vec<(f64, f64)>,
}

/// One panel.
#[derive(Clone, Debug)]
pub enum Panel {
    /// Curves over labelled axes.
    Curves {
        /// What stands above.
        title: String,
        /// Labels of the two axes.
        axes: [String; 2],
        /// The curves.
        curves: Vec<Curve>,
    },
    /// A map.
    Map {
        /// What stands above.
        title: String,
        /// The cells.
        grid: Grid,
        /// Their values, row-major.
        values: Vec<f64>,
        /// Values at the ends of the colour scale; panels that are compared share them.
        limits: (f64, f64),
    },
}

/// The outline of the normalised histogram of each sample, with cells all samples share.
pub fn histograms(samples: &[(String, &[f64])], cells: usize) -> Vec<Curve> {
    let mut all: Vec<f64> =
        samples.iter().flat_map(|(_, s)| s.iter().copied()).filter(|x| x.is_finite()).collect();
    all.sort_by(f64::total_cmp);
    let at = |p: f64| all[((all.len() - 1) as f64 * p) as usize];
    // A few stray draws must not squeeze the rest into one cell.
    let (low, high) = if all.is_empty() { (0.0, 1.0) } else { limits(&[at(0.001), at(0.999)]) };
    let width = (high - low) / cells as f64;
    let outline = |values: &[f64]| {
        let mut counts = vec![0.0; cells];
        for value in values {
            let cell = ((value - low) / width).floor();
            if cell >= 0.0 && cell < cells as f64 {
                counts[cell as usize] += 1.0 / (values.len() as f64 * width);
            }
        }
        let corners = counts
            .iter()
            .enumerate()
            .flat_map(|(k, &c)| [(low + k as f64 * width, c), (low + (k + 1) as f64 * width, c)]);
        std::iter::once((low, 0.0)).chain(corners).chain([(high, 0.0)]).collect()
    };
    let curve = |(k, (name, values)): (usize, &(String, &[f64]))| Curve {
        name: name.clone(),
        colour: k,
        points: outline(values),
    };
    samples.iter().enumerate().map(curve).collect()
}

/// Smallest and largest value of several maps together.
pub fn common_limits(maps: &[&[f64]]) -> (f64, f64) {
    limits(&maps.concat())
}

/// The figure as SVG, its panels in one row.
pub fn draw_figure(panels: &[Panel]) -> Result<String> {
    draw_figure_in_rows(panels, panels.len())
}

/// The figure as SVG, with so many panels in a row.
pub fn draw_figure_in_rows(panels: &[Panel], columns: usize) -> Result<String> {
    let columns = columns.max(1);
    let rows = panels.len().div_ceil(columns).max(1);
    let mut svg = String::new();
    {
        let size = (PANEL.0 * columns as u32, PANEL.1 * rows as u32);
        let root = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        root.fill(&WHITE).map_err(drawing)?;
        for (area, panel) in root.split_evenly((rows, columns)).iter().zip(panels) {
            match panel {
                Panel::Curves { title, axes, curves } => draw_curves(area, title, axes, curves)?,
                Panel::Map { title, grid, values, limits } => {
                    draw_map(area, title, grid, values, *limits)?;
                }
            }
        }
        root.present().map_err(drawing)?;
    }
    Ok(svg)
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

fn draw_title(area: &Area<'_>, title: &str) -> Result<()> {
    area.draw_text(title, &("sans-serif", 14).into(), (58, 8)).map_err(drawing)
}

/// Limits of an axis with a little air.
fn span(values: impl Iterator<Item = f64>) -> std::ops::Range<f64> {
    let (low, high) = limits(&values.collect::<Vec<_>>());
    let air = 0.04 * (high - low);
    low - air..high + air
}

fn draw_curves(area: &Area<'_>, title: &str, axes: &[String; 2], curves: &[Curve]) -> Result<()> {
    draw_title(area, title)?;
    let points = || curves.iter().flat_map(|c| c.points.iter());
    let mut chart = ChartBuilder::on(area)
        .margin_top(46)
        .margin_right(14)
        .x_label_area_size(44)
        .y_label_area_size(62)
        .build_cartesian_2d(span(points().map(|p| p.0)), span(points().map(|p| p.1)))
        .map_err(drawing)?;
    let mut mesh = chart.configure_mesh();
    mesh.light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.1))
        .x_labels(6)
        .y_labels(6)
        .x_desc(axes[0].as_str())
        .y_desc(axes[1].as_str())
        .axis_desc_style(("sans-serif", 13))
        .label_style(("sans-serif", 11))
        .draw()
        .map_err(drawing)?;
    for (k, curve) in curves.iter().enumerate() {
        let ink = COLOURS[curve.colour % COLOURS.len()];
        let finite = curve.points.iter().copied().filter(|p| p.0.is_finite() && p.1.is_finite());
        chart.draw_series(LineSeries::new(finite, ink.stroke_width(2))).map_err(drawing)?;
        if !curve.name.is_empty() {
            // The legend stands in a row between title and plot.
            let (x, y) = (80 + 95 * k as i32, 26);
            let line = PathElement::new(vec![(x - 20, y + 6), (x - 4, y + 6)], ink.stroke_width(3));
            area.draw(&line).map_err(drawing)?;
            area.draw_text(&curve.name, &("sans-serif", 11).into(), (x, y)).map_err(drawing)?;
        }
    }
    Ok(())
}

fn draw_map(
    area: &Area<'_>,
    title: &str,
    grid: &Grid,
    values: &[f64],
    limits: (f64, f64),
) -> Result<()> {
    draw_title(area, title)?;
    let (width, height) = grid.extent();
    let mut chart = ChartBuilder::on(area)
        .margin_top(46)
        .margin_right(70)
        .x_label_area_size(34)
        .y_label_area_size(58)
        .build_cartesian_2d(0.0..width, 0.0..height)
        .map_err(drawing)?;
    let mut mesh = chart.configure_mesh();
    mesh.disable_mesh().x_labels(5).y_labels(5).label_style(("sans-serif", 11));
    mesh.draw().map_err(drawing)?;
    let cells = tiles(grid, values, 1)
        .into_iter()
        .map(|(corners, value)| Rectangle::new(corners, colour(share(value, limits)).filled()));
    chart.draw_series(cells).map_err(drawing)?;
    super::tiles::draw_bar(area, limits, [58, 70, 46, 34])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn histograms_enclose_the_area_one_and_share_their_cells() {
        let a: Vec<f64> = (0..1000).map(|i| f64::from(i) / 1000.0).collect();
        let b: Vec<f64> = a.iter().map(|x| 0.5 + 0.2 * x).collect();
        let curves = histograms(&[("a".into(), &a), ("b".into(), &b)], 20);
        for curve in &curves {
            let area: f64 = curve.points.windows(2).map(|w| (w[1].0 - w[0].0) * w[1].1).sum();
            assert!((area - 1.0).abs() < 0.01, "{area}");
        }
        assert_eq!(curves[0].points.len(), curves[1].points.len());
        assert!(curves[0].points.iter().zip(&curves[1].points).all(|(a, b)| a.0 == b.0));
    }

    #[test]
    fn figures_of_all_panels_are_drawn_even_of_nothing() {
        let grid = Grid::unit(2, 3).unwrap();
        let map = Panel::Map {
            title: "map".into(),
            grid,
            values: vec![0.0, 1.0, 2.0, 3.0, 4.0, f64::NAN],
            limits: common_limits(&[&[0.0, 4.0], &[-1.0]]),
        };
        let curves = Panel::Curves {
            title: "curves".into(),
            axes: ["v".into(), "density".into()],
            curves: histograms(&[("none".into(), &[]), ("one".into(), &[1.0])], 5),
        };
        let svg = draw_figure(&[map, curves]).unwrap();
        for part in ["<svg", "curves", "density", "none", "</svg>"] {
            assert!(svg.contains(part), "{part}");
        }
        assert!(draw_figure(&[]).is_ok());
        let rows = draw_figure_in_rows(
            &vec![Panel::Curves { title: "t".into(), axes: Default::default(), curves: vec![] }; 5],
            2,
        );
        assert!(rows.unwrap().contains("width=\"720\" height=\"900\""));
    }
}
