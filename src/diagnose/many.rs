//! Runs a diagnostic over the thousands of series of a field, in parallel and cache line by line.

use rayon::prelude::*;

use super::workspace::Diagnoser;

/// Series gathered together: sixteen `f32` fill a cache line of 64 bytes, so each line that holds
/// draws of a block is read once, not once per series.
const BLOCK: usize = 16;

/// Bulk effective sizes of `series` series, whose draws lie as a sampler writes them.
///
/// Each element of `chains` holds the draws of one chain, row after row, with one value per series
/// in a row. Works in parallel on the current rayon pool. All are NaN if a chain is no whole number
/// of rows or the chains differ in length.
pub fn ess_bulk_many<T>(chains: &[&[T]], series: usize) -> Vec<f64>
where
    T: Copy + Into<f64> + Send + Sync,
{
    let length = chains.first().map_or(0, |chain| chain.len());
    let even = chains.iter().all(|chain| chain.len() == length);
    if series == 0 || !length.is_multiple_of(series) || !even {
        return vec![f64::NAN; series];
    }
    let mut sizes = vec![f64::NAN; series];
    sizes.par_chunks_mut(BLOCK).enumerate().for_each_init(Block::default, |block, (index, out)| {
        block.gather(chains, series, index * BLOCK, out.len());
        block.ess_bulk(chains.len(), length / series, out);
    });
    sizes
}

/// The draws of neighbouring series, one series after the other, with a workspace for them.
#[derive(Default)]
struct Block {
    draws: Vec<f64>,
    diagnoser: Diagnoser,
}

impl Block {
    /// Turns columns `first` to `first + width` of every chain into rows.
    fn gather<T: Copy + Into<f64>>(
        &mut self,
        chains: &[&[T]],
        series: usize,
        first: usize,
        width: usize,
    ) {
        let per_series: usize = chains.iter().map(|chain| chain.len() / series).sum();
        self.draws.resize(width * per_series, 0.0);
        let rows = chains.iter().flat_map(|chain| chain.chunks_exact(series));
        for (draw, row) in rows.enumerate() {
            for (place, value) in row[first..first + width].iter().enumerate() {
                self.draws[place * per_series + draw] = (*value).into();
            }
        }
    }

    fn ess_bulk(&mut self, chains: usize, draws: usize, out: &mut [f64]) {
        for (values, size) in self.draws.chunks_exact((chains * draws).max(1)).zip(out) {
            let slices: Vec<&[f64]> = values.chunks_exact(draws.max(1)).collect();
            *size = self.diagnoser.ess_bulk(&slices);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Row-major draws of `series` series; any values do that differ between series and chains.
    fn rows(chain: usize, draws: usize, series: usize) -> Vec<f32> {
        let value = |i: usize| ((i * 7919 + chain * 104_729) % 10_007) as f32;
        (0..draws * series).map(value).collect()
    }

    #[test]
    fn each_series_is_what_it_is_alone() {
        let (draws, series) = (60, 37);
        let chains: Vec<Vec<f32>> = (0..3).map(|chain| rows(chain, draws, series)).collect();
        let slices: Vec<&[f32]> = chains.iter().map(Vec::as_slice).collect();
        let sizes = ess_bulk_many(&slices, series);
        assert_eq!(sizes.len(), series);
        for (place, size) in sizes.iter().enumerate() {
            let column = |chain: &Vec<f32>| -> Vec<f32> {
                chain.iter().skip(place).step_by(series).copied().collect()
            };
            let alone: Vec<Vec<f32>> = chains.iter().map(column).collect();
            let alone: Vec<&[f32]> = alone.iter().map(Vec::as_slice).collect();
            assert_eq!(*size, Diagnoser::new().ess_bulk(&alone), "series {place}");
        }
    }

    #[test]
    fn odd_shapes_give_nan() {
        assert!(ess_bulk_many::<f32>(&[], 0).is_empty());
        assert!(ess_bulk_many::<f32>(&[], 3).iter().all(|size| size.is_nan()));
        assert!(ess_bulk_many(&[&[1.0_f64; 7][..]], 2).iter().all(|size| size.is_nan()));
        assert!(ess_bulk_many(&[&[1.0_f64; 8][..], &[1.0; 6]], 2)[1].is_nan());
        assert!(ess_bulk_many::<f64>(&[&[], &[]], 2)[0].is_nan());
    }
}
