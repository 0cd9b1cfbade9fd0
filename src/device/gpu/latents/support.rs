//! Says which models run on a GPU, and why others do not.

use super::block::MOST_COVARIATES;
use crate::coordinates::Coordinates;
use crate::error::{DeviceError, Result};
use crate::hamiltonian::{LatentMass, MassKind};
use crate::likelihood::SiteTwin;
use crate::model::{Column, Model};
use crate::structure::{Information, Structure};

pub(super) fn structure_unsupported(structure: &Structure) -> DeviceError {
    let what = match structure {
        Structure::Spectral(_) => "a field on a grid",
        Structure::Ar1(_) => "an autoregression",
        Structure::Groups(_) => "a model with groups of coefficients",
        Structure::Dense(_) => "a prior with a dense covariance",
    };
    DeviceError::Unsupported {
        what: what.into(),
        why: "its prior has no stages there".into(),
        remedy: "use --device cpu".into(),
    }
}

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

pub(super) fn batch_unsupported() -> DeviceError {
    DeviceError::Unsupported {
        what: "a batch of different models".into(),
        why: "only series with the same likelihood share stages there".into(),
        remedy: "fit them one after another".into(),
    }
}

/// Whether a model can run on a GPU in these coordinates, and its likelihood there.
pub(super) fn supported(
    model: &Model,
    coordinates: &Coordinates,
    mass: &MassKind,
) -> Result<SiteTwin> {
    let refuse = |what: &str, why: &str, remedy: &str| {
        Err(DeviceError::Unsupported { what: what.into(), why: why.into(), remedy: remedy.into() }
            .into())
    };
    let structure = model.structure();
    if !matches!(structure, Structure::Spectral(_) | Structure::Ar1(_)) {
        return Err(structure_unsupported(structure).into());
    }
    let covariates = model.mean().iter().filter(|term| matches!(term.column, Column::Values(_)));
    let (count, grid) = (covariates.count(), matches!(structure, Structure::Spectral(_)));
    if count > 0 && !grid {
        return refuse(
            "a series with covariates",
            "only a field on a grid has stages for them there",
            "use --device cpu",
        );
    }
    if count > MOST_COVARIATES {
        return refuse(
            &format!("a mean with {count} covariates"),
            &format!("there is room for {MOST_COVARIATES} there"),
            "use --device cpu",
        );
    }
    let identity = LatentMass::new(structure, mass, coordinates)?.is_identity();
    let published = *coordinates == Coordinates::Centred
        && *mass == MassKind::Precision(Information::NONE)
        && matches!(structure, Structure::Spectral(_));
    if !published && (*coordinates == Coordinates::Centred || !identity) {
        return refuse(
            "this mass of the latents in these coordinates",
            "there are stages for unit mass in whitened or informed coordinates, and for centred fields on a grid with the prior's mass",
            "use --coordinates auto --mass auto, or --device cpu",
        );
    }
    match model.likelihood().twin() {
        Some(twin) => Ok(twin),
        None => refuse(
            "this likelihood",
            "it has no WGSL twin",
            "implement Likelihood::twin, or use the CPU",
        ),
    }
}
