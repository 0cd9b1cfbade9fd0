//! Holds the draws of small fits against those that were stored, to the last bit: changes of the code that should not move a draw do not.
//!
//! Bits depend on the arithmetic of the machine (fused multiply-adds of its transforms, its mathematical library), so that the store
//! says whose it holds; on another machine nothing can be compared, and a line says so. `SSHMC_STORE_BITS=1` writes the store anew.

use crate::common::cases;
use sshmc::data::Counts;
use sshmc::draws::ChainDraws;
use sshmc::model::{LgcpOptions, Model, lgcp};
use sshmc::random::{Purpose, Stream};
use sshmc::sample::{CoordinateChoice, MassChoice, Method, Settings, run};
use sshmc::structure::{Kernel, Spectral, Structure};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// One way to fit.
type Way = (&'static str, fn(&mut Settings));

const SSHMC: [Way; 5] = [
    ("auto", |_| {}),
    ("whitened", |s| s.coordinates = CoordinateChoice::Whitened),
    ("centred", |s| s.coordinates = CoordinateChoice::Centred),
    ("informed", |s| s.coordinates = CoordinateChoice::Informed),
    ("fixed", |s| {
        s.coordinates = CoordinateChoice::Whitened;
        s.mass = MassChoice::PriorPlusInformation;
        s.steps = Some(5);
    }),
];

const OTHERS: [Way; 6] = [
    ("hmc", |s| s.method = Method::Hmc),
    ("hmc-gibbs", |s| s.method = Method::HmcGibbs),
    ("rmhmc-gibbs", |s| s.method = Method::RmhmcGibbs),
    ("rmhmc-softabs", |s| s.method = Method::RmhmcSoftAbs),
    ("nuts", |s| s.method = Method::Nuts),
    ("nuts, informed", |s| {
        s.method = Method::Nuts;
        s.coordinates = CoordinateChoice::Informed;
    }),
];

/// A map of counts that are higher in the middle.
fn map(side: usize) -> Arc<Model> {
    let noise = Stream::new(7, 0, 0, Purpose::Other);
    let count = |k: usize| {
        let [i, j] = [k / side, k % side].map(|i| (i as f64 + 0.5) / side as f64 - 0.5);
        let rate = 2.0 * (-8.0 * (i * i + 2.0 * j * j)).exp();
        (rate * 2.0 * noise.uniform(k as u32)).round()
    };
    let counts = Counts::from_vec(side, side, (0..side * side).map(count).collect()).unwrap();
    Arc::new(lgcp(&counts, &LgcpOptions::default()).unwrap())
}

/// A number that another arithmetic would change.
fn arithmetic() -> u32 {
    let field = Spectral::new(12, 15, 0.1, Kernel::Matern32, (0.0, f64::INFINITY)).unwrap();
    let structure = Structure::Spectral(field);
    let waves: Vec<f64> = (1..=structure.dim()).map(|k| (k as f64).ln().sin()).collect();
    let mut numbers = vec![0.0; structure.sites()];
    structure.basis().write_field(&waves, &mut numbers);
    numbers.extend((1..200).map(|k| (f64::from(k) * 0.37).exp().sqrt().tanh()));
    crc(numbers)
}

fn crc(numbers: impl IntoIterator<Item = f64>) -> u32 {
    let bytes: Vec<u8> = numbers.into_iter().flat_map(f64::to_le_bytes).collect();
    crc32fast::hash(&bytes)
}

/// Everything chains recorded, but for times.
fn of_chains(chains: &[ChainDraws]) -> u32 {
    let chain = |chain: &ChainDraws| -> Vec<f64> {
        let kept = chain.field.kept().len();
        let field = (0..kept).flat_map(|k| chain.field.series(k).collect::<Vec<_>>());
        let steps = chain.steps.iter().map(|&steps| f64::from(steps));
        let moments = chain.field.mean().iter().copied().chain(chain.field.variance());
        let scalars = chain.parameters.iter().flatten().chain(&chain.energy);
        let gradients = [chain.warmup_gradients, chain.gradients].map(|count| count as f64);
        let own = scalars.chain(&chain.acceptance).copied().chain(field).chain(steps);
        own.chain(moments).chain(gradients).chain([chain.step_size]).collect()
    };
    crc(chains.iter().flat_map(chain))
}

/// Draws of a model by a way, from a seed; none where the way is refused.
fn draws(model: &Arc<Model>, (_, way): Way, seed: u64) -> Option<u32> {
    let mut settings = Settings { chains: 2, warmup: 60, draws: 12, seed, ..Settings::default() };
    way(&mut settings);
    run(model, &settings, &()).ok().map(|fit| of_chains(&fit.chains))
}

/// What is drawn here and now, by name.
fn drawn(seed: u64) -> BTreeMap<String, String> {
    let mut models: Vec<(String, Arc<Model>)> =
        cases().into_iter().map(|case| (case.name.to_owned(), case.model)).collect();
    models.push(("map of 12 x 12".to_owned(), map(12)));
    let mut all = BTreeMap::new();
    for (name, model) in &models {
        for way in SSHMC.into_iter().chain(OTHERS) {
            if let Some(bits) = draws(model, way, seed) {
                all.insert(format!("{name}, {}", way.0), format!("{bits:08x}"));
            }
        }
    }
    // Large enough for a smaller torus.
    for way in [SSHMC[0], SSHMC[3]] {
        let bits = draws(&map(64), way, seed).unwrap();
        all.insert(format!("map of 64 x 64, {}", way.0), format!("{bits:08x}"));
    }
    all.insert("arithmetic".to_owned(), format!("{:08x}", arithmetic()));
    all
}

#[test]
fn draws_have_the_bits_they_had() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/bits.json");
    let here = drawn(5);
    if std::env::var_os("SSHMC_STORE_BITS").is_some() {
        let text = serde_json::to_string_pretty(&here).unwrap();
        std::fs::write(&path, text + "\n").unwrap();
        return;
    }
    let stored: BTreeMap<String, String> =
        serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    assert_eq!(stored.len(), here.len(), "other cases");
    if stored["arithmetic"] != here["arithmetic"] {
        eprintln!(
            "the stored draws are of a machine with another arithmetic: nothing was compared"
        );
        return;
    }
    let moved: Vec<&String> =
        here.keys().filter(|name| stored.get(*name) != here.get(*name)).collect();
    assert!(moved.is_empty(), "these have other draws: {moved:?}");
}

/// The comparison sees another seed.
#[test]
fn another_seed_has_other_bits() {
    let model = map(12);
    for way in SSHMC.into_iter().chain([OTHERS[0], OTHERS[4]]) {
        let [one, other] = [5, 6].map(|seed| draws(&model, way, seed).unwrap());
        assert_ne!(one, other, "{}", way.0);
    }
}
