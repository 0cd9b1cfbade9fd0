//! Chooses how many modes are in the block and how many directions in the band, for the most effective draws a second.
//!
//! A trajectory takes about 2.9 + 1.26 √(1 + λ) steps, λ being the largest eigenvalue of s W s that block and band leave: how much more the data
//! say than the prior about the stiffest direction that is left to itself. A gradient takes about
//!
//!   0.8 n log₂ n + 0.85 m² + 0.9 M r + 0.6 m r  nanoseconds
//!
//! for n latents, m modes in the block and r directions over M modes in the band. All of these were measured (docs/TUNING.md); they are written
//! down instead of being measured anew so that a fit has the same bits every time.

use super::lanczos;
use super::surrogate::{Fitted, Surrogate};

/// How much of a field is in the block, and in the band.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct BlockSizes {
    /// Modes of the block.
    pub block: usize,
    /// Modes of the band.
    pub band: usize,
    /// Directions of the band.
    pub directions: usize,
}

/// Modes of a block that are tried.
const BLOCKS: [usize; 12] = [16, 32, 64, 100, 130, 160, 200, 260, 330, 400, 560, 800];
/// The largest eigenvalue that may be left without loss.
const ENOUGH: f64 = 3.0;
/// Variance times mean information from which data determine a mode, and how much of the transforms' cost a block of such modes may take.
const DETERMINED: f64 = 0.5;
const MOST_COST: f64 = 0.8;
/// Lanczos steps that find the largest eigenvalue well enough.
const LOOKS: usize = 10;
/// Modes and directions of a band at the most.
const MOST_MODES: usize = 4000;
const MOST_DIRECTIONS: usize = 300;

/// Steps of a trajectory.
fn steps(left: f64) -> f64 {
    2.9 + 1.26 * (1.0 + left.max(0.0)).sqrt()
}

/// Nanoseconds of a gradient of n latents without a block.
fn transforms(n: usize) -> f64 {
    0.8 * n as f64 * (n as f64).log2()
}

fn products(m: usize) -> f64 {
    0.85 * (m * m) as f64
}

/// The largest eigenvalue of s W s on some modes.
fn largest(surrogate: &mut Surrogate<'_>, s: &[f64], middle: &Fitted, modes: &[u32]) -> f64 {
    let product = |x: &[f64], out: &mut [f64]| {
        surrogate.pull(s, &middle.information, modes, x, out);
    };
    lanczos::leading(modes.len(), 1, LOOKS, product).0.first().copied().unwrap_or(0.0)
}

/// Sizes for a field with these deviations, its modes being ranked by them; the directions are as many as are worth a look.
pub(super) fn choose(
    surrogate: &mut Surrogate<'_>,
    s: &[f64],
    middle: &Fitted,
    order: &[u32],
) -> BlockSizes {
    let n = order.len();
    let seen = middle.information.iter().filter(|&&w| w > 0.0);
    let mean = middle.information.iter().sum::<f64>() / seen.count().max(1) as f64;
    let mut best = (f64::INFINITY, 0, 0.0);
    for block in BLOCKS.into_iter().filter(|&m| m <= (n / 3).max(BLOCKS[0].min(n))) {
        let left = largest(surrogate, s, middle, &order[block..]);
        let cost = steps(left) * (transforms(n) + products(block));
        // Modes that data determine follow the hyperparameters in the block only, which is worth more than steps alone say.
        let determined = s[order[block - 1] as usize].powi(2) * mean >= DETERMINED;
        let rich = determined && products(block) <= MOST_COST * transforms(n);
        if cost < best.0 || rich {
            best = (cost, block, left);
        }
        if left < ENOUGH {
            break;
        }
    }
    let (_, block, left) = best;
    // The modes of which a direction with an eigenvalue of at least one can be made.
    let edge = s[order[block.min(n - 1)] as usize].powi(2) / left.max(1.0);
    let band = order[block..].iter().take_while(|&&mode| s[mode as usize].powi(2) >= edge).count();
    let band = band.min(MOST_MODES);
    BlockSizes { block, band, directions: (band / 4).min(MOST_DIRECTIONS) }
}

/// How many directions with these eigenvalues, the largest first, are worth their cost.
pub(super) fn worthwhile(n: usize, m: usize, band: usize, strength: &[f64]) -> usize {
    let cost = |r: usize| {
        let own = (0.9 * band as f64 + 0.6 * m as f64) * r as f64;
        steps(strength[r]) * (transforms(n) + products(m) + own)
    };
    (0..strength.len()).min_by(|&a, &b| cost(a).total_cmp(&cost(b))).unwrap_or(0)
}
