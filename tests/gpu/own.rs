//! Runs on a device that the caller opened: the caller keeps it, and its loss is an error of the run.

use crate::resume::{bits, models};
use crate::worlds::{cox, series, with_covariates};
use sshmc::coordinates::Coordinates;
use sshmc::device::Device;
use sshmc::hamiltonian::MassKind;
use sshmc::model::{Model, funnel};
use sshmc::sample::{Settings, field_plan, run};
use sshmc::{DeviceError, Error, Result};
use std::sync::Arc;

/// What a program that computes on a GPU itself would have.
pub(crate) struct Own {
    pub(crate) instance: wgpu::Instance,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
}

impl Own {
    /// The defaults, which are less than most adapters have.
    pub(crate) fn open() -> Self {
        Self::with(wgpu::Limits::default())
    }

    /// No more than these limits.
    pub(crate) fn with(limits: wgpu::Limits) -> Self {
        let descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
        let instance = wgpu::Instance::new(descriptor);
        let found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let part = std::env::var("SSHMC_TEST_ADAPTER").unwrap_or_default().to_lowercase();
        let fits = |a: &&wgpu::Adapter| a.get_info().name.to_lowercase().contains(&part);
        let adapter = found.iter().find(fits).unwrap();
        let opened = adapter.request_device(&wgpu::DeviceDescriptor {
            required_limits: limits,
            ..wgpu::DeviceDescriptor::default()
        });
        let (device, queue) = pollster::block_on(opened).unwrap();
        Self { instance, device, queue }
    }
}

fn settings(device: Device) -> Settings {
    Settings { device, chains: 2, warmup: 30, draws: 10, ..Settings::default() }
}

#[test]
fn a_fit_runs_on_the_callers_device() {
    let Own { device, queue, .. } = Own::open();
    let model = cox(8, 8, None);
    let own = Device::from_wgpu(device.clone(), queue.clone()).unwrap();
    let fit = run(&model, &settings(own), &()).unwrap();
    assert!(fit.audit.unwrap().worst < 1e-3);
    let same = run(&model, &settings(crate::worlds::device()), &()).unwrap();
    for (a, b) in fit.chains.iter().zip(&same.chains) {
        assert_eq!(a.parameters, b.parameters, "the same adapter gives the same draws");
    }
    // The device is still the caller's to use.
    let descriptor = wgpu::BufferDescriptor {
        label: None,
        size: 16,
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    };
    queue.write_buffer(&device.create_buffer(&descriptor), 0, &[0; 16]);
    queue.submit([]);
}

#[test]
fn a_device_the_caller_gives_up_is_an_error() {
    let Own { device, queue, .. } = Own::open();
    let own = Device::from_wgpu(device.clone(), queue).unwrap();
    device.destroy();
    let error = run(&cox(8, 8, None), &settings(own), &()).unwrap_err();
    assert!(
        matches!(error, Error::Device(DeviceError::Lost { .. } | DeviceError::Refused { .. })),
        "{error}"
    );
}

/// A device whose buffers have at most so many bytes.
fn narrow(bytes: u64) -> Device {
    let limits = wgpu::Limits { max_storage_buffer_binding_size: bytes, ..wgpu::Limits::default() };
    let Own { device, queue, .. } = Own::with(limits);
    Device::from_wgpu(device, queue).unwrap()
}

/// A device that takes at most so many workgroups along a side of a dispatch.
fn stubby(workgroups: u32) -> Device {
    let limits = wgpu::Limits {
        max_compute_workgroups_per_dimension: workgroups,
        ..wgpu::Limits::default()
    };
    let Own { device, queue, .. } = Own::with(limits);
    Device::from_wgpu(device, queue).unwrap()
}

/// Builds so many chains, and everything that records their draws.
fn build(device: &Device, model: &Arc<Model>, chains: usize, settings: &Settings) -> Result<()> {
    let z = vec![0.0; model.structure().dim()];
    let lanes = (0..chains as u32).map(|id| (id, z.clone())).collect();
    let whitened = Coordinates::whitened();
    let mut latents = device.latents(model, &whitened, &MassKind::Identity, 1, lanes)?;
    let plan = field_plan(model, settings);
    latents.choose(&vec![&plan; chains])?;
    latents.status()
}

#[test]
fn a_batch_has_exactly_the_room_that_is_promised() {
    let wide = narrow(1 << 19);
    let short = stubby(40);
    let levels = vec![1.0; 90];
    let many = Settings { exceed: Some(levels), draws: 10, ..Settings::default() };
    let few = Settings { draws: 10, ..Settings::default() };
    for (name, device, model, settings) in [
        ("field", &wide, cox(30, 21, None), &few),
        ("field with a table larger than the rest", &wide, cox(60, 2, None), &few),
        ("field with many levels", &wide, cox(30, 21, None), &many),
        ("covariates", &wide, with_covariates(20, 30), &few),
        ("series", &wide, series(2000), &few),
        ("short series", &short, series(20), &few),
    ] {
        let room = device.room(&model, &field_plan(&model, settings));
        println!("{name}: {room}");
        assert!((2..2000).contains(&room), "{name}: room for {room}");
        build(device, &model, room, settings).unwrap_or_else(|e| panic!("{name}: {e}"));
        let error = build(device, &model, room + 1, settings).unwrap_err();
        let refused = matches!(
            error,
            Error::Device(DeviceError::OverLimit { .. } | DeviceError::Unsupported { .. })
        );
        assert!(refused, "{name}: {error}");
    }
    assert_eq!(
        Device::cpu().room(&cox(3, 3, None), &field_plan(&cox(3, 3, None), &few)),
        usize::MAX
    );
}

#[test]
fn chains_that_do_not_fit_together_take_turns_with_the_same_bits() {
    let field = models().remove(0).1;
    for (name, model, device) in
        [("field", field, narrow(8192)), ("series", series(150), stubby(4))]
    {
        let settings = |device| Settings {
            device,
            chains: 5,
            warmup: 20,
            draws: 6,
            small_torus: false,
            exceed: Some(vec![1.0]),
            ..Settings::default()
        };
        let all = settings(crate::worlds::device());
        let turns = settings(device);
        let room = |of: &Settings| of.device.room(&model, &field_plan(&model, of));
        assert!(room(&turns) < 5 && room(&all) >= 5, "{name}: {}, {}", room(&turns), room(&all));
        let (want, got) = (run(&model, &all, &()).unwrap(), run(&model, &turns, &()).unwrap());
        let ids = |fit: &sshmc::sample::Fit| fit.chains.iter().map(|c| c.chain).collect::<Vec<_>>();
        assert_eq!(ids(&got), [0, 1, 2, 3, 4], "{name}");
        assert!(bits(&got) == bits(&want), "{name}: other bits when they take turns");
        assert!(got.audit.is_some_and(|audit| audit.worst < 1e-3), "{name}: {:?}", got.audit);
        let differ = got.chains[3].parameters != want.chains[4].parameters;
        assert!(differ, "{name}: the comparison sees nothing");
    }
}

#[test]
fn what_does_not_fit_is_refused_or_left_to_the_cpu() {
    let brief = |device| Settings { device, chains: 2, warmup: 5, draws: 3, ..Settings::default() };
    let limits =
        wgpu::Limits { max_compute_workgroup_storage_size: 2048, ..wgpu::Limits::default() };
    let Own { device, queue, .. } = Own::with(limits);
    let cramped = Device::from_wgpu(device, queue).unwrap();
    let field = cox(30, 21, None);
    for (model, device, why) in [
        (&field, narrow(8192), "8192"),
        (&field, cramped, "workgroup memory"),
        (&Arc::new(funnel(5, &[]).unwrap()), narrow(8192), "groups of coefficients"),
    ] {
        let error = run(model, &brief(device.clone()), &()).unwrap_err();
        assert!(matches!(error, Error::Device(_)) && error.to_string().contains(why), "{error}");
        let fit = run(model, &brief(device.or_cpu()), &()).unwrap();
        let notes = fit.model.notes().join("; ");
        assert!(notes.contains("ran on the CPU") && notes.contains(why), "{notes}");
        assert_eq!((&fit.device[..], fit.chains.len(), fit.audit), ("cpu", 2, None));
        let cpu = run(
            model,
            &Settings { field_memory: fit.settings.field_memory, ..brief(Device::cpu()) },
            &(),
        );
        assert!(bits(&cpu.unwrap()) == bits(&fit), "not what the CPU gives");
    }
    // Where it fits nothing changes.
    let fit = run(&field, &brief(crate::worlds::device().or_cpu()), &()).unwrap();
    assert!(fit.device != "cpu" && fit.audit.is_some() && fit.exact_sums, "{}", fit.device);
    assert!(!fit.model.notes().iter().any(|note| note.contains("CPU")), "{:?}", fit.model.notes());
}
