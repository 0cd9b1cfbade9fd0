//! Says which chains are computed together.

use super::plan::field_plan;
use super::settings::Settings;
use crate::model::Model;

/// Which models a GPU has room for at once, in the order of their lengths: one alone where it cannot take more.
pub fn bundles(models: &[&Model], settings: &Settings) -> Vec<Vec<usize>> {
    let length = |k: &usize| models[*k].structure().dim();
    let mut order: Vec<usize> = (0..models.len()).collect();
    order.sort_by_key(length);
    let mut bundles: Vec<Vec<usize>> = Vec::new();
    for k in order {
        // All take as much room as the longest, which comes last.
        let fits = |bundle: &&mut Vec<usize>| {
            let lanes = (bundle.len() + 1) * settings.chains as usize;
            lanes * length(&k) <= MOST_TOGETHER
                && settings.device.joins(models[bundle[0]], models[k])
                && lanes <= room(models[k], settings)
        };
        match bundles.last_mut().filter(fits) {
            Some(bundle) => bundle.push(k),
            None => bundles.push(vec![k]),
        }
    }
    bundles
}

/// Chains of a model that there is room for at once.
fn room(model: &Model, settings: &Settings) -> usize {
    settings.device.room(model, &field_plan(model, settings))
}

/// Latents of all chains of models that share their commands: with more there is nothing left to gain.
const MOST_TOGETHER: usize = 1 << 22;

/// A batch: models, and which of their chains.
pub(super) type Chains = Vec<(usize, std::ops::Range<usize>)>;

/// Who is computed together: on the CPU nobody, because each chain has a thread; on a GPU all chains of a model, or of several, and
/// where there is no room for all of one's in as few batches as there must be. A chain has the same bits in any of them.
pub(super) fn batches(models: &[&Model], settings: &Settings) -> Vec<Chains> {
    let chains = settings.chains as usize;
    if settings.device.is_gpu() {
        let split = |bundle: Vec<usize>| match bundle[..] {
            [only] => shares(chains, room(models[only], settings).max(1))
                .map(|own| vec![(only, own)])
                .collect::<Vec<_>>(),
            _ => vec![bundle.into_iter().map(|k| (k, 0..chains)).collect()],
        };
        return bundles(models, settings).into_iter().flat_map(split).collect();
    }
    let each = |k: usize| (0..chains).map(move |c| vec![(k, c..c + 1)]);
    (0..models.len()).flat_map(each).collect()
}

/// The fewest ranges of at most `most` that make up `count`, as equal as can be.
fn shares(count: usize, most: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let parts = count.div_ceil(most);
    (0..parts).map(move |k| k * count / parts..(k + 1) * count / parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_few_fit_and_leave_nobody_out() {
        for (count, most) in [(1, 1), (4, 4), (4, 3), (7, 3), (8, 1), (1000, 333)] {
            let all: Vec<_> = shares(count, most).collect();
            assert_eq!(all.len(), count.div_ceil(most));
            assert!(all.iter().all(|own| !own.is_empty() && own.len() <= most), "{all:?}");
            assert!(all.iter().cloned().flatten().eq(0..count), "{all:?}");
        }
    }
}
