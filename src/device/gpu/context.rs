//! Holds an open GPU: its queue, its compiled stages, what it has cost so far, and whether it still works.

use super::adapters::AdapterSummary;
use super::mistake::mistake;
use super::stage::{Spec, Stage};
use crate::error::{DeviceError, Result};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

/// The longest a wait may take: drivers compile at the first dispatch, software ones for up to a minute.
const PATIENCE: Duration = Duration::from_secs(300);

/// What a GPU was asked to do, counted since it was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Dispatches of a stage.
    pub dispatches: u64,
    /// Command buffers submitted.
    pub submissions: u64,
    /// Times the host waited.
    pub waits: u64,
    /// Bytes sent.
    pub uploaded: u64,
    /// Bytes fetched.
    pub downloaded: u64,
    /// Bytes that dispatches read and wrote in buffers, each counted once per dispatch.
    pub traffic: u64,
    /// Stages compiled.
    pub pipelines: u64,
    /// Buffers allocated.
    pub buffers: u64,
}

#[derive(Default)]
pub(super) struct Counters {
    pub(super) dispatches: AtomicU64,
    pub(super) submissions: AtomicU64,
    pub(super) waits: AtomicU64,
    pub(super) uploaded: AtomicU64,
    pub(super) downloaded: AtomicU64,
    pub(super) traffic: AtomicU64,
    pipelines: AtomicU64,
    buffers: AtomicU64,
}

/// An open GPU.
pub struct Gpu {
    pub(super) device: wgpu::Device,
    pub(super) queue: wgpu::Queue,
    summary: AdapterSummary,
    /// Whether it was opened here, with a handler for errors that nobody expects; the caller's own has the caller's.
    ours: bool,
    pub(super) counters: Counters,
    stages: Mutex<HashMap<String, Arc<Stage>>>,
    failure: Arc<OnceLock<DeviceError>>,
    exact_sums: OnceLock<bool>,
}

impl std::fmt::Debug for Gpu {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Gpu").field("adapter", &self.summary).finish_non_exhaustive()
    }
}

impl Gpu {
    /// Wraps a device and its queue. Only a device that is `ours` gets handlers for errors nobody expects.
    pub(crate) fn new(device: wgpu::Device, queue: wgpu::Queue, ours: bool) -> Result<Arc<Self>> {
        let summary = AdapterSummary::new(&device.adapter_info(), &device.limits());
        let failure = Arc::new(OnceLock::new());
        if ours {
            let (name, slot) = (summary.name.clone(), failure.clone());
            device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
                let _ = slot.set(describe(&name, "a command", &error));
            }));
            let (name, slot) = (summary.name.clone(), failure.clone());
            device.set_device_lost_callback(move |reason, message| {
                // Dropping a device also "loses" it, after its last use.
                let reason = format!("{reason:?} {message}").trim().to_owned();
                let _ = slot.set(DeviceError::Lost { adapter: name.clone(), reason });
            });
        }
        let gpu = Arc::new(Self {
            device,
            queue,
            summary,
            ours,
            counters: Counters::default(),
            stages: Mutex::default(),
            failure,
            exact_sums: OnceLock::new(),
        });
        let exact = gpu.test_sums(true)?;
        let _ = gpu.exact_sums.set(exact);
        Ok(gpu)
    }

    /// The adapter.
    pub fn adapter(&self) -> &AdapterSummary {
        &self.summary
    }

    /// What it has cost so far.
    pub fn cost(&self) -> Cost {
        let c = &self.counters;
        Cost {
            dispatches: c.dispatches.load(Relaxed),
            submissions: c.submissions.load(Relaxed),
            waits: c.waits.load(Relaxed),
            uploaded: c.uploaded.load(Relaxed),
            downloaded: c.downloaded.load(Relaxed),
            traffic: c.traffic.load(Relaxed),
            pipelines: c.pipelines.load(Relaxed),
            buffers: c.buffers.load(Relaxed),
        }
    }

    /// Whether sums and products of two numbers keep what rounding takes from them on this driver, as tested when it was opened. If
    /// not, energies are good to f32 rounding only, and the energy audit tells.
    pub fn sums_exactly(&self) -> bool {
        self.exact_sums.get().copied().unwrap_or(false)
    }

    /// Repeats that test, with the guard that keeps the driver from rearranging sums or without it: drivers that treat single precision as
    /// exact fail without.
    pub fn test_sums(&self, guarded: bool) -> Result<bool> {
        super::self_test::exact_sums(self, guarded)
    }

    /// The first thing that went wrong, if anything has.
    pub fn status(&self) -> Result<()> {
        self.failure.get().map_or(Ok(()), |e| Err(e.clone().into()))
    }

    /// Gives the device up: everything on it is lost, and whatever still uses it fails with an error.
    pub fn destroy(&self) {
        self.device.destroy();
    }

    /// Remembers a failure; the first one counts.
    pub(super) fn fail(&self, error: DeviceError) {
        let _ = self.failure.set(error);
    }

    /// Runs something that creates objects and turns the driver's complaints into an error.
    pub(super) fn checked<T>(&self, what: &str, create: impl FnOnce() -> T) -> Result<T> {
        match self.scoped(create) {
            (made, None) => Ok(made),
            (_, Some(error)) => Err(describe(&self.summary.name, what, &error).into()),
        }
    }

    /// Gives the device commands. On a caller's own device complaints about them are caught here, and do not reach a handler that may
    /// panic.
    pub(super) fn command<T>(&self, give: impl FnOnce() -> T) -> T {
        if self.ours {
            return give();
        }
        let (given, complaint) = self.scoped(give);
        if let Some(error) = complaint {
            self.fail(describe(&self.summary.name, "a command", &error));
        }
        given
    }

    /// Runs something and returns the first complaint about it.
    fn scoped<T>(&self, run: impl FnOnce() -> T) -> (T, Option<wgpu::Error>) {
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let made = run();
        let errors = [internal, validation, memory].map(|scope| pollster::block_on(scope.pop()));
        (made, errors.into_iter().flatten().next())
    }

    /// The largest buffer that stages can bind, in bytes.
    pub(super) fn largest(&self) -> u64 {
        self.summary.binding.min(self.summary.buffer) / 16 * 16
    }

    /// A buffer of zeros that stages can bind; an error if it is over the adapter's limits.
    pub(super) fn buffer(&self, what: &str, bytes: u64) -> Result<wgpu::Buffer> {
        use wgpu::BufferUsages as Use;
        self.allocate(what, bytes, self.largest(), Use::STORAGE | Use::COPY_DST | Use::COPY_SRC)
    }

    /// A buffer that the host reads.
    pub(super) fn staging(&self, what: &str, bytes: u64) -> Result<wgpu::Buffer> {
        use wgpu::BufferUsages as Use;
        self.allocate(what, bytes, self.summary.buffer, Use::MAP_READ | Use::COPY_DST)
    }

    fn allocate(
        &self,
        what: &str,
        bytes: u64,
        limit: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<wgpu::Buffer> {
        let size = bytes.max(16).next_multiple_of(16);
        if size > limit {
            return Err(DeviceError::OverLimit {
                adapter: self.summary.name.clone(),
                what: what.into(),
                bytes: size,
                limit,
            }
            .into());
        }
        self.counters.buffers.fetch_add(1, Relaxed);
        let descriptor =
            wgpu::BufferDescriptor { label: Some(what), size, usage, mapped_at_creation: false };
        self.checked(what, || self.device.create_buffer(&descriptor))
    }

    /// A buffer with these values.
    pub(super) fn buffer_of<T: bytemuck::Pod>(
        &self,
        what: &str,
        values: &[T],
    ) -> Result<wgpu::Buffer> {
        let buffer = self.buffer(what, size_of_val(values) as u64)?;
        self.upload(&buffer, 0, values);
        Ok(buffer)
    }

    /// Writes values into a buffer, in order with submissions.
    pub(super) fn upload<T: bytemuck::Pod>(
        &self,
        buffer: &wgpu::Buffer,
        offset: u64,
        values: &[T],
    ) {
        let bytes: &[u8] = bytemuck::cast_slice(values);
        self.counters.uploaded.fetch_add(bytes.len() as u64, Relaxed);
        self.command(|| self.queue.write_buffer(buffer, offset, bytes));
    }

    /// A compiled stage, from the cache if it was asked for before.
    pub(super) fn stage(&self, spec: &Spec) -> Result<Arc<Stage>> {
        let key = spec.key();
        let mut stages = self.stages.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(stage) = stages.get(&key) {
            return Ok(stage.clone());
        }
        self.counters.pipelines.fetch_add(1, Relaxed);
        let compiled = self.checked(spec.name, || Stage::compile(&self.device, spec));
        let stage = Arc::new(compiled.map_err(|error| mistake(spec).unwrap_or(error))?);
        stages.insert(key, stage.clone());
        Ok(stage)
    }

    /// Waits for a submission. False if the device no longer works.
    pub(super) fn wait(&self, submission: wgpu::SubmissionIndex) -> bool {
        self.counters.waits.fetch_add(1, Relaxed);
        let wait =
            wgpu::PollType::Wait { submission_index: Some(submission), timeout: Some(PATIENCE) };
        if let Err(error) = self.device.poll(wait) {
            self.fail(DeviceError::Lost {
                adapter: self.summary.name.clone(),
                reason: format!("no answer within {} s: {error}", PATIENCE.as_secs()),
            });
        }
        self.failure.get().is_none()
    }
}

/// What a driver's complaint means to a user.
fn describe(adapter: &str, what: &str, error: &wgpu::Error) -> DeviceError {
    let adapter = adapter.to_owned();
    match error {
        wgpu::Error::OutOfMemory { .. } => DeviceError::OutOfMemory { adapter, what: what.into() },
        other => DeviceError::Refused {
            adapter,
            problem: format!("{what}: {}", other.to_string().replace('\n', " ")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_of_a_driver_become_errors_a_user_understands() {
        let source = || Box::<dyn std::error::Error + Send + Sync>::from("full");
        let memory = wgpu::Error::OutOfMemory { source: source() };
        let error = describe("a GPU", "latents of all chains", &memory);
        assert!(matches!(error, DeviceError::OutOfMemory { .. }), "{error}");
        let text = error.to_string();
        assert!(text.contains("a GPU") && text.contains("latents of all chains"), "{text}");
        let description = "two\nlines".to_owned();
        let other = wgpu::Error::Validation { source: source(), description };
        let text = describe("a GPU", "a command", &other).to_string();
        assert!(text.contains("a command") && !text.contains('\n'), "{text}");
    }
}
