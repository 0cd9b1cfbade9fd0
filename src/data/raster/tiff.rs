//! Reads and writes GeoTIFF: one band of numbers with the place of its pixels and its reference system.

use std::fs::File;
use std::io::{BufReader, Seek, Write};
use std::path::Path;

use tiff::decoder::{Decoder, DecodingResult};
use tiff::encoder::{Compression, TiffEncoder, colortype};
use tiff::tags::Tag;
use tiff::{TiffError, TiffResult};

use super::Raster;
use crate::data::crs::Crs;
use crate::data::grid::Grid;
use crate::error::{Error, Result};

/// Keys of the directory in which a GeoTIFF describes its coordinates.
const MODEL_TYPE: u16 = 1024;
const RASTER_TYPE: u16 = 1025;
const CITATION: u16 = 1026;
const GEOGRAPHIC: u16 = 2048;
const PROJECTED: u16 = 3072;
/// Code for what is described by other keys.
const USER_DEFINED: u16 = 32767;
/// The value of missing pixels in files that are written.
const NO_DATA: &str = "nan";

type Reader = Decoder<BufReader<File>>;

pub(super) fn read(path: &Path) -> Result<Raster> {
    let file = File::open(path).map_err(Error::io("read", path))?;
    let mut decoder = Decoder::new(BufReader::new(file)).map_err(unreadable(path))?;
    let (columns, rows) = decoder.dimensions().map_err(unreadable(path))?;
    let frame = Frame::read(&mut decoder, path)?;
    let crs = crs(&mut decoder);
    let missing: Option<f64> = decoder
        .get_tag_ascii_string(Tag::GdalNodata)
        .ok()
        .and_then(|text| text.trim_matches(['\0', ' ']).parse().ok());
    let data = decoder.read_image().map_err(unreadable(path))?;
    let mut values = numbers(data);
    let size = (rows as usize, columns as usize);
    if values.len() != size.0 * size.1 {
        let got = format!("{} numbers in {} pixels", values.len(), size.0 * size.1);
        let remedy = "extract one band, for instance with gdal_translate -b 1";
        return Err(Error::input(path.display().to_string(), "a raster of one band", got, remedy));
    }
    values.iter_mut().for_each(|v| {
        if missing == Some(*v) || !v.is_finite() {
            *v = f64::NAN;
        }
    });
    if !frame.upwards {
        values = values.chunks(size.1.max(1)).rev().flatten().copied().collect();
    }
    let low = if frame.upwards { frame.top } else { frame.top - frame.pixel.1 * size.0 as f64 };
    Raster::new(path, size, (frame.left, low), frame.pixel, values, crs)
}

fn unreadable(path: &Path) -> impl FnOnce(TiffError) -> Error + '_ {
    move |error| match error {
        TiffError::IoError(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
            Error::Io { action: "read", path: path.to_path_buf(), source }
        }
        error => Error::input(
            path.display().to_string(),
            "a GeoTIFF",
            format!("one that cannot be decoded ({})", start_of(&error.to_string())),
            "convert it with gdal_translate -of GTiff -co COMPRESS=DEFLATE",
        ),
    }
}

/// As much of a complaint as is worth reading: a decoder may repeat half the file.
fn start_of(text: &str) -> String {
    text.chars().take(160).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// Where the first row of the file begins and how large its pixels are.
struct Frame {
    left: f64,
    /// The outer edge of the file's first row.
    top: f64,
    pixel: (f64, f64),
    /// Whether rows go north, against custom.
    upwards: bool,
}

impl Frame {
    fn read(decoder: &mut Reader, path: &Path) -> Result<Self> {
        let mut doubles = |tag| decoder.get_tag_f64_vec(tag).unwrap_or_default();
        let scale = doubles(Tag::ModelPixelScaleTag);
        let tie = doubles(Tag::ModelTiepointTag);
        let matrix = doubles(Tag::ModelTransformationTag);
        // From pixel (column, row) of the file to the map: x = left + dx · column, y = top + dy · row.
        let (left, top, dx, dy) = match (&scale[..], &tie[..], &matrix[..]) {
            ([dx, dy, ..], [column, row, _, x, y, ..], _) => {
                (x - column * dx, y + row * dy, *dx, -dy)
            }
            (_, _, [dx, skew, _, x, other, dy, _, y, ..]) if *skew == 0.0 && *other == 0.0 => {
                (*x, *y, *dx, *dy)
            }
            _ => {
                return Err(Error::input(
                    path.display().to_string(),
                    "a GeoTIFF that says where its pixels are, without rotation",
                    "none or a rotated one",
                    "georeference it, for instance with gdalwarp or gdal_translate -a_ullr",
                ));
            }
        };
        // Coordinates may be those of pixel centres.
        let shift = if pixel_is_point(decoder) { 0.5 } else { 0.0 };
        Ok(Frame {
            left: left - shift * dx,
            top: top - shift * dy,
            pixel: (dx, dy.abs()),
            upwards: dy > 0.0,
        })
    }
}

/// The short value of a key, if the file has it.
fn key(decoder: &mut Reader, wanted: u16) -> Option<u16> {
    let keys = decoder.get_tag_u16_vec(Tag::GeoKeyDirectoryTag).ok()?;
    let entries = keys.get(4..)?.chunks_exact(4);
    // The second number of an entry is 0 where the value itself follows.
    entries.into_iter().find(|entry| entry[0] == wanted && entry[1] == 0).map(|entry| entry[3])
}

fn pixel_is_point(decoder: &mut Reader) -> bool {
    key(decoder, RASTER_TYPE) == Some(2)
}

fn crs(decoder: &mut Reader) -> Option<Crs> {
    let code = |code: u16| (code != 0 && code != USER_DEFINED).then(|| Crs::Epsg(code.into()));
    let projected = key(decoder, PROJECTED).and_then(code);
    match (projected, key(decoder, MODEL_TYPE)) {
        (Some(crs), _) => Some(crs),
        (None, Some(2)) => key(decoder, GEOGRAPHIC).and_then(code).or(Some(Crs::Epsg(4326))),
        _ => None,
    }
}

fn numbers(data: DecodingResult) -> Vec<f64> {
    fn widen<T: Copy + Into<f64>>(values: &[T]) -> Vec<f64> {
        values.iter().map(|&v| v.into()).collect()
    }
    match data {
        DecodingResult::U8(v) => widen(&v),
        DecodingResult::U16(v) => widen(&v),
        DecodingResult::U32(v) => widen(&v),
        DecodingResult::U64(v) => v.iter().map(|&v| v as f64).collect(),
        DecodingResult::I8(v) => widen(&v),
        DecodingResult::I16(v) => widen(&v),
        DecodingResult::I32(v) => widen(&v),
        DecodingResult::I64(v) => v.iter().map(|&v| v as f64).collect(),
        DecodingResult::F16(v) => v.iter().map(|v| v.to_f32().into()).collect(),
        DecodingResult::F32(v) => widen(&v),
        DecodingResult::F64(v) => v,
    }
}

/// Writes one value per cell of a grid, north up as is the custom; NaN marks a missing cell.
pub fn write_geotiff(
    grid: &Grid,
    values: &[f64],
    crs: Option<&Crs>,
    out: impl Write + Seek,
) -> std::io::Result<()> {
    encode(grid, values, crs, out).map_err(|error| match error {
        TiffError::IoError(error) => error,
        other => std::io::Error::other(other.to_string()),
    })
}

fn encode(
    grid: &Grid,
    values: &[f64],
    crs: Option<&Crs>,
    out: impl Write + Seek,
) -> TiffResult<()> {
    let pixels: Vec<f32> =
        values.chunks(grid.columns()).rev().flatten().map(|&v| v as f32).collect();
    let mut encoder =
        TiffEncoder::new(out)?.with_compression(Compression::Deflate(Default::default()));
    let size = (grid.columns() as u32, grid.rows() as u32);
    let mut image = encoder.new_image::<colortype::Gray32Float>(size.0, size.1)?;
    let ((x, y), (_, height)) = (grid.origin(), grid.extent());
    let tags = image.encoder();
    tags.write_tag(Tag::ModelPixelScaleTag, &[grid.cell(), grid.cell(), 0.0][..])?;
    tags.write_tag(Tag::ModelTiepointTag, &[0.0, 0.0, 0.0, x, y + height, 0.0][..])?;
    let (keys, text) = keys(crs);
    tags.write_tag(Tag::GeoKeyDirectoryTag, &keys[..])?;
    if !text.is_empty() {
        tags.write_tag(Tag::GeoAsciiParamsTag, text.as_str())?;
    }
    tags.write_tag(Tag::GdalNodata, NO_DATA)?;
    image.write_data(&pixels)
}

/// The directory of keys and the text some of them point to.
fn keys(crs: Option<&Crs>) -> (Vec<u16>, String) {
    let code = |code: u32| u16::try_from(code).unwrap_or(USER_DEFINED);
    let mut entries = vec![[RASTER_TYPE, 0, 1, 1]];
    let mut text = String::new();
    match crs {
        None => {}
        Some(crs @ Crs::Epsg(number)) if crs.is_geographic() => {
            entries.insert(0, [MODEL_TYPE, 0, 1, 2]);
            entries.push([GEOGRAPHIC, 0, 1, code(*number)]);
        }
        Some(Crs::Epsg(number)) => {
            entries.insert(0, [MODEL_TYPE, 0, 1, 1]);
            entries.push([PROJECTED, 0, 1, code(*number)]);
        }
        Some(Crs::Named(name)) => {
            // Tags hold ASCII; `|` ends a text.
            text = name.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').collect();
            text = text.replace('|', " ") + "|";
            entries.push([CITATION, Tag::GeoAsciiParamsTag.to_u16(), text.len() as u16, 0]);
        }
    }
    let head = [1, 1, 0, entries.len() as u16];
    (head.into_iter().chain(entries.into_iter().flatten()).collect(), text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn a_written_map_reads_back_with_its_place_and_system() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("m.tif");
        let grid = Grid::new(2, 3, 250.0, (-1000.0, 4e6)).unwrap();
        let values = [1.0, 2.0, f64::NAN, 4.0, 5.5, 6.0];
        for crs in [None, Some(Crs::Epsg(3310)), Some(Crs::Epsg(4326))] {
            write_geotiff(&grid, &values, crs.as_ref(), File::create(&path).unwrap()).unwrap();
            let raster = read(&path).unwrap();
            assert_eq!(raster.crs(), crs.as_ref());
            assert_eq!(raster.bounds(), ((-1000.0, 4e6), (-250.0, 4e6 + 500.0)));
            assert_eq!(raster.means(&grid)[3..], values[3..]);
            assert!(raster.means(&grid)[2].is_nan());
        }
        let named = Crs::Named("my plot".into());
        write_geotiff(&grid, &values, Some(&named), File::create(&path).unwrap()).unwrap();
        assert!(read(&path).is_ok());
    }

    #[test]
    fn what_is_no_geotiff_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("m.tif");
        fs::write(&path, "no").unwrap();
        assert!(read(&path).unwrap_err().to_string().contains("expected a GeoTIFF"));
        let mut encoder = TiffEncoder::new(File::create(&path).unwrap()).unwrap();
        encoder.write_image::<colortype::Gray8>(2, 1, &[1, 2]).unwrap();
        drop(encoder);
        assert!(read(&path).unwrap_err().to_string().contains("says where its pixels are"));
    }
}
