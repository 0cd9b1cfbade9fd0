//! Fixes the ways of sampling that are compared: coordinates, masses, integrators and schedules.
//!
//! Each is the defaults but for what it says, so that a later change of the defaults shows in all of them.

use sshmc::device::Flow;
use sshmc::integrate::Integrator;
use sshmc::sample::{CoordinateChoice, MassChoice, Settings};

/// One way of sampling.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Variant {
    /// What to call it.
    pub(crate) name: &'static str,
    /// What it is.
    pub(crate) about: &'static str,
    /// Whether a quick run takes it.
    pub(crate) quick: bool,
    change: fn(&mut Settings),
}

/// All variants, the defaults first.
pub(crate) const VARIANTS: [Variant; 26] = [
    variant("auto", "the defaults of `sshmc fit`", |_| ()).quick(),
    variant("whitened", "coordinates standardised by the prior", |s| {
        s.coordinates = CoordinateChoice::Whitened;
    })
    .quick(),
    variant("informed", "coordinates standardised by prior and data", |s| {
        s.coordinates = CoordinateChoice::Informed;
    }),
    variant("paper", "centred, prior precision as mass, ABLA with k1 = 2, k2 = 1, no tilt", |s| {
        paper(s);
    })
    .quick(),
    variant("paper-long", "the same with trajectories of mean length 12", |s| {
        paper(s);
        s.path = Some(12.0);
    }),
    variant("centred-identity", "centred, identity mass", |s| centred(s, MassChoice::Identity)),
    variant("centred-information", "centred, prior precision plus information as mass", |s| {
        centred(s, MassChoice::PriorPlusInformation);
    }),
    variant("whitened-leapfrog", "whitened, drift instead of rotation", |s| {
        s.coordinates = CoordinateChoice::Whitened;
        s.integrator = Some(Integrator::Joint(Flow::Drift));
    })
    .quick(),
    variant("informed-leapfrog", "informed, drift instead of rotation", |s| {
        s.coordinates = CoordinateChoice::Informed;
        s.integrator = Some(Integrator::Joint(Flow::Drift));
    }),
    variant("whitened-abla", "whitened, ABLA with k1 = 1, k2 = 1", |s| {
        s.coordinates = CoordinateChoice::Whitened;
        s.integrator = Some(SIMPLE_ABLA);
    }),
    variant("informed-abla", "informed, ABLA with k1 = 1, k2 = 1", |s| {
        s.coordinates = CoordinateChoice::Informed;
        s.integrator = Some(SIMPLE_ABLA);
    })
    .quick(),
    variant("informed-prior-mass", "informed, prior precision as mass", |s| {
        s.coordinates = CoordinateChoice::Informed;
        s.mass = MassChoice::Prior;
    }),
    variant("informed-prior-leapfrog", "informed, prior precision as mass, joint steps", |s| {
        s.coordinates = CoordinateChoice::Informed;
        s.mass = MassChoice::Prior;
        s.integrator = Some(Integrator::Joint(Flow::Drift));
    }),
    variant("no-tilt", "latents do not learn to follow the hyperparameters", |s| s.tilt = false)
        .quick(),
    variant("whitened-no-tilt", "whitened without the tilt", |s| {
        s.coordinates = CoordinateChoice::Whitened;
        s.tilt = false;
    }),
    variant("full-torus", "a torus twice the window, whatever the range", |s| {
        s.small_torus = false;
    }),
    variant("path-1.2", "trajectories of mean length 1.2", |s| s.path = Some(1.2)),
    variant("path-2", "trajectories of mean length 2", |s| s.path = Some(2.0)),
    variant("path-3", "trajectories of mean length 3", |s| s.path = Some(3.0)),
    variant("jitter-0", "trajectories all of one length", |s| s.jitter = Some(0.0)),
    variant("jitter-0.3", "lengths that vary by 0.3 either way", |s| s.jitter = Some(0.3)),
    variant("jitter-0.9", "lengths that vary by 0.9 either way", |s| s.jitter = Some(0.9)),
    variant("acceptance-0.65", "step size tuned to accept 65 %", |s| s.acceptance = 0.65),
    variant("acceptance-0.9", "step size tuned to accept 90 %", |s| s.acceptance = 0.9),
    variant("speed-1", "hyperparameters as fast as latents", |s| s.hyper_speed = Some(1.0)),
    variant("speed-2", "hyperparameters twice as fast as latents", |s| s.hyper_speed = Some(2.0)),
];

/// The cheapest ABLA: three gradients a step, where the paper's has five.
const SIMPLE_ABLA: Integrator = Integrator::Abla { flow: Flow::Rotation, k1: 1, k2: 1 };

const fn variant(name: &'static str, about: &'static str, change: fn(&mut Settings)) -> Variant {
    Variant { name, about, quick: false, change }
}

fn paper(settings: &mut Settings) {
    centred(settings, MassChoice::Prior);
    settings.tilt = false;
    settings.integrator = Some(Integrator::Abla { flow: Flow::Drift, k1: 2, k2: 1 });
}

fn centred(settings: &mut Settings, mass: MassChoice) {
    settings.coordinates = CoordinateChoice::Centred;
    settings.mass = mass;
}

impl Variant {
    /// The same, taken by a quick run.
    const fn quick(mut self) -> Self {
        self.quick = true;
        self
    }

    /// These settings, changed.
    pub(crate) fn settings(&self, base: &Settings) -> Settings {
        let mut settings = base.clone();
        (self.change)(&mut settings);
        settings
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_settings_pass_their_checks() {
        let mut seen: Vec<String> = Vec::new();
        for (k, variant) in VARIANTS.iter().enumerate() {
            assert!(VARIANTS[..k].iter().all(|other| other.name != variant.name));
            let settings = variant.settings(&Settings::default());
            settings.check().unwrap();
            let shown = format!("{settings:?}");
            assert!(!seen.contains(&shown), "{} has the settings of another", variant.name);
            seen.push(shown);
        }
    }
}
