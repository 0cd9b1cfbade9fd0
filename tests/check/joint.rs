//! Puts every kernel of every model to Geweke's test and to the exact test of ranks, with a false-alarm rate of 1e-6 over all of them.
//!
//! The must-fail twins compare with worlds whose prior is another one.

use crate::EACH;
use sshmc::check::{
    FEWEST_MOVES, Geweke, RankTest, World, WorldKind, exact_ranks, geweke, geweke_bound, judge,
    statistic_names, ways, worst_score,
};
use sshmc::likelihood::CountLikelihood;
use sshmc::prior::Hyperparameters;

pub(crate) const GEWEKE: Geweke = Geweke { chains: 32, length: 250, draws: 20_000, seed: 900 };
pub(crate) const RANKS: RankTest = RankTest { replicates: 500, states: 16, seed: 5000 };

/// The tiny world of a model.
pub(crate) fn world(kind: WorldKind) -> World {
    kind.world(&kind.tiny_priors()).unwrap()
}

/// The priors of a world with one replaced.
fn with_prior(world: &World, prior: &str) -> Hyperparameters {
    let mut priors = world.model().hyperparameters().clone();
    priors.set_prior(prior).unwrap();
    priors
}

/// A prior one standard deviation away.
fn elsewhere(kind: WorldKind) -> &'static str {
    match kind {
        WorldKind::Lgcp { likelihood: CountLikelihood::Poisson, .. } => "sigma=lognormal(0,0.4)",
        WorldKind::Lgcp { likelihood: CountLikelihood::NegativeBinomial, .. } => {
            "size=lognormal(1.2,0.5)"
        }
        WorldKind::Sv { .. } => "sigma=lognormal(0,0.5)",
        WorldKind::Logistic { .. } => "gamma=normal(0.9,0.7)",
        WorldKind::Funnel { .. } => "v=normal(1.3,1)",
    }
}

#[test]
fn no_kernel_changes_the_joint_distribution() {
    for kind in WorldKind::tiny() {
        let world = world(kind);
        let names = statistic_names(&world);
        let bound = geweke_bound(names.len(), EACH, GEWEKE.chains);
        let right = GEWEKE.independent(&world, world.model().hyperparameters()).unwrap();
        let wrong = GEWEKE.independent(&world, &with_prior(&world, elsewhere(kind))).unwrap();
        for way in ways(&world) {
            let what = format!("{}, {}", kind.name(), way.name);
            let paths = GEWEKE.successive(&world, &way).unwrap();
            let worst = judge(&what, &geweke(&names, &paths, &right), bound).unwrap();
            println!("Geweke, {what}: largest |z| {worst:.2}, moves in {:.2}", paths.moved);
            assert!(paths.moved > FEWEST_MOVES, "{what} moves in {}", paths.moved);
            // Slow paths have wide errors in which a moved prior hides; the quickest must see it.
            let quick = ["sshmc, whitened, tilted", "sshmc, informed"].contains(&way.name.as_str());
            let passes = judge(&what, &geweke(&names, &paths, &wrong), bound).is_ok();
            assert!(!quick || !passes, "{what}: a prior elsewhere passes");
        }
    }
}

/// The test of ranks of every kernel of every model.
fn ranks(test: &RankTest) {
    for kind in WorldKind::tiny() {
        let world = world(kind);
        let priors = world.model().hyperparameters();
        for way in ways(&world) {
            let what = format!("{}, {}", kind.name(), way.name);
            let ranks = exact_ranks(&world, &way, priors, test).unwrap();
            let (quantity, p) = ranks.worst().unwrap();
            println!("ranks, {what}: p {p:.4} ({quantity}), moves in {:.2}", ranks.moved);
            assert!(p > EACH, "{what}, {quantity}: p {p:e}, {:?}", ranks.counts);
            assert!(ranks.moved > FEWEST_MOVES, "{what} moves in {}", ranks.moved);
        }
        let way = &ways(&world)[0];
        let other = with_prior(&world, elsewhere(kind));
        let (_, p) = exact_ranks(&world, way, &other, test).unwrap().worst().unwrap();
        assert!(p < EACH, "{}: a prior elsewhere passes with p {p:e}", kind.name());
    }
}

#[test]
fn ranks_are_uniform() {
    ranks(&RANKS);
}

#[test]
#[ignore = "ten minutes"]
fn many_ranks_are_uniform() {
    ranks(&RankTest { replicates: 20_000, ..RANKS });
}

/// How often the largest score of a right kernel is beyond bounds of several false-alarm rates: the standard errors are estimates, and
/// moments are not quite normal.
#[test]
#[ignore = "some minutes"]
fn scores_of_a_right_kernel_are_beyond_their_bounds_as_rarely_as_they_say() {
    const SEEDS: u32 = 1000;
    let world = world(WorldKind::tiny()[3]);
    let names = statistic_names(&world);
    let way = ways(&world).into_iter().find(|way| way.name == "sshmc, informed").unwrap();
    let mut largest = Vec::new();
    for seed in 0..SEEDS {
        let test =
            Geweke { chains: 32, length: 125, draws: 10_000, seed: 77_000 + u64::from(seed) };
        let moments = test.independent(&world, world.model().hyperparameters()).unwrap();
        let scores = geweke(&names, &test.successive(&world, &way).unwrap(), &moments);
        largest.push(worst_score(&scores).unwrap().size());
    }
    for rate in [0.3, 0.1, 0.03, 0.01, 0.003, 0.001] {
        let bound = geweke_bound(names.len(), rate, 32);
        let beyond = largest.iter().filter(|&&z| z > bound).count();
        println!("rate {rate}: {beyond} of {SEEDS} beyond {bound:.2}");
        // Counts at the right rate are Poisson numbers: beyond one of these six bounds once in 30 000 sets of seeds.
        let expected = f64::from(SEEDS) * rate;
        assert!(beyond as f64 <= expected + 5.0 * expected.sqrt() + 1.0, "too many at {rate}");
    }
    println!("largest of all: {:.2}", largest.iter().fold(0.0f64, |a, &b| a.max(b)));
}
