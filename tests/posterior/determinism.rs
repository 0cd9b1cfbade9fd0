//! Shows that a chain's draws depend on its seed and number alone, not on threads or on its neighbours.

use crate::common::keeper::run_in_pieces;
use crate::common::{Case, cases};
use sshmc::draws::ChainDraws;
use sshmc::sample::{CoordinateChoice, MassChoice, Settings, run};

fn chains(case: &Case, settings: Settings) -> Vec<ChainDraws> {
    let short = Settings { warmup: 60, draws: 20, ..settings };
    run(&case.model, &short, &()).unwrap().chains
}

/// Everything a chain recorded, to the last bit.
fn bits(chain: &ChainDraws) -> Vec<u64> {
    let sites = chain.field.kept().len();
    let field = (0..sites).flat_map(|k| chain.field.series(k).collect::<Vec<_>>());
    let parameters = chain.parameters.iter().flatten().copied();
    let moments = chain.field.mean().iter().copied().chain(chain.field.variance());
    parameters
        .chain(chain.energy.iter().copied())
        .chain(field)
        .chain(moments)
        .chain([chain.step_size, chain.gradients as f64])
        .map(f64::to_bits)
        .collect()
}

#[test]
fn draws_depend_on_seed_and_chain_alone() {
    for case in cases() {
        let base = Settings { chains: 3, threads: Some(1), ..Settings::default() };
        let want: Vec<_> = chains(&case, base.clone()).iter().map(bits).collect();
        let threaded = chains(&case, Settings { threads: Some(2), ..base.clone() });
        let same = threaded.iter().map(bits).collect::<Vec<_>>() == want;
        assert!(same, "{}: threads matter", case.name);
        for (first_chain, want) in want.iter().enumerate() {
            let first_chain = first_chain as u32;
            let alone = chains(&case, Settings { chains: 1, first_chain, ..base.clone() });
            assert!(bits(&alone[0]) == *want, "{}: chain {first_chain} has company", case.name);
        }
        let other = chains(&case, Settings { seed: 2, ..base });
        assert!(bits(&other[0]) != want[0], "{}: the seed does not matter", case.name);
        assert!(want[0] != want[1], "{}: chains are copies", case.name);
    }
}

#[test]
fn a_chain_that_is_stopped_goes_on_with_the_same_bits() {
    let choices = [
        (CoordinateChoice::Auto, MassChoice::Auto),
        (CoordinateChoice::Whitened, MassChoice::Identity),
        (CoordinateChoice::Centred, MassChoice::Prior),
    ];
    for case in cases() {
        for (coordinates, mass) in choices {
            let settings = Settings {
                chains: 1,
                warmup: 60,
                draws: 20,
                coordinates,
                mass,
                ..Settings::default()
            };
            let want = run(&case.model, &settings, &()).unwrap();
            // Before the first window ends, in the second, at the end of warm-up, and while drawing.
            let got = run_in_pieces(&case.model, &settings, &[3, 20, 37, 5, 1]);
            let (name, bits) = (case.name, |fit: &sshmc::sample::Fit| bits(&fit.chains[0]));
            assert!(bits(&got) == bits(&want), "{name}: {coordinates:?}");
            let other = run(&case.model, &Settings { seed: 2, ..settings }, &()).unwrap();
            assert!(bits(&other) != bits(&want), "{name}: the comparison sees nothing");
        }
    }
}
