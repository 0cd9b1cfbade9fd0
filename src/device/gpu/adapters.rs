//! Finds graphics adapters and opens one.

use super::Gpu;
use crate::error::{DeviceError, Result};
use std::sync::Arc;
use wgpu::{Adapter, AdapterInfo, Backends, DeviceType, Instance, InstanceDescriptor, Limits};

/// What a user may want to know of an adapter.
#[derive(Clone, Debug)]
pub struct AdapterSummary {
    /// Its name.
    pub name: String,
    /// The interface it is reached through: Vulkan, Metal, DX12.
    pub backend: String,
    /// Discrete, integrated, virtual, software or other.
    pub kind: &'static str,
    /// The driver and its version.
    pub driver: String,
    /// Whether it only imitates a GPU on the processor.
    pub software: bool,
    /// Invocations that can share memory.
    pub workgroup: u32,
    /// Bytes they can share.
    pub shared_memory: u32,
    /// Largest number of bytes a shader can see at once.
    pub binding: u64,
    /// Largest buffer, in bytes.
    pub buffer: u64,
    /// Workgroups a dispatch can have along one side.
    pub workgroups: u32,
}

impl AdapterSummary {
    pub(super) fn new(info: &AdapterInfo, limits: &Limits) -> Self {
        let kind = match info.device_type {
            DeviceType::DiscreteGpu => "discrete",
            DeviceType::IntegratedGpu => "integrated",
            DeviceType::VirtualGpu => "virtual",
            DeviceType::Cpu => "software",
            DeviceType::Other => "other",
        };
        Self {
            name: info.name.clone(),
            backend: format!("{:?}", info.backend),
            kind,
            driver: [&info.driver[..], &info.driver_info[..]].join(" ").trim().to_owned(),
            software: info.device_type == DeviceType::Cpu,
            workgroup: limits.max_compute_invocations_per_workgroup,
            shared_memory: limits.max_compute_workgroup_storage_size,
            binding: limits.max_storage_buffer_binding_size,
            buffer: limits.max_buffer_size,
            workgroups: limits.max_compute_workgroups_per_dimension,
        }
    }
}

/// Which adapter to open.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Wanted<'a> {
    /// The best: hardware before software, discrete before integrated.
    Best,
    /// The best whose name contains this, whatever the case of its letters.
    Named(&'a str),
    /// The best that is hardware.
    Hardware,
}

fn rank(kind: DeviceType) -> u32 {
    match kind {
        DeviceType::DiscreteGpu => 0,
        DeviceType::IntegratedGpu => 1,
        DeviceType::VirtualGpu => 2,
        DeviceType::Other => 3,
        DeviceType::Cpu => 4,
    }
}

/// Every adapter, the best first.
fn adapters() -> Vec<Adapter> {
    let mut descriptor = InstanceDescriptor::new_without_display_handle_from_env();
    if std::env::var_os("WGPU_BACKEND").is_none() {
        descriptor.backends = Backends::PRIMARY;
    }
    let backends = descriptor.backends;
    let instance = Instance::new(descriptor);
    let mut found = pollster::block_on(instance.enumerate_adapters(backends));
    found.sort_by_key(|adapter| rank(adapter.get_info().device_type));
    found
}

/// Lists every adapter, the best first.
pub fn list() -> Vec<AdapterSummary> {
    adapters().iter().map(|a| AdapterSummary::new(&a.get_info(), &a.limits())).collect()
}

/// Opens an adapter.
pub(crate) fn open(wanted: Wanted<'_>) -> Result<Arc<Gpu>> {
    let found = adapters();
    let names: Vec<String> = found.iter().map(|a| a.get_info().name).collect();
    let fits = |adapter: &&Adapter| {
        let info = adapter.get_info();
        match wanted {
            Wanted::Best => true,
            Wanted::Named(part) if part.trim().is_empty() => false,
            Wanted::Named(part) => info.name.to_lowercase().contains(&part.to_lowercase()),
            Wanted::Hardware => info.device_type != DeviceType::Cpu,
        }
    };
    let Some(adapter) = found.iter().find(fits) else {
        return Err(match wanted {
            Wanted::Named(part) if !names.is_empty() => {
                let part = if part.trim().is_empty() { "''" } else { part };
                DeviceError::NoSuchAdapter { part: part.to_owned(), found: names.join(", ") }
            }
            _ => DeviceError::NoAdapter,
        }
        .into());
    };
    let name = adapter.get_info().name;
    let opened = pollster::block_on(adapter.request_device(&wgpu::DeviceDescriptor {
        label: Some("sshmc"),
        required_features: wgpu::Features::empty(),
        required_limits: adapter.limits(),
        experimental_features: wgpu::ExperimentalFeatures::disabled(),
        memory_hints: wgpu::MemoryHints::Performance,
        trace: wgpu::Trace::Off,
    }));
    let (device, queue) =
        opened.map_err(|e| DeviceError::Refused { adapter: name, problem: e.to_string() })?;
    Gpu::new(device, queue, true)
}
