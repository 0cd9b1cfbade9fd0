//! Reads points and polygons from GeoJSON.

use std::fs;
use std::path::Path;

use geo::{Coord, LineString, MultiPolygon, Polygon};
use serde_json::Value;

use super::crs::Crs;
use super::names::shown;
use crate::error::{Error, Result};

/// What a file holds.
#[derive(Debug, Default)]
pub(super) struct Geometries {
    /// Points and the members of multipoints, in order.
    pub(super) points: Vec<(f64, f64)>,
    /// Polygons and the members of multipolygons, in order.
    pub(super) polygons: Vec<Polygon<f64>>,
    /// Kinds of geometry that are neither.
    pub(super) others: Vec<String>,
    /// The reference system, if the file names one.
    pub(super) crs: Option<Crs>,
}

/// Reads a file whose top is a geometry, a feature or a collection of either.
pub(super) fn read(path: &Path) -> Result<Geometries> {
    let text = fs::read(path).map_err(Error::io("read", path))?;
    parse(&path.display().to_string(), &text)
}

/// Reads the text of such a file, which `place` gave.
pub(super) fn parse(place: &str, text: &[u8]) -> Result<Geometries> {
    let value: Value = serde_json::from_slice(text).map_err(|error| {
        Error::input(
            format!("{place}, line {}", error.line()),
            "GeoJSON",
            format!("text that is not JSON ({error})"),
            "export the layer as GeoJSON again",
        )
    })?;
    let mut found = Geometries { crs: crs(&value), ..Geometries::default() };
    Reader { place }.geometry(&value, place, &mut found)?;
    Ok(found)
}

/// Whether a path is named as GeoJSON is.
pub(super) fn is_named(path: &Path) -> bool {
    let extension = path.extension().map(|e| e.to_string_lossy().to_lowercase());
    matches!(extension.as_deref(), Some("geojson" | "json"))
}

/// A window as a GeoJSON feature.
pub(super) fn write_polygons(polygons: &MultiPolygon<f64>, crs: Option<&Crs>) -> Value {
    let ring =
        |ring: &LineString<f64>| -> Value { ring.0.iter().map(|c| vec![c.x, c.y]).collect() };
    let rings = |polygon: &Polygon<f64>| -> Value {
        std::iter::once(polygon.exterior()).chain(polygon.interiors()).map(ring).collect()
    };
    let coordinates: Value = polygons.iter().map(rings).collect();
    let geometry = serde_json::json!({"type": "MultiPolygon", "coordinates": coordinates});
    let mut value = serde_json::json!({"type": "Feature", "properties": {}, "geometry": geometry});
    if let Some(crs) = crs {
        let name = match crs {
            Crs::Epsg(code) => format!("urn:ogc:def:crs:EPSG::{code}"),
            Crs::Named(name) => name.clone(),
        };
        value["crs"] = serde_json::json!({"type": "name", "properties": {"name": name}});
    }
    value
}

/// The member `crs` of older files, which geographic information systems still write.
fn crs(value: &Value) -> Option<Crs> {
    value.get("crs")?.get("properties")?.get("name")?.as_str().map(Crs::parse)
}

struct Reader<'a> {
    place: &'a str,
}

impl Reader<'_> {
    fn geometry(&self, value: &Value, place: &str, found: &mut Geometries) -> Result<()> {
        let kind = value.get("type").and_then(Value::as_str).unwrap_or_default();
        let coordinates = value.get("coordinates").unwrap_or(&Value::Null);
        match kind {
            "FeatureCollection" => self.members(value, "features", "feature", found),
            "GeometryCollection" => self.members(value, "geometries", "geometry", found),
            "Feature" => match value.get("geometry") {
                None | Some(Value::Null) => Ok(()),
                Some(inner) => self.geometry(inner, place, found),
            },
            "Point" => {
                let point = self.position(coordinates, place)?;
                found.points.push((point.x, point.y));
                Ok(())
            }
            "MultiPoint" => {
                let points = self.positions(coordinates, place)?;
                found.points.extend(points.iter().map(|c| (c.x, c.y)));
                Ok(())
            }
            "Polygon" => {
                found.polygons.push(self.polygon(coordinates, place)?);
                Ok(())
            }
            "MultiPolygon" => {
                for polygon in self.list(coordinates, place)? {
                    found.polygons.push(self.polygon(polygon, place)?);
                }
                Ok(())
            }
            "LineString" | "MultiLineString" => {
                found.others.push(kind.to_owned());
                Ok(())
            }
            _ => Err(self.refuse(place, "a GeoJSON `type`", &shown(kind))),
        }
    }

    fn members(&self, value: &Value, key: &str, noun: &str, found: &mut Geometries) -> Result<()> {
        let members = self.list(value.get(key).unwrap_or(&Value::Null), self.place)?;
        members.iter().enumerate().try_for_each(|(index, member)| {
            let place = format!("{}, {noun} {}", self.place, index + 1);
            self.geometry(member, &place, found)
        })
    }

    fn polygon(&self, value: &Value, place: &str) -> Result<Polygon<f64>> {
        let mut rings = Vec::new();
        for ring in self.list(value, place)? {
            let positions = self.positions(ring, place)?;
            if positions.len() < 4 || positions.first() != positions.last() {
                let got = match positions.len() {
                    0..4 => format!("one of {}", positions.len()),
                    _ => "an open one".to_owned(),
                };
                return Err(self.refuse(place, "closed rings of at least 4 positions", &got));
            }
            rings.push(LineString::new(positions));
        }
        if rings.is_empty() {
            return Err(self.refuse(place, "a polygon with an outer ring", "no ring"));
        }
        let outer = rings.remove(0);
        Ok(Polygon::new(outer, rings))
    }

    fn positions(&self, value: &Value, place: &str) -> Result<Vec<Coord<f64>>> {
        self.list(value, place)?.iter().map(|position| self.position(position, place)).collect()
    }

    fn position(&self, value: &Value, place: &str) -> Result<Coord<f64>> {
        let number = |k: usize| value.get(k).and_then(Value::as_f64).filter(|v| v.is_finite());
        match (number(0), number(1)) {
            (Some(x), Some(y)) => Ok(Coord { x, y }),
            _ => Err(self.refuse(place, "a position [x, y]", &shown(&value.to_string()))),
        }
    }

    fn list<'v>(&self, value: &'v Value, place: &str) -> Result<&'v Vec<Value>> {
        value.as_array().ok_or_else(|| self.refuse(place, "a list", &shown(&value.to_string())))
    }

    fn refuse(&self, place: &str, expected: &str, got: &str) -> Error {
        Error::input(place, expected, got, "export the layer as GeoJSON again")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Geometries> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.geojson");
        fs::write(&path, text).unwrap();
        read(&path)
    }

    #[test]
    fn collections_are_flattened_and_systems_named() {
        let found = parse(
            r#"{"type":"FeatureCollection","crs":{"type":"name","properties":{"name":"EPSG:3310"}},"features":[
            {"type":"Feature","geometry":{"type":"Point","coordinates":[1,2,9]}},
            {"type":"Feature","geometry":null},
            {"type":"Feature","geometry":{"type":"MultiPoint","coordinates":[[3,4],[5,6]]}},
            {"type":"Feature","geometry":{"type":"LineString","coordinates":[[3,4],[5,6]]}},
            {"type":"Feature","geometry":{"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]}}]}"#,
        )
        .unwrap();
        assert_eq!(found.points, [(1.0, 2.0), (3.0, 4.0), (5.0, 6.0)]);
        assert_eq!((found.polygons.len(), found.others.len()), (1, 1));
        assert_eq!(found.crs, Some(Crs::Epsg(3310)));
    }

    #[test]
    fn faults_name_their_feature() {
        for (text, part) in [
            ("{\"type\":\n\"Point\",,}", "line 2: expected GeoJSON"),
            (r#"{"type":"Pont","coordinates":[1,2]}"#, "got `Pont`"),
            (
                r#"{"type":"FeatureCollection","features":[{"type":"Feature","geometry":{"type":"Point","coordinates":["a",2]}}]}"#,
                "feature 1: expected a position",
            ),
            (r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}"#, "an open one"),
            (r#"{"type":"Polygon","coordinates":[[[0,0],[1,0]]]}"#, "one of 2"),
            (r#"{"type":"Polygon","coordinates":[]}"#, "no ring"),
        ] {
            let message = parse(text).unwrap_err().to_string();
            assert!(message.contains(part), "{message}");
        }
    }
}
