//! Says which chains are computed together.

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
            let latents = (bundle.len() + 1) * settings.chains as usize * length(&k);
            latents <= MOST_TOGETHER && settings.device.joins(models[bundle[0]], models[k])
        };
        match bundles.last_mut().filter(fits) {
            Some(bundle) => bundle.push(k),
            None => bundles.push(vec![k]),
        }
    }
    bundles
}

/// Latents of all chains of models that share their commands: their largest buffer is smaller than what every adapter allows.
const MOST_TOGETHER: usize = 1 << 22;

/// A batch: models, and which of their chains.
pub(super) type Chains = Vec<(usize, std::ops::Range<usize>)>;

/// Who is computed together: on the CPU nobody, because each chain has a thread; on a GPU all chains of a model, or of several.
pub(super) fn batches(models: &[&Model], settings: &Settings) -> Vec<Chains> {
    let chains = settings.chains as usize;
    if settings.device.is_gpu() {
        let all = |bundle: Vec<usize>| bundle.into_iter().map(|k| (k, 0..chains)).collect();
        return bundles(models, settings).into_iter().map(all).collect();
    }
    let each = |k: usize| (0..chains).map(move |c| vec![(k, c..c + 1)]);
    (0..models.len()).flat_map(each).collect()
}
