//! Decides what all chains of a model share: coordinates, mass, integrator, tuning to start from, and what is recorded.

use super::found::{Found, Prepared};
use super::information::{Share, information};
use super::settings::{CoordinateChoice, MassChoice, Method, Settings};
use super::state::Tuning;
use super::warmup::Goals;
use crate::coordinates::Coordinates;
use crate::device::Flow;
use crate::draws::FieldPlan;
use crate::error::{Error, Result};
use crate::hamiltonian::{LatentMass, MassKind};
use crate::integrate::Integrator;
use crate::model::Model;
use crate::structure::{Information, Sides, Structure};
use std::sync::Arc;

/// What all chains of a model share.
pub(super) struct Plan<'a> {
    pub(super) model: &'a Arc<Model>,
    pub(super) settings: &'a Settings,
    pub(super) coordinates: Coordinates,
    pub(super) mass: MassKind,
    pub(super) integrator: Integrator,
    pub(super) tuning: Tuning,
    /// Share of the information that coordinates learn; none if they are fixed.
    pub(super) learn: Option<Share>,
    /// What a pilot run found, where the coordinates are its own.
    pub(super) found: Option<&'a Found>,
    pub(super) field: FieldPlan,
    pub(super) name: &'static str,
}

impl<'a> Plan<'a> {
    pub(super) fn new(prepared: &'a Prepared, settings: &'a Settings) -> Result<Self> {
        let (model, found) = (&prepared.model, prepared.found.as_ref());
        let (coordinates, learn) = match found {
            Some(found) => (found.coordinates.clone(), None),
            None => choose_coordinates(model, settings),
        };
        let mass = choose_mass(model, settings, &coordinates);
        let integrator = match settings.method {
            Method::Sshmc => choose_integrator(model, settings, &mass, &coordinates)?,
            // The others have their own.
            _ => Integrator::Joint(Flow::Drift),
        };
        let grid = is_grid(model) && found.is_none();
        let (path, jitter) =
            if found.is_some() { (BLOCK_PATH, BLOCK_JITTER) } else { (PATH, JITTER) };
        let tuning = Tuning {
            step: found.map_or(0.1, |found| found.step),
            ratio: settings.hyper_speed.unwrap_or(if grid { GRID_SPEED } else { 1.0 }),
            path: settings.path.unwrap_or(if grid { GRID_PATH } else { path }),
            jitter: settings.jitter.unwrap_or(jitter),
            careful: 0.0,
            retry: found.is_some(),
            most_steps: settings.most_steps,
            steps: settings.steps,
        };
        let field = field_plan(model, settings);
        let name = if learn.is_some() { "informed" } else { coordinates.name() };
        Ok(Self {
            model,
            settings,
            coordinates,
            mass,
            integrator,
            tuning,
            learn,
            found,
            field,
            name,
        })
    }

    /// What warm-up is to reach.
    pub(super) fn goals(&self) -> Goals {
        Goals {
            warmup: self.settings.warmup,
            start: self.tuning,
            acceptance: self.settings.acceptance,
            blocks: matches!(self.integrator, Integrator::Abla { .. }),
            share: self.learn,
            metric: self.found.is_none(),
            tilt: self.settings.tilt && self.found.is_none(),
        }
    }
}

/// Mean trajectory length: a little over a quarter turn of the standardised posterior, so that successive draws lie on opposite
/// sides of the mean more often than not, yet squares are forgotten too.
pub(super) const PATH: f64 = 2.0;
/// The same for fields on a grid, whose data-rich cells turn faster than the rest.
const GRID_PATH: f64 = 1.6;
/// The same in block coordinates.
pub(super) const BLOCK_PATH: f64 = 2.2;
/// Lengths vary by this share either way.
pub(super) const JITTER: f64 = 0.3;
/// The same in block coordinates. What block and band leave turns faster than the rest, and where it turned by just a whole turn in
/// every trajectory it would hardly move: with half the length either way no speed does.
pub(super) const BLOCK_JITTER: f64 = 0.5;
/// On a grid the hyperparameters are tied to many latents and profit from moving faster than those.
const GRID_SPEED: f64 = 1.5;

/// Memory for field draws unless the user says how much.
const FIELD_MEMORY: usize = 256 << 20;
/// Sites whose draws leave a GPU unless the user asks for more: enough to diagnose the field by.
const GPU_SITES: usize = 1024;

/// What a run records of the field.
pub fn field_plan(model: &Model, settings: &Settings) -> FieldPlan {
    field_plan_of(model.structure().sites(), settings)
}

/// The same of a field with so many sites.
pub(super) fn field_plan_of(sites: usize, settings: &Settings) -> FieldPlan {
    let [chains, draws] = settings.planned_draws();
    let plan = FieldPlan::new(sites, chains, draws, settings.field_memory());
    match &settings.exceed {
        Some(levels) => plan.with_exponential(levels),
        None => plan,
    }
}

impl Settings {
    /// Chains and draws of each that fields are thinned for.
    fn planned_draws(&self) -> [usize; 2] {
        let (chains, draws) = self.planned.unwrap_or((self.chains, self.most_draws()));
        [chains as usize, draws as usize]
    }

    /// Bytes for field draws.
    pub(super) fn field_memory(&self) -> usize {
        let few = 4 * GPU_SITES * self.planned_draws().iter().product::<usize>();
        let own = if self.device.is_gpu() { FIELD_MEMORY.min(few) } else { FIELD_MEMORY };
        self.field_memory.unwrap_or(own)
    }
}

/// Whether a smaller torus may be looked for. One of any sides would not do for a GPU.
pub(super) fn may_shrink(model: &Model, settings: &Settings) -> bool {
    if settings.method != Method::Sshmc || !settings.small_torus || !settings.learns() {
        return false;
    }
    match model.structure() {
        Structure::Spectral(field) => {
            !settings.device.is_gpu() || field.sides() == Sides::PowersOfTwo
        }
        _ => true,
    }
}

fn is_grid(model: &Model) -> bool {
    matches!(model.structure(), Structure::Spectral(_))
}

/// Whether a run of a field on a grid is to be in block coordinates.
pub(super) fn takes_block(settings: &Settings) -> bool {
    let chosen = matches!(settings.coordinates, CoordinateChoice::Auto | CoordinateChoice::Block);
    let unit = matches!(settings.mass, MassChoice::Auto | MassChoice::Identity);
    let sshmc = settings.method == Method::Sshmc;
    sshmc && chosen && unit && !settings.device.is_gpu() && settings.information_share.is_none()
}

/// Refuses block coordinates that were asked for where there are none.
pub(super) fn refuse_block(model: &Model, settings: &Settings) -> Result<()> {
    let asked = settings.coordinates == CoordinateChoice::Block;
    let offered = is_grid(model) && takes_block(settings);
    if !asked || offered {
        return Ok(());
    }
    Err(Error::input(
        "--coordinates block",
        "a map, by sshmc with unit mass on the CPU",
        format!(
            "the model {}, by {} on {}",
            model.name(),
            settings.method.name(),
            settings.device.name()
        ),
        "choose --coordinates auto",
    ))
}

/// The coordinates to start in, and the share of information to learn if they are to be learnt.
pub(super) fn choose_coordinates(
    model: &Model,
    settings: &Settings,
) -> (Coordinates, Option<Share>) {
    let share = settings.information_share.map_or(Share::Chosen, Share::Fixed);
    match settings.coordinates {
        CoordinateChoice::Centred => (Coordinates::Centred, None),
        CoordinateChoice::Whitened => (Coordinates::whitened(), None),
        CoordinateChoice::Informed | CoordinateChoice::Block | CoordinateChoice::Auto => {
            let information = information(model, &model.start_predictor(), &model.start(), share);
            let shift = model.start_mean().map(|mean| Arc::new(information.times(&mean)));
            (Coordinates::Informed { information, shift }, Some(share))
        }
    }
}

/// The integrator, which must suit the mass.
fn choose_integrator(
    model: &Model,
    settings: &Settings,
    mass: &MassKind,
    coordinates: &Coordinates,
) -> Result<Integrator> {
    let constant = LatentMass::new(model.structure(), mass, coordinates)?.is_identity();
    let integrator = settings.integrator_for(*coordinates == Coordinates::Centred, constant);
    match integrator {
        Integrator::Joint(_) if !constant => Err(Error::input(
            "integrator",
            "ABLA, because the latents' mass depends on the hyperparameters",
            "the joint leapfrog",
            "choose the identity mass or ABLA",
        )),
        _ => Ok(integrator),
    }
}

pub(super) fn choose_mass(
    model: &Model,
    settings: &Settings,
    coordinates: &Coordinates,
) -> MassKind {
    match (settings.mass, coordinates) {
        (MassChoice::Identity, _) => MassKind::Identity,
        (MassChoice::Auto, Coordinates::Informed { .. } | Coordinates::Block(_)) => {
            MassKind::Identity
        }
        (MassChoice::Auto, Coordinates::Centred) | (MassChoice::Prior, _) => {
            MassKind::Precision(Information::NONE)
        }
        (MassChoice::PriorPlusInformation, _) => MassKind::Precision(information(
            model,
            &model.start_predictor(),
            &model.start(),
            Share::Fixed(1.0),
        )),
    }
}
