//! Takes the device away from a run on its way: the error says so, what was kept stays, and the run ends elsewhere with the same bits.

use crate::resume::{bits, models};
use sshmc::archive::{Archive, Axis, Contents, archive_of};
use sshmc::checkpoint::{CheckpointOptions, Checkpoints, has_states};
use sshmc::device::Device;
use sshmc::model::Model;
use sshmc::sample::{Fit, Info, Progress, Settings, Stage, field_plan, run, run_kept};
use sshmc::{DeviceError, Error, Result};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

/// Destroys the device after so many transitions of the first chain.
struct Thief {
    device: Device,
    after: u32,
    seen: AtomicU32,
}

impl Progress for Thief {
    fn transition(&self, chain: u32, _: Stage, _: &Info, _: &[f64]) {
        if chain == 0 && self.seen.fetch_add(1, Ordering::Relaxed) + 1 == self.after {
            self.device.as_gpu().unwrap().destroy();
        }
    }
}

/// Opens a device of its own, which may be destroyed.
fn device() -> Device {
    match std::env::var("SSHMC_TEST_ADAPTER") {
        Ok(part) => Device::gpu_named(&part).unwrap(),
        Err(_) => Device::gpu().unwrap(),
    }
}

/// Runs with a state kept after every transition.
fn kept(
    directory: &Path,
    model: &Arc<Model>,
    settings: &Settings,
    progress: &dyn Progress,
) -> Result<Fit> {
    let sites = model.structure().sites();
    let contents = Contents {
        model: "test".into(),
        names: model.hyperparameters().names().iter().map(ToString::to_string).collect(),
        chains: (0..settings.chains).collect(),
        draws: settings.draws as usize,
        axes: vec![Axis { name: "i".into(), values: (0..sites).map(|k| k as f64).collect() }],
        data: Vec::new(),
    };
    let archive = Archive::create(&archive_of(directory), &contents, &field_plan(model, settings))?;
    let stop = AtomicBool::new(false);
    let warn = |text: &str| panic!("nothing is damaged: {text}");
    let options = CheckpointOptions { interval: Duration::ZERO, stop: &stop, warn: &warn };
    let keeper = Checkpoints::open(directory, archive, &settings.device.name(), options)?;
    run_kept(model, settings, progress, &keeper)
}

#[test]
fn a_run_that_loses_its_device_goes_on_on_another_with_the_same_bits() {
    for (name, model) in models() {
        let base = Settings {
            device: device(),
            chains: 2,
            warmup: 40,
            draws: 20,
            small_torus: false,
            ..Settings::default()
        };
        let want = run(&model, &base, &()).unwrap();
        let directory = tempfile::tempdir().unwrap();
        // While it warms up, and while it draws.
        for after in [25, 28] {
            let thief = Thief { device: device(), after, seen: AtomicU32::new(0) };
            let settings = Settings { device: thief.device.clone(), ..base.clone() };
            let error = kept(directory.path(), &model, &settings, &thief).unwrap_err();
            assert!(
                matches!(
                    error,
                    Error::Device(DeviceError::Lost { .. } | DeviceError::Refused { .. })
                ),
                "{name}: {error}"
            );
            assert!(error.to_string().contains("GPU"), "{name}: {error}");
            assert!(has_states(directory.path()), "{name}: nothing was kept");
        }
        let settings = Settings { device: device(), ..base.clone() };
        let got = kept(directory.path(), &model, &settings, &()).unwrap();
        assert!(bits(&got) == bits(&want), "{name}: other bits");
    }
}
