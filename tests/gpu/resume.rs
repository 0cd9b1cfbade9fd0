//! Stops chains on the GPU and lets them go on: the state that comes back from the device is complete.

use crate::common::keeper::run_in_pieces;
use crate::worlds::device;
use sshmc::data::{Counts, Returns};
use sshmc::model::{LgcpOptions, Model, lgcp, stochvol};
use sshmc::sample::{CoordinateChoice, Fit, MassChoice, Settings, run};
use sshmc::structure::Sides;
use std::sync::Arc;

pub(crate) fn bits(fit: &Fit) -> Vec<u64> {
    let one = |chain: &sshmc::draws::ChainDraws| {
        let kept = chain.field.kept().len();
        let draws = (0..kept).flat_map(|k| chain.field.series(k).collect::<Vec<_>>());
        let moments = chain.field.mean().iter().copied().chain(chain.field.variance());
        let all = chain.parameters.iter().flatten().copied().chain(chain.energy.iter().copied());
        let whole = chain.field.fields().flatten().map(|&x| f64::from(x));
        let exponential = chain.field.exponential().into_iter().flat_map(|e| {
            let shares = e.exceedances().flat_map(|(_, shares)| shares);
            e.mean().iter().copied().chain(e.sd()).chain(shares).collect::<Vec<_>>()
        });
        let fields = draws.chain(moments).chain(whole).chain(exponential);
        all.chain(fields).map(f64::to_bits).collect::<Vec<_>>()
    };
    fit.chains.iter().flat_map(one).collect()
}

pub(crate) fn models() -> Vec<(&'static str, Arc<Model>)> {
    let counts: Vec<f64> = (0..48).map(|cell| f64::from((cell * 7) % 5)).collect();
    let counts = Counts::from_vec(6, 8, counts).unwrap();
    let options = LgcpOptions { sides: Sides::PowersOfTwo, ..LgcpOptions::default() };
    let returns = (0..40).map(|t| 0.3 * (f64::from(t) * 1.7).sin() + 0.01 * f64::from(t % 3));
    let returns = Returns::from_vec(returns.collect()).unwrap();
    vec![
        ("lgcp", Arc::new(lgcp(&counts, &options).unwrap())),
        ("sv", Arc::new(stochvol(&returns, &[]).unwrap())),
    ]
}

#[test]
fn chains_on_a_gpu_go_on_with_the_same_bits() {
    let base = Settings {
        device: device(),
        chains: 2,
        warmup: 60,
        draws: 20,
        small_torus: false,
        // Some draws whole, and a few sites of every one.
        field_memory: Some(4 * 2 * 20 * 3),
        exceed: Some(vec![1.0]),
        ..Settings::default()
    };
    for (name, model) in models() {
        for coordinates in [CoordinateChoice::Auto, CoordinateChoice::Centred] {
            if name == "sv" && coordinates == CoordinateChoice::Centred {
                continue;
            }
            let mass = MassChoice::Auto;
            let settings = Settings { coordinates, mass, ..base.clone() };
            let want = run(&model, &settings, &()).unwrap();
            let got = run_in_pieces(&model, &settings, &[3, 20, 37, 5, 1]);
            assert!(bits(&got) == bits(&want), "{name}: {coordinates:?}");
            assert_eq!(got.audit, want.audit, "{name}: {coordinates:?}");
            let other = run(&model, &Settings { seed: 2, ..settings }, &()).unwrap();
            assert!(bits(&other) != bits(&want), "{name}: the comparison sees nothing");
        }
    }
}
