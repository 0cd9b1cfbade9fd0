//! Plants mistakes and asks whether both tests of the joint distribution catch each of them.
//!
//! Every mutant has a control, the same plan without the mistake, which must pass; the false-alarm rate is 1e-6.

use crate::FALSE_ALARM;
use crate::joint::{GEWEKE, RANKS, world};
use crate::spoilt::Mutant;
use sshmc::check::{
    FEWEST_MOVES, RankTest, Way, World, WorldKind, exact_ranks, geweke, judge, statistic_names,
};

/// Models with data whose first hyperparameter has an exponential scale or a linear one.
fn kinds() -> Vec<WorldKind> {
    let with_data = |kind: &WorldKind| !matches!(kind, WorldKind::Funnel { .. });
    WorldKind::tiny().into_iter().filter(with_data).collect()
}

fn geweke_passes(world: &World, way: &Way) -> bool {
    let paths = GEWEKE.successive(world, way).unwrap();
    let moments = GEWEKE.independent(world, world.model().hyperparameters()).unwrap();
    let outcome = judge(&way.name, &geweke(&statistic_names(world), &paths, &moments), FALSE_ALARM);
    println!("  Geweke, {}: {outcome:.2?}, moves in {:.2}", way.name, paths.moved);
    outcome.is_ok()
}

fn ranks_pass(world: &World, way: &Way) -> bool {
    let test = RankTest { replicates: 2000, ..RANKS };
    let ranks = exact_ranks(world, way, world.model().hyperparameters(), &test).unwrap();
    let (quantity, p) = ranks.worst().unwrap();
    println!("  ranks, {}: p {p:.2e} ({quantity}), moves in {:.2}", way.name, ranks.moved);
    p > FALSE_ALARM
}

#[test]
fn both_tests_catch_every_mutant_and_pass_its_control() {
    for kind in kinds() {
        let world = world(kind);
        println!("{}", kind.name());
        for mutant in Mutant::WRONG {
            let control = mutant.way(true);
            assert!(geweke_passes(&world, &control), "{}: Geweke", control.name);
            assert!(ranks_pass(&world, &control), "{}: ranks", control.name);
            let wrong = mutant.way(false);
            assert!(!geweke_passes(&world, &wrong), "{}: {mutant:?} passes Geweke", kind.name());
            assert!(!ranks_pass(&world, &wrong), "{}: {mutant:?} passes ranks", kind.name());
        }
    }
}

#[test]
fn a_kick_uphill_is_seen_in_how_rarely_it_moves() {
    for kind in kinds() {
        let world = world(kind);
        let moves = |control: bool| {
            let way = Mutant::UphillKick.way(control);
            let test = RankTest { replicates: 200, ..RANKS };
            exact_ranks(&world, &way, world.model().hyperparameters(), &test).unwrap().moved
        };
        let (right, wrong) = (moves(true), moves(false));
        println!("{}: moves in {right:.2}, uphill in {wrong:.2}", kind.name());
        assert!(right > FEWEST_MOVES && wrong < FEWEST_MOVES, "{right} and {wrong}");
    }
}
