//! Holds the airports of the contiguous United States: built in, so that demonstration and benchmark need no files.

/// Places, as a CSV in metres (EPSG:5070).
pub(super) const POINTS: &str = include_str!("../../data/airports/points.csv");
/// The region in which they lie, as GeoJSON.
pub(super) const WINDOW: &str = include_str!("../../data/airports/window.geojson");
/// Source and licence.
pub(super) const SOURCE: &str = include_str!("../../data/airports/README.md");
