//! Measures how much of each cell of a grid lies inside a polygon, exactly.
//!
//! Cutting a ring by a half-plane (Sutherland and Hodgman 1974) may leave edges that run to and fro along the cut, but those
//! enclose nothing: the signed area is that of the true intersection. A ring is cut into rows first and each row into its
//! cells, so that the work grows with the vertices near a row and not with vertices × cells.

use geo::{Coord, LineString, MultiPolygon};

use super::grid::Grid;

/// One coordinate of a point: which of the two a cut is made in.
type Axis = fn(&Coord<f64>) -> f64;

/// The share of each cell's area inside the polygons, row-major.
pub(super) fn inside_shares(polygons: &MultiPolygon<f64>, grid: &Grid) -> Vec<f64> {
    let mut areas = vec![0.0; grid.cells()];
    for polygon in polygons {
        add_ring(polygon.exterior(), 1.0, grid, &mut areas);
        for hole in polygon.interiors() {
            add_ring(hole, -1.0, grid, &mut areas);
        }
    }
    // Rounding leaves a few units in the last place on either side of empty and full.
    let tidy = |share: f64| match share {
        share if share < 1e-9 => 0.0,
        share if share > 1.0 - 1e-9 => 1.0,
        share => share,
    };
    areas.iter().map(|area| tidy(area / grid.cell_area())).collect()
}

fn add_ring(ring: &LineString<f64>, sign: f64, grid: &Grid, areas: &mut [f64]) {
    let (x0, y0) = grid.origin();
    // Relative to the grid's corner, or map coordinates of millions would cost the area its last digits.
    let ring: Vec<Coord<f64>> = ring.0.iter().map(|c| Coord { x: c.x - x0, y: c.y - y0 }).collect();
    let mut rest = ring;
    for i in 0..grid.rows() {
        let top = (i + 1) as f64 * grid.cell();
        let row = below(&rest, |c| c.y, top);
        rest = above(&rest, |c| c.y, top);
        let row = above(&row, |c| c.y, i as f64 * grid.cell());
        add_row(&row, sign, grid, &mut areas[i * grid.columns()..][..grid.columns()]);
        if rest.is_empty() {
            break;
        }
    }
}

fn add_row(row: &[Coord<f64>], sign: f64, grid: &Grid, areas: &mut [f64]) {
    let Some((first, last)) = extremes(row) else { return };
    let column = |x: f64| ((x / grid.cell()).floor().max(0.0) as usize).min(grid.columns() - 1);
    let mut rest = above(row, |c| c.x, column(first) as f64 * grid.cell());
    for j in column(first)..=column(last) {
        let right = (j + 1) as f64 * grid.cell();
        areas[j] += sign * area(&below(&rest, |c| c.x, right)).abs();
        rest = above(&rest, |c| c.x, right);
    }
}

fn extremes(ring: &[Coord<f64>]) -> Option<(f64, f64)> {
    let first = ring.first()?.x;
    Some(ring.iter().fold((first, first), |(low, high), c| (low.min(c.x), high.max(c.x))))
}

fn below(ring: &[Coord<f64>], axis: Axis, bound: f64) -> Vec<Coord<f64>> {
    cut(ring, axis, bound, |value| value <= bound)
}

fn above(ring: &[Coord<f64>], axis: Axis, bound: f64) -> Vec<Coord<f64>> {
    cut(ring, axis, bound, |value| value >= bound)
}

/// The part of a ring on the side that `keeps` accepts, open (the last vertex is not the first again).
fn cut(
    ring: &[Coord<f64>],
    axis: Axis,
    bound: f64,
    keeps: impl Fn(f64) -> bool,
) -> Vec<Coord<f64>> {
    let mut kept = Vec::with_capacity(ring.len() + 4);
    let Some(mut from) = ring.last() else { return kept };
    for to in ring {
        let (a, b) = (axis(from), axis(to));
        if keeps(a) != keeps(b) {
            let t = (bound - a) / (b - a);
            kept.push(Coord { x: from.x + t * (to.x - from.x), y: from.y + t * (to.y - from.y) });
        }
        if keeps(b) {
            kept.push(*to);
        }
        from = to;
    }
    kept
}

/// Signed area of an open ring.
fn area(ring: &[Coord<f64>]) -> f64 {
    let Some(origin) = ring.first() else { return 0.0 };
    let cross = |pair: &[Coord<f64>]| {
        let (a, b) = (pair[0] - *origin, pair[1] - *origin);
        a.x * b.y - a.y * b.x
    };
    0.5 * ring.windows(2).map(cross).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use geo::{Area, BooleanOps, Polygon, Rect};

    /// A star with a hole, far from the origin, whose edges cross cells at all angles.
    fn star(at: (f64, f64)) -> MultiPolygon<f64> {
        let ring = |outer: f64, inner: f64, points: usize| {
            let vertex = |k: usize| {
                let angle = std::f64::consts::PI * k as f64 / points as f64 + 0.1;
                let radius = if k.is_multiple_of(2) { outer } else { inner };
                Coord { x: at.0 + radius * angle.cos(), y: at.1 + radius * angle.sin() }
            };
            LineString::new((0..=2 * points).map(vertex).collect())
        };
        MultiPolygon::new(vec![Polygon::new(ring(5.0, 2.0, 7), vec![ring(1.5, 0.7, 5)])])
    }

    #[test]
    fn shares_are_those_of_an_independent_intersection() {
        let at = (400_000.0, 5_000_000.0);
        let (polygons, grid) =
            (star(at), Grid::new(11, 12, 0.83, (at.0 - 5.0, at.1 - 4.4)).unwrap());
        let shares = inside_shares(&polygons, &grid);
        for (index, &share) in shares.iter().enumerate() {
            let (i, j) = grid.position(index);
            let (x, y) = grid.centre(i, j);
            let half = 0.5 * grid.cell();
            let cell = Rect::new((x - half, y - half), (x + half, y + half)).to_polygon();
            let want = cell.intersection(&polygons).unsigned_area() / grid.cell_area();
            // The other algorithm snaps to a grid of about 2⁻³⁰ of the extent.
            assert!((share - want).abs() < 1e-6, "cell ({i}, {j}): {share} and {want}");
        }
        assert!(shares.contains(&1.0) && shares.contains(&0.0));
    }

    #[test]
    fn cells_outside_the_grid_are_left_out_and_inside_ones_add_up() {
        let polygons = star((0.0, 0.0));
        let grid = Grid::new(40, 40, 0.26, (-5.2, -5.2)).unwrap();
        let total: f64 = inside_shares(&polygons, &grid).iter().sum::<f64>() * grid.cell_area();
        assert!((total - polygons.unsigned_area()).abs() < 1e-6 * total);
        let small = Grid::new(2, 2, 0.2, (2.0, -0.2)).unwrap();
        assert_eq!(inside_shares(&polygons, &small).len(), 4);
        let beyond = Grid::new(2, 2, 0.2, (20.0, 20.0)).unwrap();
        assert_eq!(inside_shares(&polygons, &beyond), [0.0; 4]);
    }
}
