//! Says whether a run can be made on a GPU, and takes it to the CPU where that was left open.

use super::member::{Member, begin};
use super::plan::{choose_coordinates, choose_mass};
use super::settings::{CoordinateChoice, Method, Settings};
use crate::device::{Device, gpu::supported};
use crate::error::{DeviceError, Error, Result};
use crate::model::Model;

/// Why no GPU can run this, whatever its size: the method, the model, its coordinates or its mass has no stages there. None if one can.
pub fn refused_by_gpus(model: &Model, settings: &Settings) -> Option<DeviceError> {
    if settings.method != Method::Sshmc {
        return Some(DeviceError::Unsupported {
            what: "this method".into(),
            why: "only sshmc has stages there".into(),
            remedy: "use --device cpu".into(),
        });
    }
    if settings.coordinates == CoordinateChoice::Block {
        return Some(DeviceError::Unsupported {
            what: "block-informed coordinates".into(),
            why: "there are no stages for them yet".into(),
            remedy: "use --coordinates auto, or --device cpu".into(),
        });
    }
    let (coordinates, _) = choose_coordinates(model, settings);
    let mass = choose_mass(model, settings, &coordinates);
    match supported(model, &coordinates, &mass) {
        Err(Error::Device(error)) => Some(error),
        _ => None,
    }
}

/// Builds batches as they will be and lets them go again: an error of the device if that fails.
pub(super) fn rehearse(batches: &[Vec<Member<'_>>]) -> Result<()> {
    batches.iter().try_for_each(|members| begin(members).map(drop))
}

impl Settings {
    /// The same on the CPU, with fields thinned as they were to be.
    pub(super) fn on_cpu(&self) -> Self {
        let field_memory = Some(self.field_memory());
        Self { device: Device::cpu(), field_memory, ..self.clone() }
    }
}
