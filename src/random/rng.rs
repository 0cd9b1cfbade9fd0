//! Reads a stream word after word, so that the distributions of `rand_distr` can draw from it.

use std::convert::Infallible;

use rand::TryRng;
use rand::rand_core::utils;

use super::stream::Stream;

/// A generator that yields the words of a [`Stream`] in order, starting with the first.
///
/// It implements [`rand::Rng`] by way of [`TryRng`]. Distributions that reject take a varying number of words, so give
/// each quantity drawn this way a stream of its own. The words repeat after `2^34`.
#[derive(Clone, Debug)]
pub struct StreamRng {
    stream: Stream,
    words: [u32; 4],
    /// The number of words read from the current block; the first block is not computed before it is needed.
    used: usize,
    next_block: u32,
}

impl StreamRng {
    /// Starts at the first word of a stream.
    pub(super) fn new(stream: Stream) -> Self {
        StreamRng { stream, words: [0; 4], used: 4, next_block: 0 }
    }

    #[inline]
    fn next_word(&mut self) -> u32 {
        if self.used == 4 {
            self.words = self.stream.block(self.next_block);
            self.next_block = self.next_block.wrapping_add(1);
            self.used = 0;
        }
        self.used += 1;
        self.words[self.used - 1]
    }
}

impl TryRng for StreamRng {
    type Error = Infallible;

    #[inline]
    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(self.next_word())
    }

    #[inline]
    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        utils::next_u64_via_u32(self)
    }

    #[inline]
    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        utils::fill_bytes_via_next_word(bytes, || self.try_next_u32())
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng, RngExt};
    use rand_distr::{Distribution, Gamma, Poisson, StandardNormal};

    use super::*;
    use crate::random::Purpose;

    fn rng(chain: u32) -> StreamRng {
        Stream::new(2024, chain, 0, Purpose::Other).rng()
    }

    #[test]
    fn reads_the_words_of_the_stream_in_order() {
        let stream = Stream::new(2024, 3, 5, Purpose::Data);
        let mut words = stream.rng();
        for i in 0..23 {
            assert_eq!(words.next_u32(), stream.word(i), "word {i}");
        }
        let mut pairs = stream.rng();
        let expected = u64::from(stream.word(0)) | u64::from(stream.word(1)) << 32;
        assert_eq!(pairs.next_u64(), expected);
        let mut bytes = [0; 6];
        stream.rng().fill_bytes(&mut bytes);
        assert_eq!(bytes[..4], stream.word(0).to_le_bytes());
        assert_eq!(bytes[4..], stream.word(1).to_le_bytes()[..2]);
    }

    #[test]
    fn draws_are_reproducible_and_differ_between_chains() {
        let draw = |chain| -> Vec<f64> { rng(chain).random_iter().take(50).collect() };
        assert_eq!(draw(0), draw(0));
        assert_ne!(draw(0), draw(1));
    }

    /// Whether the average of `count` draws is within five standard errors, which it fails to be once in 1.7 million.
    fn mean_agrees(
        distribution: impl Distribution<f64>,
        chain: u32,
        mean: f64,
        deviation: f64,
    ) -> bool {
        let count = 40_000;
        let total: f64 = distribution.sample_iter(rng(chain)).take(count).sum();
        (total / count as f64 - mean).abs() < 5.0 * deviation / (count as f64).sqrt()
    }

    #[test]
    fn distributions_have_their_means() {
        assert!(mean_agrees(Poisson::new(3.5).unwrap(), 0, 3.5, 3.5f64.sqrt()));
        assert!(mean_agrees(Poisson::new(60.0).unwrap(), 1, 60.0, 60.0f64.sqrt()));
        assert!(mean_agrees(Gamma::new(2.0, 1.5).unwrap(), 2, 3.0, 1.5 * 2.0f64.sqrt()));
        assert!(mean_agrees(StandardNormal, 3, 0.0, 1.0));
    }

    #[test]
    fn the_test_of_means_rejects_a_wrong_mean() {
        assert!(!mean_agrees(Poisson::new(3.6).unwrap(), 0, 3.5, 3.5f64.sqrt()));
    }
}
