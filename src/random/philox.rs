//! Computes Philox4x32-10, a bijection of 128-bit counters that looks random for every key.
//!
//! One round, on words of 32 bits, with products split into a high and a low half:
//!
//! ```text
//! (c0, c1, c2, c3)  ->  (high(M1 c2) ^ c1 ^ k0,  low(M1 c2),  high(M0 c0) ^ c3 ^ k1,  low(M0 c0))
//! (k0, k1)          ->  (k0 + W0, k1 + W1)
//! ```
//!
//! Reference: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

const M0: u64 = 0xD251_1F53;
const M1: u64 = 0xCD9E_8D57;
/// The golden ratio, in units of `2^-32`.
const W0: u32 = 0x9E37_79B9;
/// The square root of three less one, in units of `2^-32`.
const W1: u32 = 0xBB67_AE85;
const ROUNDS: usize = 10;
const LOW: u64 = 0xFFFF_FFFF;

/// Returns the four random words of one counter under one key.
#[inline]
pub fn philox4x32_10(counter: [u32; 4], key: [u32; 2]) -> [u32; 4] {
    wide(counter.map(u64::from), key).map(|word| word as u32)
}

/// Does the same with each word in the low half of 64 bits, where vector units multiply 32-bit words; a loop over
/// counters becomes vector code.
#[inline(always)]
pub(crate) fn wide(counter: [u64; 4], key: [u32; 2]) -> [u64; 4] {
    let [mut c0, mut c1, mut c2, mut c3] = counter;
    let [mut k0, mut k1] = key;
    for _ in 0..ROUNDS {
        let product0 = M0 * (c0 & LOW);
        let product1 = M1 * (c2 & LOW);
        (c0, c1, c2, c3) = (
            (product1 >> 32) ^ c1 ^ u64::from(k0),
            product1 & LOW,
            (product0 >> 32) ^ c3 ^ u64::from(k1),
            product0 & LOW,
        );
        k0 = k0.wrapping_add(W0);
        k1 = k1.wrapping_add(W1);
    }
    [c0, c1, c2, c3]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agrees_with_the_published_answers() {
        // The file kat_vectors of the authors' library Random123.
        let cases = [
            ([0; 4], [0; 2], [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]),
            ([u32::MAX; 4], [u32::MAX; 2], [0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd]),
            (
                [0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344],
                [0xa4093822, 0x299f31d0],
                [0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1],
            ),
        ];
        for (counter, key, answer) in cases {
            assert_eq!(philox4x32_10(counter, key), answer, "counter {counter:x?}, key {key:x?}");
        }
    }

    #[test]
    fn one_flipped_bit_of_counter_or_key_changes_half_of_the_output() {
        let (counter, key) = ([7, 1, 12, 3], [99, 5]);
        let base = philox4x32_10(counter, key);
        for bit in 0..192 {
            let (mut c, mut k) = (counter, key);
            let word = bit / 32;
            if word < 4 {
                c[word] ^= 1 << (bit % 32);
            } else {
                k[word - 4] ^= 1 << (bit % 32);
            }
            let other = philox4x32_10(c, k);
            let changed: u32 = (0..4).map(|i| (base[i] ^ other[i]).count_ones()).sum();
            // Binomial(128, 1/2) has standard deviation 5.7; five of them, for 192 bits, alarm falsely in 1e-4 of
            // choices of counter and key, and this choice is fixed.
            assert!((36..=92).contains(&changed), "bit {bit} changed {changed} of 128 bits");
        }
    }
}
