//! Lists what a user may choose about a run; the defaults need no tuning.

use super::until::Until;
use crate::device::{Device, Flow};
use crate::error::{Error, Result};
use crate::integrate::Integrator;

/// How to sample.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// Semi-separable Hamiltonian Monte Carlo.
    #[default]
    Sshmc,
    /// Standard HMC on latents and hyperparameters together.
    Hmc,
    /// HMC on latents and hyperparameters in turns.
    HmcGibbs,
    /// Riemannian manifold HMC in turns, with Fisher metrics.
    RmhmcGibbs,
    /// Riemannian manifold HMC on everything together, with the SoftAbs metric; small models only.
    RmhmcSoftAbs,
    /// The No-U-Turn sampler.
    Nuts,
}

impl Method {
    /// The name a user types.
    pub fn name(self) -> &'static str {
        match self {
            Method::Sshmc => "sshmc",
            Method::Hmc => "hmc",
            Method::HmcGibbs => "hmc-gibbs",
            Method::RmhmcGibbs => "rmhmc-gibbs",
            Method::RmhmcSoftAbs => "rmhmc-softabs",
            Method::Nuts => "nuts",
        }
    }
}

/// Which coordinates to sample in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CoordinateChoice {
    /// What suits the model.
    #[default]
    Auto,
    /// The latents themselves, as published.
    Centred,
    /// Standardised by the prior.
    Whitened,
    /// Standardised by prior and data, learnt during warm-up.
    Informed,
    /// Standardised by what data say about each smooth mode of a field on a grid, learnt by a pilot run. For these alone.
    Block,
}

/// Which mass the latents have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MassChoice {
    /// Identity in whitened and informed coordinates, prior precision in centred ones.
    #[default]
    Auto,
    /// Identity.
    Identity,
    /// Prior precision Σ(φ)⁻¹, the paper's.
    Prior,
    /// Prior precision plus the likelihood's mean information.
    PriorPlusInformation,
}

/// Settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Number of chains.
    pub chains: u32,
    /// Number of the first chain: the same chain number gives the same draws whoever runs it.
    pub first_chain: u32,
    /// Transitions that tune and are thrown away.
    pub warmup: u32,
    /// Transitions that are kept; where `until` says when to end, those before the first look.
    pub draws: u32,
    /// Draws on until the chains can be trusted; none: `draws` it is.
    pub until: Option<Until>,
    /// Seed of all randomness.
    pub seed: u64,
    /// Threads to use; none: one per core.
    pub threads: Option<usize>,
    /// Where the latents are computed.
    pub device: Device,
    /// How to sample.
    pub method: Method,
    /// Coordinates of the latents.
    pub coordinates: CoordinateChoice,
    /// Mass of the latents.
    pub mass: MassChoice,
    /// Integrator; none: the joint one where the masses are constant, ABLA otherwise.
    pub integrator: Option<Integrator>,
    /// Steps of each trajectory, or of the latents' turn where they take turns; none: as many as its length asks for.
    pub steps: Option<u32>,
    /// Steps of the hyperparameters' turn where they take turns; none: chosen.
    pub hyper_steps: Option<u32>,
    /// Mean length of a trajectory in units where the standardised posterior has frequency one; none: chosen.
    pub path: Option<f64>,
    /// How fast standardised hyperparameters move compared with standardised latents; none: chosen.
    pub hyper_speed: Option<f64>,
    /// Trajectory lengths vary by this share either way; where the number of steps is fixed, their size by up to it. None: chosen.
    pub jitter: Option<f64>,
    /// Acceptance probability the step size is tuned to.
    pub acceptance: f64,
    /// Whether the latents learn to follow the hyperparameters.
    pub tilt: bool,
    /// Most steps of a trajectory.
    pub most_steps: u32,
    /// Memory for field draws kept for diagnosis, in bytes over all chains; none: 256 MiB, and on a GPU, where draws would have to
    /// travel, at most 1024 sites.
    pub field_memory: Option<usize>,
    /// Chains and draws of each that the thinning of fields is planned for; none: those that are made. A run that is extended, or
    /// merged with others, keeps its thinning.
    pub planned: Option<(u32, u32)>,
    /// Levels whose exceedance by the exponential of the field is counted, over every draw, with its moments; none: that
    /// exponential means nothing.
    pub exceed: Option<Vec<f64>>,
    /// Whether a field on a grid may be put into a smaller torus if a pilot run shows that its range is short.
    pub small_torus: bool,
    /// Share of the likelihood's mean information that informed coordinates take; none: chosen.
    pub information_share: Option<f64>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            chains: 4,
            first_chain: 0,
            warmup: 300,
            draws: 1000,
            until: None,
            seed: 1,
            threads: None,
            device: Device::cpu(),
            method: Method::Sshmc,
            coordinates: CoordinateChoice::Auto,
            mass: MassChoice::Auto,
            integrator: None,
            steps: None,
            hyper_steps: None,
            path: None,
            hyper_speed: None,
            jitter: None,
            acceptance: 0.8,
            tilt: true,
            most_steps: 1000,
            field_memory: None,
            planned: None,
            exceed: None,
            small_torus: true,
            information_share: None,
        }
    }
}

impl Settings {
    /// Checks what can be checked without a model.
    pub fn check(&self) -> Result<()> {
        let at_least_one = |name: &str, value: u32| {
            if value == 0 {
                return Err(Error::input(
                    format!("--{name}"),
                    "a whole number >= 1",
                    "0",
                    format!("ask for at least one, for instance --{name} 4"),
                ));
            }
            Ok(())
        };
        at_least_one("chains", self.chains)?;
        at_least_one("draws", self.draws)?;
        at_least_one("most-steps", self.most_steps)?;
        at_least_one("steps", self.steps.unwrap_or(1))?;
        at_least_one("hyper-steps", self.hyper_steps.unwrap_or(1))?;
        if self.threads == Some(0) {
            at_least_one("threads", 0)?;
        }
        if let Some(until) = self.until {
            at_least_one("max-draws", until.most)?;
        }
        let inside = |name: &str, value: f64, lower: f64, upper: f64| {
            if value > lower && value < upper {
                return Ok(());
            }
            Err(Error::input(
                name,
                format!("a number between {lower} and {upper}"),
                format!("{value}"),
                "leave it out for the default",
            ))
        };
        inside("acceptance", self.acceptance, 0.0, 1.0)?;
        inside("jitter", self.jitter.unwrap_or(0.0), -1e-9, 1.0)?;
        if let Some(path) = self.path {
            inside("path", path, 0.0, 1e6)?;
        }
        if let Some(speed) = self.hyper_speed {
            inside("hyperparameter speed", speed, 0.0, 1e3)?;
        }
        if let Some(share) = self.information_share {
            inside("information share", share, -1e-9, 1e6)?;
        }
        Ok(())
    }

    /// The most draws a chain can have.
    pub fn most_draws(&self) -> u32 {
        self.until.map_or(self.draws, |until| until.most)
    }

    /// Whether coordinates are learnt.
    pub(crate) fn learns(&self) -> bool {
        matches!(self.coordinates, CoordinateChoice::Auto | CoordinateChoice::Informed)
    }

    /// The integrator for latents with constant or φ-dependent mass.
    pub(crate) fn integrator_for(&self, centred: bool, constant_mass: bool) -> Integrator {
        let flow = if centred || !constant_mass { Flow::Drift } else { Flow::Rotation };
        self.integrator.unwrap_or(if constant_mass {
            Integrator::Joint(flow)
        } else {
            Integrator::Abla { flow, k1: 2, k2: 1 }
        })
    }
}
