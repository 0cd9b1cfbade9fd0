//! Fits many series together: whatever their number and lengths they share their dispatches, and each has the bits it has alone.

use crate::common::keeper::Stopper;
use crate::cost::{open, since};
use crate::resume::bits;
use crate::worlds::device;
use sshmc::data::Returns;
use sshmc::device::Lane;
use sshmc::hamiltonian::MassKind;
use sshmc::model::{Model, stochvol};
use sshmc::sample::{Fit, Keeper, Part, Settings, bundles, run, run_together};
use std::sync::Arc;

const NOBODY: &dyn Keeper = &();

/// Returns that differ from series to series.
fn series(length: usize) -> Arc<Model> {
    let value = |t: usize| {
        let t = t as f64;
        (0.3 + 0.2 * (t / 40.0).sin()) * ((1.7 + 0.01 * length as f64) * t).sin() + 0.01
    };
    let returns = Returns::from_vec((0..length).map(value).collect()).unwrap();
    Arc::new(stochvol(&returns, &[]).unwrap())
}

/// One chunk and several, sizes around a workgroup's, and two returns.
fn lengths() -> [usize; 5] {
    [300, 2500, 2, 1024, 1025]
}

fn settings() -> Settings {
    Settings {
        device: device(),
        chains: 2,
        warmup: 30,
        draws: 9,
        // Different sites of each series, because there is not room for all.
        field_memory: Some(4 * 2 * 9 * 40),
        ..Settings::default()
    }
}

fn together(models: &[Arc<Model>], keepers: &[&dyn Keeper], settings: &Settings) -> Vec<Fit> {
    run_together(&parts(models, keepers), settings).unwrap()
}

fn parts<'a>(models: &'a [Arc<Model>], keepers: &[&'a dyn Keeper]) -> Vec<Part<'a>> {
    let part =
        |(model, &keeper): (&'a Arc<Model>, &&'a dyn Keeper)| Part { model, progress: &(), keeper };
    models.iter().zip(keepers).map(part).collect()
}

#[test]
fn each_series_has_the_bits_it_has_alone() {
    let settings = settings();
    let models = lengths().map(series);
    let fits = together(&models, &[NOBODY; 5], &settings);
    for (fit, model) in fits.iter().zip(&models) {
        let alone = run(model, &settings, &()).unwrap();
        let length = model.structure().dim();
        assert_eq!(fit.model.structure().dim(), length);
        assert!(bits(fit) == bits(&alone), "{length} returns: other bits than alone");
        assert_eq!(fit.audit, alone.audit, "{length} returns");
        assert!(alone.audit.is_some_and(|audit| audit.worst < 1e-3), "{:?}", alone.audit);
    }
    let other = together(&models, &[NOBODY; 5], &Settings { seed: 2, ..settings });
    assert!(bits(&other[0]) != bits(&fits[0]), "the comparison sees nothing");
}

#[test]
fn a_dispatch_serves_all_series() {
    let device = open();
    let cost_of = |lengths: &[usize]| {
        let mut lanes = Vec::new();
        let mut phi = Vec::new();
        for model in lengths.iter().map(|&length| series(length)) {
            let start = model.start();
            for id in 0..3 {
                let z = vec![0.0; model.structure().dim()];
                let coordinates = sshmc::coordinates::Coordinates::whitened();
                lanes.push(Lane { model: model.clone(), id, coordinates, z });
                phi.extend_from_slice(&start);
            }
        }
        let count = lanes.len();
        let mut latents = device.lanes(&MassKind::Identity, 1, lanes).unwrap();
        let (mut potential, mut by_phi) = (vec![0.0; count], vec![0.0; phi.len()]);
        latents.evaluate(&phi, &mut potential, &mut by_phi);
        assert!(potential.iter().all(|u| u.is_finite()), "{potential:?}");
        let before = device.as_gpu().unwrap().cost();
        latents.evaluate(&phi, &mut potential, &mut by_phi);
        since(&device, before)
    };
    let (one, many) = (cost_of(&[40]), cost_of(&[40, 17, 33, 40, 5, 21, 40]));
    println!("one series: {one:?}\nseven: {many:?}");
    assert_eq!((one.dispatches, one.waits), (5, 1));
    assert_eq!((many.dispatches, many.submissions, many.waits), (5, one.submissions, 1));
    assert_eq!((many.pipelines, many.buffers), (0, 0), "compiled or allocated again");
}

/// A run may be killed when the states of some series have been written and those of others have not.
#[test]
fn series_of_different_moments_go_on_from_the_last_they_share() {
    let settings = settings();
    let models = [300, 1025, 40].map(series);
    let want = together(&models, &[NOBODY; 3], &settings);
    let stoppers = [(); 3].map(|()| Stopper::new());
    let keepers = stoppers.each_ref().map(|stopper| stopper as &dyn Keeper);
    for after in [5, 30] {
        stoppers[0].stop_after(after);
        let stopped = run_together(&parts(&models, &keepers), &settings);
        assert!(matches!(stopped, Err(sshmc::Error::Stopped)), "it was not stopped");
    }
    // As far as the second the states of the last moment were written.
    stoppers[2].lose(1);
    stoppers[0].stop_after(u32::MAX);
    let got = together(&models, &keepers, &settings);
    assert!(got.iter().zip(&want).all(|(a, b)| bits(a) == bits(b)), "other bits");
    // Where nothing is left of one, all begin again.
    stoppers[1].lose(usize::MAX);
    let got = together(&models, &keepers, &settings);
    assert!(got.iter().zip(&want).all(|(a, b)| bits(a) == bits(b)), "other bits");
}

#[test]
fn only_series_share_a_batch_and_only_as_many_as_there_is_room_for() {
    let field = crate::resume::models().remove(0).1;
    let models = [series(9), field, series(4)];
    let all: Vec<&Model> = models.iter().map(AsRef::as_ref).collect();
    let on = |device, chains| bundles(&all, &Settings { device, chains, ..settings() });
    assert_eq!(on(device(), 2), [vec![2, 0], vec![1]], "the shorter first, the field alone");
    assert_eq!(on(device(), 1 << 19).len(), 3, "no room for two");
    assert_eq!(on(sshmc::device::Device::cpu(), 2).len(), 3, "each chain has a thread there");
}
