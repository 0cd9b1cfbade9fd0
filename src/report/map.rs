//! Draws a posterior field on a grid: a map of its mean with the observed points, and one of its standard deviation.

use super::{FieldMoments, drawing};
use crate::data::{Counts, Grid};
use crate::error::Result;
use plotters::coord::Shift;
use plotters::prelude::*;

/// Length of the longest side of a map, in pixels.
const SIDE: f64 = 420.0;
/// Space around a map: left, right, top, bottom. On the right is the colour bar with its labels.
const MARGINS: [f64; 4] = [50.0, 90.0, 40.0, 35.0];
/// The most cells drawn along a side; beyond that blocks of cells are averaged, or the file would be many megabytes.
const MOST_CELLS: usize = 160;
/// The most occupied cells that are marked by dots; more would hide the map.
const MOST_DOTS: usize = 4000;
/// Colours of the bar, from low to high: nine of the colour map viridis (Smith and van der Walt 2015), which is evenly
/// spaced in lightness and safe for the colour-blind.
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

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// The figure as SVG: posterior mean of the log intensity, with a dot in every cell that has points (its area grows with
/// their number), and its posterior standard deviation.
pub fn draw_map(counts: &Counts, field: &FieldMoments) -> Result<String> {
    let grid = counts.grid();
    let (width, height) = panel_size(grid);
    let mut svg = String::new();
    {
        let root = SVGBackend::with_string(&mut svg, (2 * width, height)).into_drawing_area();
        root.fill(&WHITE).map_err(drawing)?;
        let (left, right) = root.split_horizontally(width);
        draw_panel(&left, grid, &field.mean, "posterior mean of the log intensity", counts)?;
        draw_panel(&right, grid, &field.sd, "its posterior standard deviation", counts)?;
        root.present().map_err(drawing)?;
    }
    Ok(svg)
}

fn panel_size(grid: &Grid) -> (u32, u32) {
    let (width, height) = grid.extent();
    let scale = SIDE / width.max(height);
    let [left, right, top, bottom] = MARGINS;
    // A grid of one row is still given a strip to be seen.
    let pixels = |length: f64| (scale * length).max(20.0);
    ((pixels(width) + left + right) as u32, (pixels(height) + top + bottom) as u32)
}

fn draw_panel(
    area: &Area<'_>,
    grid: &Grid,
    values: &[f64],
    title: &str,
    counts: &Counts,
) -> Result<()> {
    let (width, height) = grid.extent();
    let limits = limits(values);
    let ink = ("sans-serif", 15).into_font();
    area.draw_text(title, &ink.into(), (MARGINS[0] as i32, 14)).map_err(drawing)?;
    let mut chart = ChartBuilder::on(area)
        .margin_top(MARGINS[2] as u32)
        .margin_right(MARGINS[1] as u32)
        .x_label_area_size(MARGINS[3] as u32)
        .y_label_area_size(MARGINS[0] as u32)
        .build_cartesian_2d(0.0..width, 0.0..height)
        .map_err(drawing)?;
    chart
        .configure_mesh()
        .disable_mesh()
        .x_labels(5)
        .y_labels(5)
        .label_style(("sans-serif", 12))
        .draw()
        .map_err(drawing)?;
    let block = grid.rows().max(grid.columns()).div_ceil(MOST_CELLS);
    let tiles = tiles(grid, values, block)
        .into_iter()
        .map(|(corners, value)| Rectangle::new(corners, colour(share(value, limits)).filled()));
    chart.draw_series(tiles).map_err(drawing)?;
    chart.draw_series(dots(counts)).map_err(drawing)?;
    draw_bar(area, limits, MARGINS.map(|m| m as i32))
}

/// Two corners of each tile and the mean of the cells in it.
pub(super) fn tiles(grid: &Grid, values: &[f64], block: usize) -> Vec<([(f64, f64); 2], f64)> {
    let mut tiles = Vec::new();
    for top in (0..grid.rows()).step_by(block) {
        for left in (0..grid.columns()).step_by(block) {
            let (bottom, right) =
                ((top + block).min(grid.rows()), (left + block).min(grid.columns()));
            let rows = (top..bottom).map(|i| &values[i * grid.columns()..][left..right]);
            let sum: f64 = rows.flatten().sum();
            let mean = sum / ((bottom - top) * (right - left)) as f64;
            let corner = |i: usize, j: usize| (j as f64 * grid.cell(), i as f64 * grid.cell());
            tiles.push(([corner(top, left), corner(bottom, right)], mean));
        }
    }
    tiles
}

/// A dot in every cell with points, as large as fits for the fullest cell; none if there would be too many.
fn dots(counts: &Counts) -> Vec<Circle<(f64, f64), i32>> {
    let grid = counts.grid();
    let occupied: Vec<usize> = (0..grid.cells()).filter(|&c| counts.counts()[c] > 0.0).collect();
    if occupied.len() > MOST_DOTS {
        return Vec::new();
    }
    let fullest = occupied.iter().map(|&c| counts.counts()[c]).fold(1.0, f64::max);
    let cell = SIDE / grid.rows().max(grid.columns()) as f64;
    let radius = |y: f64| (0.45 * cell * (y / fullest).sqrt()).clamp(1.0, 12.0).round() as i32;
    // White with a dark rim is seen on every colour of the map.
    let dot = |&c: &usize| {
        let (i, j) = grid.position(c);
        let centre = ((j as f64 + 0.5) * grid.cell(), (i as f64 + 0.5) * grid.cell());
        let radius = radius(counts.counts()[c]);
        let rim = Circle::new(centre, radius + 1, BLACK.mix(0.6).filled());
        [rim, Circle::new(centre, radius, WHITE.filled())]
    };
    occupied.iter().flat_map(dot).collect()
}

/// The colour bar with its labels, in the right of the given margins.
pub(super) fn draw_bar(
    area: &Area<'_>,
    (low, high): (f64, f64),
    [_, right, top, bottom]: [i32; 4],
) -> Result<()> {
    let (width, height) = area.dim_in_pixel();
    let x = width as i32 - right + 14;
    let (top, bottom) = (top, height as i32 - bottom);
    for y in top..bottom {
        let share = f64::from(bottom - 1 - y) / f64::from((bottom - top - 1).max(1));
        let line = Rectangle::new([(x, y), (x + 16, y + 1)], colour(share).filled());
        area.draw(&line).map_err(drawing)?;
    }
    let marks = if bottom - top < 80 { 1 } else { 4 };
    for k in 0..=marks {
        let share = f64::from(k) / f64::from(marks);
        let y = bottom - 1 - (share * f64::from(bottom - top - 1)) as i32;
        let label = format!("{:.2}", low + share * (high - low));
        area.draw_text(&label, &("sans-serif", 12).into(), (x + 22, y - 6)).map_err(drawing)?;
    }
    Ok(())
}

/// Smallest and largest value, apart even if all are equal.
pub(super) fn limits(values: &[f64]) -> (f64, f64) {
    let finite = values.iter().copied().filter(|v| v.is_finite());
    let (low, high) =
        finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    match high - low {
        range if range > 0.0 => (low, high),
        0.0 => (low - 0.5, high + 0.5),
        _ => (0.0, 1.0),
    }
}

/// Where a value lies between the limits.
pub(super) fn share(value: f64, (low, high): (f64, f64)) -> f64 {
    ((value - low) / (high - low)).clamp(0.0, 1.0)
}

/// The colour of a share between 0 and 1; grey for what is not a number.
pub(super) fn colour(share: f64) -> RGBColor {
    if share.is_nan() {
        return RGBColor(200, 200, 200);
    }
    let position = share.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let below = (position as usize).min(VIRIDIS.len() - 2);
    let (a, b) = (VIRIDIS[below], VIRIDIS[below + 1]);
    let mix = |a: u8, b: u8| {
        let (a, b) = (f64::from(a), f64::from(b));
        (a + (position - below as f64) * (b - a)).round() as u8
    };
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_run_from_end_to_end_and_ignore_nonsense() {
        assert_eq!(colour(0.0), RGBColor(68, 1, 84));
        assert_eq!(colour(1.0), RGBColor(253, 231, 37));
        assert_eq!(colour(7.0), colour(1.0));
        assert_eq!(colour(f64::NAN), RGBColor(200, 200, 200));
        assert_eq!(limits(&[2.0, f64::NAN, 2.0]), (1.5, 2.5));
        assert_eq!(limits(&[]), (0.0, 1.0));
    }

    #[test]
    fn blocks_average_their_cells() {
        let grid = Grid::unit(3, 2).unwrap();
        let tiles = tiles(&grid, &[1.0, 2.0, 3.0, 4.0, 10.0, 20.0], 2);
        let means: Vec<f64> = tiles.iter().map(|tile| tile.1).collect();
        assert_eq!(means, [2.5, 15.0]);
        assert_eq!(tiles[1].0[1], (2.0 / 3.0, 1.0));
    }

    #[test]
    fn maps_of_any_shape_are_drawn() {
        for (rows, columns) in [(2, 2), (1, 5), (5, 1), (30, 7), (200, 3)] {
            let mut y = vec![0.0; rows * columns];
            y[1] = 3.0;
            let counts = Counts::from_vec(rows, columns, y.clone()).unwrap();
            let field = FieldMoments { mean: y, sd: vec![0.5; rows * columns] };
            let svg = draw_map(&counts, &field).unwrap();
            assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
            assert!(svg.contains("<circle"));
        }
    }
}
