//! Draws maps: a value per cell in colours, with the window, the points, a scale bar and a legend.

mod canvas;
mod colours;
mod labels;

use crate::data::{Crs, Grid, Window, write_geotiff};
use crate::error::{Error, Result};
use crate::random::{Purpose, Stream};
use crate::report::Level;
use crate::report::numbers::{number, power_of_ten};
use canvas::{Anchor, BLACK, Canvas, Ink, WHITE};
use colours::ColourScale;
pub(super) use colours::ink;
use labels::scale_bar;
pub(super) use labels::{area_unit, file_unit};
use std::borrow::Cow;

/// Length of the longest side of a map, in points.
const SIDE: f64 = 560.0;
/// Space around a map: left, right (with the colour bar), top, bottom (with the scale bar).
const MARGINS: [f32; 4] = [14.0, 104.0, 52.0, 40.0];
/// The most points that are drawn as dots with a rim; more are drawn as specks.
const MOST_DOTS: usize = 1500;
/// The most points that are drawn at all; of more, a fixed random part is: beyond that they hide the map.
pub(super) const MOST_SPECKS: usize = 20_000;
/// Stream number of that part.
const PART: u32 = 0x7061_7274;
const GREY: Ink = (110, 110, 110, 255);

/// What all maps of a fit share.
#[derive(Clone, Copy, Debug)]
pub struct MapFrame<'a> {
    /// The grid.
    pub grid: &'a Grid,
    /// The region.
    pub window: &'a Window,
    /// The points; where only counts are known, the centres of cells with points.
    pub places: &'a [(f64, f64)],
}

/// How the values of a map are to be read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MapKind {
    /// Positive values per unit of area.
    Intensity,
    /// Probabilities that the intensity is above a level.
    Exceedance(Level),
}

/// One map.
#[derive(Clone, Debug)]
pub struct Map {
    /// The name of its files.
    pub name: String,
    /// What it shows.
    pub title: String,
    /// How to read it.
    pub kind: MapKind,
    /// A value per cell, row-major; not a number where there is nothing to show.
    pub values: Vec<f64>,
}

impl Map {
    /// The map as a PNG picture.
    pub fn draw(&self, frame: &MapFrame<'_>) -> Result<Vec<u8>> {
        let view = View::new(frame.grid);
        let mut canvas = Canvas::new(view.width, view.height)?;
        let crs = frame.window.crs();
        let (factor, area) = area_unit(crs);
        let (values, scale, unit): (Vec<f64>, ColourScale, String) = match &self.kind {
            MapKind::Exceedance(level) => {
                let unit = format!("probability{}", level.elsewhere(crs));
                (self.values.clone(), ColourScale::PROBABILITY, unit)
            }
            MapKind::Intensity => {
                let values: Vec<f64> = self.values.iter().map(|value| factor * value).collect();
                let scale = ColourScale::of(&values);
                (values, scale, area.to_owned())
            }
        };
        canvas.text(&self.heading(crs), (MARGINS[0], 22.0), 15.0, Anchor::Left, BLACK);
        let unit = match scale.exponent() {
            0 => unit,
            exponent => format!("{} {unit}", power_of_ten(exponent)),
        };
        canvas.text(&unit, (MARGINS[0], 40.0), 11.5, Anchor::Left, GREY);
        let rings = rings(&view, frame.window);
        canvas.clip(&rings);
        draw_cells(&mut canvas, &view, frame.grid, &values, &scale);
        canvas.clip(&[]);
        for ring in &rings {
            canvas.line(ring, 2.0, WHITE);
            canvas.line(ring, 0.9, BLACK);
        }
        draw_places(&mut canvas, &view, frame.places);
        draw_legend(&mut canvas, &view, &scale);
        draw_scale_bar(&mut canvas, &view, frame.window.crs());
        canvas.into_png()
    }

    /// What stands above it: what it shows, and the unit of its level.
    fn heading(&self, crs: Option<&Crs>) -> String {
        match &self.kind {
            MapKind::Exceedance(level) if !level.relative => {
                format!("{} {}", self.title, file_unit(crs))
            }
            _ => self.title.clone(),
        }
    }

    /// What to say of a level that says nothing, being above or below every draw everywhere; `mean` is that of the data.
    pub fn remark(&self, mean: f64, crs: Option<&Crs>) -> Option<String> {
        let MapKind::Exceedance(level) = &self.kind else { return None };
        let mut values = self.values.iter().filter(|value| value.is_finite()).peekable();
        let &&first = values.peek()?;
        let (draws, place, other) = match first {
            0.0 => ("no draw of the intensity is", "anywhere", "lower"),
            1.0 => ("every draw of the intensity is", "everywhere", "higher"),
            _ => return None,
        };
        let unit = file_unit(crs);
        values.all(|&value| value == first).then(|| {
            format!(
                "{draws} above {} {unit} {place}; the mean over the data is {} {unit}: ask for a {other} level",
                number(level.value),
                number(mean)
            )
        })
    }

    /// Takes the values of cells away that are not to be shown.
    pub(super) fn hide(&mut self, shown: &[bool]) {
        let hidden = self.values.iter_mut().zip(shown).filter(|(_, shown)| !**shown);
        hidden.for_each(|(value, _)| *value = f64::NAN);
    }

    /// The map as a GeoTIFF and as a picture, with their names in a folder of maps.
    pub fn files(&self, frame: &MapFrame<'_>) -> Result<[(String, Vec<u8>); 2]> {
        let mut raster = std::io::Cursor::new(Vec::new());
        write_geotiff(frame.grid, &self.values, frame.window.crs(), &mut raster)
            .map_err(|error| Error::Numeric(format!("cannot encode the map: {error}")))?;
        let name = |kind: &str| format!("maps/{}.{kind}", self.name);
        Ok([(name("tif"), raster.into_inner()), (name("png"), self.draw(frame)?)])
    }
}

/// Where the map lies in the picture.
struct View {
    width: f32,
    height: f32,
    origin: (f64, f64),
    /// Height of the grid in map units.
    tall: f64,
    /// Points to a map unit.
    scale: f64,
    /// Left, top, right and bottom edge in points.
    edges: [f32; 4],
}

impl View {
    fn new(grid: &Grid) -> Self {
        let (wide, tall) = grid.extent();
        let scale = SIDE / wide.max(tall);
        let [left, right, top, bottom] = MARGINS;
        // A legend needs some height and a title some width, however narrow the map.
        let (inner_width, inner_height) =
            (((scale * wide) as f32).max(240.0), ((scale * tall) as f32).max(120.0));
        let edges = [left, top, left + (scale * wide) as f32, top + (scale * tall) as f32];
        let (width, height) = (inner_width + left + right, inner_height + top + bottom);
        View { width, height, origin: grid.origin(), tall, scale, edges }
    }

    fn at(&self, (x, y): (f64, f64)) -> (f32, f32) {
        let [left, top, ..] = self.edges;
        let across = self.scale * (x - self.origin.0);
        let down = self.scale * (self.tall - (y - self.origin.1));
        (left + across as f32, top + down as f32)
    }
}

fn draw_cells(canvas: &mut Canvas, view: &View, grid: &Grid, values: &[f64], scale: &ColourScale) {
    let [left, top, right, bottom] = view.edges;
    canvas.fill_rect(left, top, right, bottom, (240, 240, 240, 255));
    for (index, &value) in values.iter().enumerate().filter(|(_, value)| value.is_finite()) {
        let (i, j) = grid.position(index);
        let (x, y) = grid.centre(i, j);
        let half = 0.5 * grid.cell();
        let ((left, bottom), (right, top)) =
            (view.at((x - half, y - half)), view.at((x + half, y + half)));
        canvas.fill_rect(left, top, right, bottom, scale.ink(value));
    }
}

/// The window's rings in the picture.
fn rings(view: &View, window: &Window) -> Vec<Vec<(f32, f32)>> {
    let rings = |polygon| {
        let polygon: &geo::Polygon<f64> = polygon;
        std::iter::once(polygon.exterior()).chain(polygon.interiors())
    };
    let line = |ring: &geo::LineString<f64>| ring.0.iter().map(|c| view.at((c.x, c.y))).collect();
    window.polygons().iter().flat_map(rings).map(line).collect()
}

fn draw_places(canvas: &mut Canvas, view: &View, places: &[(f64, f64)]) {
    let places = shown(places);
    let many = places.len() > MOST_DOTS;
    // Dots shrink as they crowd; white with a dark rim is seen on every colour of the map.
    let radius = (30.0 / (places.len().max(1) as f32).sqrt()).clamp(0.7, 2.6);
    for &place in places.iter() {
        let at = view.at(place);
        if !many {
            canvas.dot(at, radius + 0.7, (30, 30, 30, 170));
        }
        canvas.dot(at, radius, (255, 255, 255, if many { 170 } else { 235 }));
    }
}

/// All places, or a random part of them that is the same in every map.
fn shown(places: &[(f64, f64)]) -> Cow<'_, [(f64, f64)]> {
    if places.len() <= MOST_SPECKS {
        return Cow::Borrowed(places);
    }
    let mut rng = Stream::new(1, 0, PART, Purpose::Other).rng();
    let part = rand::seq::index::sample(&mut rng, places.len(), MOST_SPECKS);
    Cow::Owned(part.into_iter().map(|k| places[k]).collect())
}

fn draw_legend(canvas: &mut Canvas, view: &View, scale: &ColourScale) {
    let (left, top) = (view.width - MARGINS[1] + 22.0, MARGINS[2]);
    let length = (view.height - MARGINS[2] - MARGINS[3]).min(320.0);
    let strips = (2.0 * length) as usize;
    for k in 0..strips {
        let (from, to) = (k as f32 / strips as f32, (k + 1) as f32 / strips as f32);
        let ink = ink(1.0 - f64::from(from));
        canvas.fill_rect(left, top + from * length, left + 16.0, top + to * length, ink);
    }
    let unit = 10f64.powi(scale.exponent());
    for (share, value) in scale.marks() {
        let y = top + (1.0 - share as f32) * length;
        canvas.line(&[(left + 16.0, y), (left + 20.0, y)], 1.0, BLACK);
        let label = number(value / unit);
        canvas.text(&label, (left + 24.0, y + 4.0), 11.5, Anchor::Left, BLACK);
    }
}

fn draw_scale_bar(canvas: &mut Canvas, view: &View, crs: Option<&Crs>) {
    let [left, _, right, bottom] = view.edges;
    let (length, label) = scale_bar(f64::from(right - left) / view.scale, crs);
    let end = left + (view.scale * length) as f32;
    let y = bottom + 18.0;
    canvas.line(&[(left, y - 4.0), (left, y), (end, y), (end, y - 4.0)], 1.4, BLACK);
    canvas.text(&label, (end + 8.0, y + 2.0), 11.5, Anchor::Left, BLACK);
    if let Some(crs) = crs {
        let at = (view.width - 12.0, view.height - 10.0);
        canvas.text(&crs.to_string(), at, 10.0, Anchor::Right, GREY);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn maps_of_any_shape_are_drawn() {
        for (rows, columns) in [(2, 2), (1, 5), (5, 1), (30, 7), (200, 3)] {
            let grid = Grid::new(rows, columns, 250.0, (5e5, 4e6)).unwrap();
            let window = Window::of_grid(&grid).unwrap().with_crs(Some(Crs::Epsg(32633)));
            let mut values: Vec<f64> = (0..grid.cells()).map(|k| 1e-7 * (k + 1) as f64).collect();
            values[1] = f64::NAN;
            let places = [grid.centre(0, 0)];
            let frame = MapFrame { grid: &grid, window: &window, places: &places };
            let level = Level::parse("1e-7", 1.0).unwrap();
            for kind in [MapKind::Intensity, MapKind::Exceedance(level)] {
                let (name, title) = ("m".to_owned(), "a map".to_owned());
                let map = Map { name, title, kind, values: values.clone() };
                assert!(map.draw(&frame).unwrap().starts_with(b"\x89PNG"));
            }
        }
    }

    #[test]
    fn levels_have_their_unit_and_say_when_they_say_nothing() {
        let metric = Crs::Epsg(32633);
        let map = |text: &str, values: [f64; 3]| {
            let level = Level::parse(text, 2e-6).unwrap();
            let (name, title) = ("m".to_owned(), level.title());
            Map { name, title, kind: MapKind::Exceedance(level), values: values.to_vec() }
        };
        let some = map("0.001", [0.0, 1.0, f64::NAN]);
        assert!(some.heading(Some(&metric)).ends_with("is above 0.001 per square metre"));
        assert!(some.heading(Some(&Crs::Epsg(4326))).ends_with("0.001 per square degree"));
        assert!(some.heading(None).ends_with("0.001 per unit of area"));
        assert!(map("2x", [0.5; 3]).heading(Some(&metric)).ends_with("above 2 times its mean"));
        assert_eq!(some.remark(2e-6, Some(&metric)), None);
        let none = map("0.001", [0.0, 0.0, f64::NAN]).remark(2e-6, Some(&metric)).unwrap();
        assert!(none.starts_with("no draw of the intensity is above 0.001 per square metre"));
        assert!(none.contains("is 2 × 10⁻⁶ per square metre: ask for a lower"), "{none}");
        let all = map("0.001", [1.0, 1.0, f64::NAN]).remark(370.0, None).unwrap();
        assert!(all.starts_with("every draw") && all.contains("is 370 per unit of area"), "{all}");
        assert_eq!(map("1", [f64::NAN; 3]).remark(1.0, None), None);
    }

    #[test]
    fn of_too_many_points_a_part_is_drawn() {
        let all: Vec<(f64, f64)> = (0..3 * MOST_SPECKS).map(|k| (k as f64, 1.0)).collect();
        assert_eq!(*shown(&all[..MOST_SPECKS]), all[..MOST_SPECKS]);
        let part = shown(&all);
        assert_eq!(part.len(), MOST_SPECKS);
        assert_eq!(part, shown(&all));
        let mut places: Vec<u64> = part.iter().map(|place| place.0 as u64).collect();
        places.sort_unstable();
        places.dedup();
        assert_eq!(places.len(), MOST_SPECKS, "some are drawn twice");
        // From everywhere: a third of them in the last third, to within five standard errors of the hypergeometric law.
        let late = places.iter().filter(|&&k| k >= 2 * MOST_SPECKS as u64).count() as f64;
        let (n, error) = (MOST_SPECKS as f64, (MOST_SPECKS as f64 * 4.0 / 27.0).sqrt());
        assert!((late - n / 3.0).abs() < 5.0 * error, "{late}");
    }

    #[test]
    fn north_is_up() {
        let view = View::new(&Grid::new(10, 10, 1.0, (100.0, 200.0)).unwrap());
        let ((x0, y0), (x1, y1)) = (view.at((100.0, 200.0)), view.at((110.0, 210.0)));
        assert!(x0 < x1 && y0 > y1);
        assert_eq!((x0, y1), (view.edges[0], view.edges[1]));
    }
}
