//! Says which models run on a GPU, in which coordinates and with which mass, and why others do not: the one place that knows.

use super::block::MOST_COVARIATES;
use crate::coordinates::Coordinates;
use crate::device::Lane;
use crate::error::{DeviceError, Error, Result};
use crate::hamiltonian::{LatentMass, MassKind};
use crate::likelihood::SiteTwin;
use crate::model::{Column, Model};
use crate::structure::{Information, Structure};
use std::sync::Arc;

fn refuse<T>(what: impl Into<String>, why: &str, remedy: &str) -> Result<T> {
    let (what, why, remedy) = (what.into(), why.into(), remedy.into());
    Err(DeviceError::Unsupported { what, why, remedy }.into())
}

const CPU: &str = "use --device cpu";

/// Whether two models can share a batch: series, of any lengths, whose data are met by the same code.
pub(crate) fn alike(a: &Model, b: &Model) -> bool {
    let series = |model: &Model| matches!(model.structure(), Structure::Ar1(_));
    let code = |model: &Model| model.likelihood().twin().map(|twin| twin.wgsl);
    series(a)
        && series(b)
        && a.hyperparameters().len() == b.hyperparameters().len()
        && a.reports_mean() == b.reports_mean()
        && code(a) == code(b)
}

/// Whether a model can run on a GPU in these coordinates, and its likelihood there.
pub(crate) fn supported(
    model: &Model,
    coordinates: &Coordinates,
    mass: &MassKind,
) -> Result<SiteTwin> {
    check_prior(model)?;
    check_coordinates(model, coordinates, mass)?;
    match model.likelihood().twin() {
        Some(twin) => Ok(twin),
        None => refuse(
            "this likelihood",
            "it has no WGSL twin",
            "implement Likelihood::twin, or use the CPU",
        ),
    }
}

/// Refuses a structure that only the CPU computes with.
pub(super) fn no_stages<T>(structure: &Structure) -> Result<T> {
    let what = match structure {
        Structure::Groups(_) => "a model with groups of coefficients",
        Structure::Dense(_) => "a prior with a dense covariance",
        Structure::Spectral(_) => "a field on a grid",
        Structure::Ar1(_) => "a series",
    };
    refuse(what, "its prior has no stages there", CPU)
}

/// Whether the model's prior and mean have stages.
fn check_prior(model: &Model) -> Result<()> {
    let grid = match model.structure() {
        Structure::Groups(_) | Structure::Dense(_) => return no_stages(model.structure()),
        Structure::Spectral(field) if !field.table().layout().is_quarter() => {
            return refuse(
                "a field with a slanting direction",
                "its spectrum lacks the symmetry the stages rely on",
                "turn the map so that the angle is 0 or 90 degrees, or use the CPU",
            );
        }
        Structure::Spectral(_) => true,
        Structure::Ar1(_) => false,
    };
    let covariates = model.mean().iter().filter(|term| matches!(term.column, Column::Values(_)));
    let count = covariates.count();
    if count > 0 && !grid {
        let why = "only a field on a grid has stages for them there";
        return refuse("a series with covariates", why, CPU);
    }
    let own = model.likelihood().parameters();
    if count + own > MOST_COVARIATES {
        let why = format!("there is room for {MOST_COVARIATES} of both there");
        let what = format!(
            "a mean with {count} covariates and a likelihood with {own} hyperparameters of its own"
        );
        return refuse(what, &why, CPU);
    }
    Ok(())
}

/// Whether there are stages for these coordinates and this mass: unit mass in whitened or informed coordinates, and centred fields on
/// a grid with the prior's mass.
fn check_coordinates(model: &Model, coordinates: &Coordinates, mass: &MassKind) -> Result<()> {
    let structure = model.structure();
    let grid = matches!(structure, Structure::Spectral(_));
    let remedy = "use --coordinates auto --mass auto, or --device cpu";
    match coordinates {
        Coordinates::Centred if !grid => {
            refuse("a centred series", "only fields on a grid have stages for it there", remedy)
        }
        Coordinates::Centred if *mass != MassKind::Precision(Information::NONE) => refuse(
            "this mass",
            "in centred coordinates there are stages for the prior's mass only",
            remedy,
        ),
        Coordinates::Centred => Ok(()),
        Coordinates::Block(_) => {
            refuse("block-informed coordinates", "there are no stages for them yet", remedy)
        }
        Coordinates::Informed { information: Information::Blocks(_), .. } => {
            refuse("information in blocks", "there are stages for a single number only", CPU)
        }
        Coordinates::Informed { .. }
            if !LatentMass::new(structure, mass, coordinates)?.is_identity() =>
        {
            let why = "in whitened or informed coordinates there are stages for unit mass only";
            refuse("this mass", why, remedy)
        }
        Coordinates::Informed { .. } => Ok(()),
    }
}

/// Different models of a batch, and which of them each lane belongs to.
pub(super) struct Crew {
    /// A lane of each model, and its likelihood.
    pub(super) models: Vec<(Arc<Model>, SiteTwin)>,
    pub(super) whose: Vec<usize>,
    pub(super) centred: bool,
}

impl Crew {
    /// Checks, before anything is allocated, that all lanes can run, and together.
    pub(super) fn new(lanes: &[Lane], mass: &MassKind) -> Result<Self> {
        let Some(first) = lanes.first() else {
            return Err(Error::Numeric("a batch without chains".into()));
        };
        let centred = first.coordinates == Coordinates::Centred;
        let mut crew = Self { models: Vec::new(), whose: Vec::new(), centred };
        for lane in lanes {
            match crew.models.last() {
                Some((model, _)) if Arc::ptr_eq(model, &lane.model) => {
                    check_coordinates(model, &lane.coordinates, mass)?;
                }
                _ => {
                    let twin = supported(&lane.model, &lane.coordinates, mass)?;
                    crew.models.push((lane.model.clone(), twin));
                }
            }
            crew.whose.push(crew.models.len() - 1);
        }
        let same = |lane: &Lane| (lane.coordinates == Coordinates::Centred) == centred;
        let together = crew.models.iter().skip(1).all(|(model, _)| alike(&first.model, model));
        if !together || !lanes.iter().all(same) {
            return refuse(
                "a batch of different models or coordinates",
                "only series with the same likelihood share stages there",
                "fit them one after another",
            );
        }
        Ok(crew)
    }
}
