//! Puts numbers into one array of a Zarr hierarchy in whole chunks, compressed and with a checksum, and reads them back.

use super::{open_store, storage};
use crate::error::{Error, Result};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zarrs::array::codec::{BytesToBytesCodecTraits, CodecOptions, Crc32cCodec, GzipCodec};
use zarrs::array::{Array, ArrayBuilder, DataType, Element, ElementOwned, FillValue};
use zarrs::array_subset::ArraySubset;
use zarrs::filesystem::FilesystemStore;

/// Compression: draws are noise, of which more effort saves little.
const LEVEL: u32 = 1;
/// The most that a byte of a compressed file can stand for: deflate reaches 1032.
const MOST: u64 = 1040;
/// The most numbers an array may have, so that no product of its sides overflows.
const LARGEST: u64 = 1 << 48;

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
    root: PathBuf,
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
        Ok(Self { root: root.to_path_buf(), path, array, chunk })
    }

    /// Opens an array that was created before, of at least so many dimensions.
    pub(super) fn open(
        store: &Arc<FilesystemStore>,
        root: &Path,
        name: &str,
        rank: usize,
    ) -> Result<Self> {
        let path = root.join(name);
        let described = path.join("zarr.json");
        let array = Array::open(store.clone(), &format!("/{name}"));
        let array = array.map_err(|error| damaged(&described, &error.to_string()))?;
        let numbers = array.shape().iter().try_fold(1u64, |n, &side| n.checked_mul(side));
        if array.shape().len() < rank || numbers.is_none_or(|n| n > LARGEST) {
            return Err(damaged(&described, &format!("its shape is {:?}", array.shape())));
        }
        let origin = vec![0; array.shape().len()];
        let shape = array.chunk_shape(&origin);
        let shape = shape.map_err(|error| damaged(&described, &error.to_string()))?;
        let chunk = shape.iter().map(|length| length.get() as usize).collect();
        Ok(Self { root: root.to_path_buf(), path, array, chunk })
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

    /// Where a chunk is.
    fn place(&self, indices: &[u64]) -> PathBuf {
        indices.iter().fold(self.path.join("c"), |path, i| path.join(i.to_string()))
    }

    /// Writes a chunk and makes sure that it has reached the disk. One in which nothing differs from what stands there anyway is
    /// written too: a chunk that is not there has been lost.
    fn store<T: Number>(&self, indices: &[u64], values: &[T]) -> Result<()> {
        let mut options = CodecOptions::default();
        options.set_store_empty_chunks(true);
        // A store remembers the name of every chunk it has written, which a long run would see grow: this one is for this chunk alone.
        let array = self.array.with_storage(open_store(&self.root)?);
        let stored = array.store_chunk_elements_opt(indices, values, &options);
        stored.map_err(storage("write", &self.path))?;
        let place = self.place(indices);
        File::open(&place).and_then(|file| file.sync_all()).map_err(Error::io("write", &place))
    }

    /// The first `count` entries of a chain.
    pub(super) fn entries<T: Number>(&self, chain: usize, count: usize) -> Result<Vec<T>> {
        let mut ranges: Vec<_> = self.array.shape().iter().map(|&length| 0..length).collect();
        ranges[0] = chain as u64..chain as u64 + 1;
        ranges[1] = 0..count as u64;
        self.read(&ArraySubset::new_with_ranges(&ranges))
    }

    /// Everything.
    pub(super) fn all<T: Number>(&self) -> Result<Vec<T>> {
        self.read(&self.array.subset_all())
    }

    /// Reads a part of the array; a chunk that is missing or damaged is named.
    fn read<T: Number>(&self, subset: &ArraySubset) -> Result<Vec<T>> {
        if subset.num_elements() == 0 {
            return Ok(Vec::new());
        }
        let chunks = self.array.chunks_in_array_subset(subset);
        let chunks = chunks.map_err(storage("read", &self.path))?;
        let chunks = chunks.unwrap_or_else(|| ArraySubset::new_empty(self.chunk.len()));
        self.find_all::<T>(subset, &chunks)?;
        for indices in &chunks.indices() {
            self.verify::<T>(subset, &indices)?;
        }
        self.array.retrieve_array_subset_elements(subset).map_err(|whole| {
            for indices in &chunks.indices() {
                if let Err(error) = self.array.retrieve_chunk_elements::<T>(&indices) {
                    return damaged(&self.place(&indices), &error.to_string());
                }
            }
            damaged(&self.path, &whole.to_string())
        })
    }

    /// Reads a chunk of which only a part is wanted as a whole: only then is its checksum looked at.
    fn verify<T: Number>(&self, subset: &ArraySubset, indices: &[u64]) -> Result<()> {
        let covered = indices.iter().zip(&self.chunk).enumerate().all(|(k, (&index, &length))| {
            let start = index.saturating_mul(length as u64);
            subset.start()[k] <= start && start.saturating_add(length as u64) <= subset.end_exc()[k]
        });
        if covered {
            return Ok(());
        }
        let whole = self.array.retrieve_chunk_elements::<T>(indices);
        whole.map(drop).map_err(|error| damaged(&self.place(indices), &error.to_string()))
    }

    /// Makes sure that every chunk is there, and large enough for what it is said to hold before memory for that is asked for.
    fn find_all<T: Number>(&self, subset: &ArraySubset, chunks: &ArraySubset) -> Result<()> {
        let width = size_of::<T>() as u64;
        let chunk = self.chunk.iter().try_fold(width, |n, &side| n.checked_mul(side as u64));
        let mut found = 0u64;
        for indices in &chunks.indices() {
            let place = self.place(&indices);
            let bytes = match fs::metadata(&place) {
                Ok(metadata) => metadata.len(),
                Err(error) => return Err(damaged(&place, &error.to_string())),
            };
            let room = bytes.saturating_mul(MOST);
            if chunk.is_none_or(|chunk| chunk > room) {
                let why = format!("it has {bytes} bytes, too few for its numbers");
                return Err(damaged(&place, &why));
            }
            found = found.saturating_add(room);
        }
        if width.saturating_mul(subset.num_elements()) > found {
            let why = format!("its shape is {:?}", self.array.shape());
            return Err(damaged(&self.path.join("zarr.json"), &why));
        }
        Ok(())
    }
}

/// What to say of a file that does not hold what was written.
fn damaged(path: &Path, why: &str) -> Error {
    Error::input(
        path.display().to_string(),
        "draws as they were written",
        format!("a damaged file ({})", why.replace(['\n', '\r'], " ")),
        "`sshmc extend` makes the draws of its chains anew, with the same bits; or fit again",
    )
}
