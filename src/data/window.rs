//! Holds the region in which points could have been seen.

use std::path::Path;

use geo::coordinate_position::{CoordPos, CoordinatePosition};
use geo::{Area, BoundingRect, Coord, LineString, MultiPolygon, Polygon, Rect, Validation};

use super::clip::inside_shares;
use super::crs::Crs;
use super::geojson::{self, Geometries};
use super::grid::Grid;
use crate::error::{Error, Result};

/// One or more polygons, with or without holes, that neither cross themselves nor overlap.
#[derive(Clone, Debug, PartialEq)]
pub struct Window {
    polygons: MultiPolygon<f64>,
    crs: Option<Crs>,
}

impl Window {
    /// Reads the polygons of a GeoJSON file, all of them together.
    pub fn read(path: &Path) -> Result<Self> {
        Self::of_geometries(&path.display().to_string(), geojson::read(path)?)
    }

    /// Reads the polygons of a GeoJSON text that `place` gave.
    pub fn from_geojson(place: &str, text: &str) -> Result<Self> {
        Self::of_geometries(place, geojson::parse(place, text.as_bytes())?)
    }

    fn of_geometries(place: &str, found: Geometries) -> Result<Self> {
        if found.polygons.is_empty() {
            let got = match (found.points.len(), found.others.first()) {
                (0, None) => "no geometry".to_owned(),
                (0, Some(kind)) => format!("a {kind}"),
                (n, _) => format!("{n} points"),
            };
            let remedy = "give the outline of the region as a polygon or multipolygon";
            return Err(Error::input(place, "a polygon", got, remedy));
        }
        Self::new(place, found.polygons, found.crs)
    }

    /// Takes polygons that `place` gave and checks them.
    pub fn new(place: &str, polygons: Vec<Polygon<f64>>, crs: Option<Crs>) -> Result<Self> {
        let remedy = "repair it, for instance with \"Fix geometries\" in QGIS or ST_MakeValid";
        for (index, polygon) in polygons.iter().enumerate() {
            polygon.check_validation().map_err(|fault| {
                let place = format!("{place}, polygon {}", index + 1);
                Error::input(
                    place,
                    "a polygon that does not cross itself",
                    fault.to_string(),
                    remedy,
                )
            })?;
        }
        let polygons = MultiPolygon::new(polygons);
        polygons.check_validation().map_err(|fault| {
            Error::input(place, "polygons that do not overlap", fault.to_string(), remedy)
        })?;
        let area = polygons.unsigned_area();
        if !(area > 0.0 && area.is_finite()) {
            let remedy = "check its coordinates";
            return Err(Error::input(place, "a region with an area", format!("{area}"), remedy));
        }
        Ok(Window { polygons, crs })
    }

    /// A polygon by the corners of its outline, in either direction, and by those of its holes.
    pub fn polygon(outline: &[(f64, f64)], holes: &[&[(f64, f64)]]) -> Result<Self> {
        let ring = |corners: &[(f64, f64)]| LineString::from(corners.to_vec());
        let holes = holes.iter().map(|hole| ring(hole)).collect();
        Self::new("window", vec![Polygon::new(ring(outline), holes)], None)
    }

    /// The rectangle between two corners.
    pub fn rectangle(low: (f64, f64), high: (f64, f64), crs: Option<Crs>) -> Result<Self> {
        Self::new("window", vec![Rect::new(low, high).to_polygon()], crs)
    }

    /// The rectangle of a grid.
    pub fn of_grid(grid: &Grid) -> Result<Self> {
        let ((x, y), (width, height)) = (grid.origin(), grid.extent());
        Self::rectangle((x, y), (x + width, y + height), None)
    }

    /// The polygons.
    pub fn polygons(&self) -> &MultiPolygon<f64> {
        &self.polygons
    }

    /// The reference system, if it is known.
    pub fn crs(&self) -> Option<&Crs> {
        self.crs.as_ref()
    }

    /// The same region with its reference system known.
    pub fn with_crs(mut self, crs: Option<Crs>) -> Self {
        self.crs = crs;
        self
    }

    /// Lower left and upper right corner of the smallest rectangle around it.
    pub fn bounds(&self) -> ((f64, f64), (f64, f64)) {
        // A window has an area and therefore a rectangle.
        let rect = self.polygons.bounding_rect().unwrap_or(Rect::new((0.0, 0.0), (0.0, 0.0)));
        (rect.min().x_y(), rect.max().x_y())
    }

    /// Its area in square map units.
    pub fn area(&self) -> f64 {
        self.polygons.unsigned_area()
    }

    /// Whether a point is inside or on the edge.
    pub fn contains(&self, (x, y): (f64, f64)) -> bool {
        self.polygons.coordinate_position(&Coord { x, y }) != CoordPos::Outside
    }

    /// The share of each cell of a grid that lies inside, row-major.
    pub fn inside_shares(&self, grid: &Grid) -> Vec<f64> {
        inside_shares(&self.polygons, grid)
    }

    /// The region as GeoJSON, which [`Window::read`] reads.
    pub fn to_geojson(&self) -> serde_json::Value {
        geojson::write_polygons(&self.polygons, self.crs.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use geo::polygon;

    #[test]
    fn crossing_and_overlapping_polygons_are_refused() {
        let bow = polygon![(x: 0.0, y: 0.0), (x: 1.0, y: 1.0), (x: 1.0, y: 0.0), (x: 0.0, y: 1.0)];
        let message = Window::new("w", vec![bow], None).unwrap_err().to_string();
        assert!(
            message.contains("w, polygon 1: expected a polygon that does not cross itself"),
            "{message}"
        );
        let square = |x: f64| Rect::new((x, 0.0), (x + 1.0, 1.0)).to_polygon();
        let message =
            Window::new("w", vec![square(0.0), square(0.5)], None).unwrap_err().to_string();
        assert!(message.contains("do not overlap"), "{message}");
        assert!(Window::new("w", vec![square(0.0), square(2.0)], None).is_ok());
    }

    #[test]
    fn holes_are_outside_and_edges_inside() {
        let outer = Rect::new((0.0, 0.0), (4.0, 4.0)).to_polygon();
        let hole = Rect::new((1.0, 1.0), (2.0, 3.0)).to_polygon();
        let ring = Polygon::new(outer.exterior().clone(), vec![hole.exterior().clone()]);
        let window = Window::new("w", vec![ring], Some(Crs::Epsg(3310))).unwrap();
        assert!(window.contains((0.5, 0.5)) && window.contains((0.0, 2.0)));
        assert!(!window.contains((1.5, 2.0)) && !window.contains((5.0, 2.0)));
        assert_eq!(window.area(), 14.0);
        assert_eq!(window.bounds(), ((0.0, 0.0), (4.0, 4.0)));
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("w.geojson");
        std::fs::write(&path, window.to_geojson().to_string()).unwrap();
        assert_eq!(Window::read(&path).unwrap(), window);
        let outline = [(0.0, 0.0), (4.0, 0.0), (4.0, 4.0), (0.0, 4.0)];
        let hole = [(1.0, 1.0), (2.0, 1.0), (2.0, 3.0), (1.0, 3.0)];
        let window = Window::polygon(&outline, &[&hole]).unwrap();
        assert!(window.contains((0.5, 0.5)) && !window.contains((1.5, 2.0)));
        assert_eq!(window.area(), 14.0);
        assert!(Window::polygon(&outline[..2], &[]).is_err());
        assert!(Window::polygon(&[(f64::NAN, 0.0), (1.0, 0.0), (1.0, 1.0)], &[]).is_err());
    }
}
