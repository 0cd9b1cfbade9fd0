//! Draws the tiles and the colour bar of a field in a figure of several panels.

use super::drawing;
use super::map::ink;
use crate::data::Grid;
use crate::error::Result;
use plotters::coord::Shift;
use plotters::prelude::*;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

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
    let (red, green, blue, _) = ink(share);
    RGBColor(red, green, blue)
}
