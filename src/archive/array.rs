//! Puts numbers into one array of a Zarr hierarchy in whole chunks, compressed and with a checksum, and reads them back.

use super::storage;
use crate::error::{Error, Result};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zarrs::array::codec::{BytesToBytesCodecTraits, Crc32cCodec, GzipCodec};
use zarrs::array::{Array, ArrayBuilder, DataType, Element, ElementOwned, FillValue};
use zarrs::array_subset::ArraySubset;
use zarrs::filesystem::FilesystemStore;

/// Compression: draws are noise, of which more effort saves little.
const LEVEL: u32 = 1;

/// A kind of number that is stored.
pub(super) trait Number: Element + ElementOwned + Copy + Into<FillValue> {
    /// Its name in Zarr.
    const KIND: DataType;
    /// What stands where nothing was written.
    const NOTHING: Self;
}

macro_rules! number {
    ($type:ty, $kind:expr, $nothing:expr) => {
        impl Number for $type {
            const KIND: DataType = $kind;
            const NOTHING: Self = $nothing;
        }
    };
}
number!(f64, DataType::Float64, f64::NAN);
number!(f32, DataType::Float32, f32::NAN);
number!(i64, DataType::Int64, 0);
number!(u32, DataType::UInt32, 0);
number!(bool, DataType::Bool, false);

/// A dimension: its name, its length, and how much of it is in a chunk.
#[derive(Clone, Debug)]
pub(super) struct Dimension {
    pub(super) name: String,
    pub(super) length: usize,
    pub(super) chunk: usize,
}

impl Dimension {
    /// All in one chunk.
    pub(super) fn whole(name: &str, length: usize) -> Self {
        Self { name: name.to_owned(), length, chunk: length.max(1) }
    }
}

/// An array on disk.
pub(super) struct Stored {
    path: PathBuf,
    array: Array<FilesystemStore>,
    chunk: Vec<usize>,
}

impl Stored {
    /// Writes down what the array is, or writes it anew for another length. Chunks that are there stay.
    pub(super) fn create<T: Number>(
        store: &Arc<FilesystemStore>,
        root: &Path,
        name: &str,
        dimensions: &[Dimension],
    ) -> Result<Self> {
        let path = root.join(name);
        let shape: Vec<u64> = dimensions.iter().map(|d| d.length as u64).collect();
        let chunk: Vec<usize> = dimensions.iter().map(|d| d.chunk).collect();
        let gzip = GzipCodec::new(LEVEL).map_err(storage("describe", &path))?;
        let codecs: Vec<Arc<dyn BytesToBytesCodecTraits>> =
            vec![Arc::new(gzip), Arc::new(Crc32cCodec::new())];
        let grid: Vec<u64> = chunk.iter().map(|&c| c as u64).collect();
        let array = ArrayBuilder::new(shape, grid, T::KIND, T::NOTHING.into())
            .bytes_to_bytes_codecs(codecs)
            .dimension_names(Some(dimensions.iter().map(|d| d.name.as_str())))
            .build(store.clone(), &format!("/{name}"))
            .map_err(storage("describe", &path))?;
        array.store_metadata().map_err(storage("write", &path))?;
        Ok(Self { path, array, chunk })
    }

    /// Opens an array that was created before.
    pub(super) fn open(store: &Arc<FilesystemStore>, root: &Path, name: &str) -> Result<Self> {
        let path = root.join(name);
        let array = Array::open(store.clone(), &format!("/{name}"));
        let array = array.map_err(storage("read", &path))?;
        let origin = vec![0; array.shape().len()];
        let shape = array.chunk_shape(&origin).map_err(storage("read", &path))?;
        let chunk = shape.iter().map(|length| length.get() as usize).collect();
        Ok(Self { path, array, chunk })
    }

    pub(super) fn shape(&self) -> Vec<usize> {
        self.array.shape().iter().map(|&length| length as usize).collect()
    }

    /// Writes all of a small array.
    pub(super) fn fill<T: Number>(&self, values: &[T]) -> Result<()> {
        self.store(&vec![0; self.chunk.len()], values)
    }

    /// Writes one chain's `values`, entry after entry along the second dimension, from entry `from` on: whole chunks only, and the
    /// incomplete last one too if there will be no more. Says how many entries are in whole chunks.
    pub(super) fn append<T: Number>(
        &self,
        chain: usize,
        from: usize,
        values: &[T],
        last: bool,
    ) -> Result<usize> {
        let width: usize = self.chunk[2..].iter().product();
        let (length, total) = (self.chunk[1], values.len() / width.max(1));
        let mut at = from - from % length;
        let mut indices = vec![0; self.chunk.len()];
        indices[0] = chain as u64;
        while at < total {
            indices[1] = (at / length) as u64;
            let end = total.min(at + length);
            let values = &values[at * width..end * width];
            if end - at == length {
                self.store(&indices, values)?;
            } else {
                if last {
                    let mut padded = values.to_vec();
                    padded.resize(length * width, T::NOTHING);
                    self.store(&indices, &padded)?;
                }
                break;
            }
            at = end;
        }
        Ok(at)
    }

    /// Writes a chunk and makes sure that it has reached the disk.
    fn store<T: Number>(&self, indices: &[u64], values: &[T]) -> Result<()> {
        let stored = self.array.store_chunk_elements(indices, values);
        stored.map_err(storage("write", &self.path))?;
        let place = indices.iter().fold(self.path.join("c"), |path, i| path.join(i.to_string()));
        match File::open(&place).and_then(|file| file.sync_all()) {
            // A chunk in which nothing differs from what stands there anyway is not stored.
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(Error::io("write", &place)(error))
            }
            _ => Ok(()),
        }
    }

    /// The first `count` entries of a chain.
    pub(super) fn entries<T: Number>(&self, chain: usize, count: usize) -> Result<Vec<T>> {
        let mut ranges: Vec<_> = self.array.shape().iter().map(|&length| 0..length).collect();
        ranges[0] = chain as u64..chain as u64 + 1;
        ranges[1] = 0..count as u64;
        let subset = ArraySubset::new_with_ranges(&ranges);
        self.array.retrieve_array_subset_elements(&subset).map_err(storage("read", &self.path))
    }

    /// Everything.
    pub(super) fn all<T: Number>(&self) -> Result<Vec<T>> {
        let subset = self.array.subset_all();
        self.array.retrieve_array_subset_elements(&subset).map_err(storage("read", &self.path))
    }
}
