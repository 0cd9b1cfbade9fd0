//! Lists what a GPU is to do, then has it done in one submission; a download is a command of the list, so no wait can hide.

use super::Gpu;
use super::stage::Bound;
use std::sync::atomic::Ordering::Relaxed;

/// Commands for one submission.
#[derive(Default)]
pub(super) struct Recording<'a> {
    /// The first of them, which are all that an evaluation has: no memory is asked for.
    few: [Option<Command<'a>>; FEW],
    count: usize,
    more: Vec<Command<'a>>,
}

const FEW: usize = 8;

enum Command<'a> {
    Dispatch(&'a Bound),
    Copy { from: &'a wgpu::Buffer, to: &'a wgpu::Buffer, offsets: [u64; 2], bytes: u64 },
}

impl<'a> Recording<'a> {
    /// Runs a stage.
    pub(super) fn dispatch(&mut self, bound: &'a Bound) -> &mut Self {
        self.push(Command::Dispatch(bound))
    }

    /// Copies bytes between buffers, from and to these offsets.
    pub(super) fn copy(
        &mut self,
        from: &'a wgpu::Buffer,
        to: &'a wgpu::Buffer,
        offsets: [u64; 2],
        bytes: u64,
    ) -> &mut Self {
        self.push(Command::Copy { from, to, offsets, bytes })
    }

    fn push(&mut self, command: Command<'a>) -> &mut Self {
        match self.few.get_mut(self.count) {
            Some(place) => *place = Some(command),
            None => self.more.push(command),
        }
        self.count += 1;
        self
    }

    /// Submits, and does not wait.
    pub(super) fn submit(&self, gpu: &Gpu) {
        gpu.counters.submissions.fetch_add(1, Relaxed);
        gpu.command(|| gpu.queue.submit([self.encode(gpu).finish()]));
    }

    /// Submits, waits once, and hands these bytes of staging buffers that were copied to over to `read`, one buffer after the other.
    /// False if the device failed; nothing is read then.
    pub(super) fn download(
        &self,
        gpu: &Gpu,
        staging: &[(&wgpu::Buffer, u64)],
        read: impl FnMut(&[u8]),
    ) -> bool {
        self.download_each(gpu, staging.iter().copied(), read)
    }

    /// The same with buffers that are listed one by one.
    pub(super) fn download_each<'b>(
        &self,
        gpu: &Gpu,
        staging: impl Iterator<Item = (&'b wgpu::Buffer, u64)> + Clone,
        mut read: impl FnMut(&[u8]),
    ) -> bool {
        if gpu.status().is_err() {
            return false;
        }
        gpu.counters.submissions.fetch_add(1, Relaxed);
        let submission = gpu.command(|| {
            let encoder = self.encode(gpu);
            for (buffer, bytes) in staging.clone() {
                encoder.map_buffer_on_submit(buffer, wgpu::MapMode::Read, 0..bytes, |_| ());
            }
            gpu.queue.submit([encoder.finish()])
        });
        if gpu.status().is_err() || !gpu.wait(submission) {
            return false;
        }
        for (buffer, bytes) in staging {
            gpu.counters.downloaded.fetch_add(bytes, Relaxed);
            match buffer.slice(0..bytes).get_mapped_range() {
                Ok(view) => read(&view),
                Err(error) => gpu.fail(crate::DeviceError::Lost {
                    adapter: gpu.adapter().name.clone(),
                    reason: error.to_string(),
                }),
            }
            gpu.command(|| buffer.unmap());
        }
        gpu.status().is_ok()
    }

    fn encode(&self, gpu: &Gpu) -> wgpu::CommandEncoder {
        let mut encoder = gpu.device.create_command_encoder(&Default::default());
        let mut commands = self.few.iter().flatten().chain(&self.more).peekable();
        while let Some(command) = commands.next() {
            match command {
                Command::Copy { from, to, offsets, bytes } => {
                    encoder.copy_buffer_to_buffer(from, offsets[0], to, offsets[1], *bytes);
                }
                Command::Dispatch(first) => {
                    let mut pass = encoder.begin_compute_pass(&Default::default());
                    count(gpu, first);
                    first.record(&mut pass);
                    while let Some(Command::Dispatch(next)) =
                        commands.next_if(|c| matches!(c, Command::Dispatch(_)))
                    {
                        count(gpu, next);
                        next.record(&mut pass);
                    }
                }
            }
        }
        encoder
    }
}

fn count(gpu: &Gpu, bound: &Bound) {
    gpu.counters.dispatches.fetch_add(1, Relaxed);
    gpu.counters.traffic.fetch_add(bound.traffic, Relaxed);
}
