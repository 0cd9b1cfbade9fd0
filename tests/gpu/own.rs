//! Runs on a device that the caller opened: the caller keeps it, and its loss is an error of the run.

use crate::worlds::cox;
use sshmc::device::Device;
use sshmc::sample::{Settings, run};
use sshmc::{DeviceError, Error};

/// What a program that computes on a GPU itself would have.
pub(crate) struct Own {
    pub(crate) instance: wgpu::Instance,
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
}

impl Own {
    pub(crate) fn open() -> Self {
        let descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
        let instance = wgpu::Instance::new(descriptor);
        let found = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::PRIMARY));
        let part = std::env::var("SSHMC_TEST_ADAPTER").unwrap_or_default().to_lowercase();
        let fits = |a: &&wgpu::Adapter| a.get_info().name.to_lowercase().contains(&part);
        let adapter = found.iter().find(fits).unwrap();
        // The defaults, which are less than most adapters have.
        let opened = adapter.request_device(&wgpu::DeviceDescriptor::default());
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
