//! Puts every kernel of every model to Geweke's test and to the exact test of ranks, both with a false-alarm rate of 1e-6.
//!
//! The must-fail twins compare with worlds whose prior is another one.

use crate::FALSE_ALARM;
use sshmc::check::{
    FEWEST_MOVES, Geweke, RankTest, World, WorldKind, exact_ranks, geweke, judge, statistic_names,
    ways,
};
use sshmc::prior::Hyperparameters;

pub(crate) const GEWEKE: Geweke = Geweke { chains: 4, length: 2000, draws: 20_000, seed: 900 };
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
        WorldKind::Lgcp { .. } => "sigma=lognormal(0,0.4)",
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
        let right = GEWEKE.independent(&world, world.model().hyperparameters()).unwrap();
        let wrong = GEWEKE.independent(&world, &with_prior(&world, elsewhere(kind))).unwrap();
        for way in ways(&world) {
            let what = format!("{}, {}", kind.name(), way.name);
            let paths = GEWEKE.successive(&world, &way).unwrap();
            let worst = judge(&what, &geweke(&names, &paths, &right), FALSE_ALARM).unwrap();
            println!("Geweke, {what}: largest |z| {worst:.2}, moves in {:.2}", paths.moved);
            assert!(paths.moved > FEWEST_MOVES, "{what} moves in {}", paths.moved);
            // Slow paths have wide errors in which a moved prior hides; the quickest must see it.
            let quick = ["sshmc, whitened", "sshmc, informed"].contains(&way.name.as_str());
            let passes = judge(&what, &geweke(&names, &paths, &wrong), FALSE_ALARM).is_ok();
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
            assert!(p > FALSE_ALARM, "{what}, {quantity}: p {p:e}, {:?}", ranks.counts);
        }
        let way = &ways(&world)[0];
        let other = with_prior(&world, elsewhere(kind));
        let (_, p) = exact_ranks(&world, way, &other, test).unwrap().worst().unwrap();
        assert!(p < FALSE_ALARM, "{}: a prior elsewhere passes with p {p:e}", kind.name());
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
