//! Audits short fits in all coordinates and by all integrators that a GPU offers: what is found is the device's error, not the audit's.

use crate::worlds::{cox, device, series};
use sshmc::device::Flow;
use sshmc::integrate::Integrator;
use sshmc::model::Model;
use sshmc::sample::{CoordinateChoice, MassChoice, Settings, run};
use std::sync::Arc;

/// A name, and what it stands for.
type Way = (&'static str, fn(&mut Settings));

const UNIT: [Way; 3] = [
    ("whitened", |s| {
        s.coordinates = CoordinateChoice::Whitened;
        s.mass = MassChoice::Identity;
    }),
    ("whitened by ABLA", |s| {
        s.coordinates = CoordinateChoice::Whitened;
        s.mass = MassChoice::Identity;
        s.integrator = Some(Integrator::Abla { flow: Flow::Rotation, k1: 2, k2: 1 });
    }),
    ("informed", |s| s.coordinates = CoordinateChoice::Informed),
];

/// As published: ABLA, whose last kick of the hyperparameters waits for the device.
const PUBLISHED: Way = ("centred with the prior's mass", |s| {
    s.coordinates = CoordinateChoice::Centred;
    s.mass = MassChoice::Prior;
});

/// Fails if a fit of a model is found off by a thousandth.
fn audit(model: &Arc<Model>, ways: impl IntoIterator<Item = Way>) {
    for (name, way) in ways {
        let mut settings = Settings { chains: 2, warmup: 100, draws: 16, ..Settings::default() };
        settings.device = device();
        way(&mut settings);
        let found = run(model, &settings, &()).unwrap().audit.unwrap();
        println!("{name}: {found:?}");
        assert!(found.transitions >= 4 && found.worst <= 1e-3, "{name}: {found:?}");
    }
}

#[test]
fn audits_of_a_map_find_the_devices_own_error() {
    audit(&cox(16, 16, None), UNIT.into_iter().chain([PUBLISHED]));
}

#[test]
fn audits_of_a_series_find_the_devices_own_error() {
    audit(&series(60), UNIT);
}
