//! Runs many short fits on one device and counts what the driver's side still holds: nothing may be left behind.
//!
//! `SSHMC_SOAK_GPU_RUNS` asks for more of them (see docs/FAULTS.md).

use crate::own::Own;
use crate::worlds::{cox, series};
use sshmc::device::Device;
use sshmc::sample::{Settings, run};

/// Runs before the count begins: stages are compiled once.
const FIRST: u32 = 2;
const RUNS: u32 = 6;

/// What is alive: buffers, groups of bindings, pipelines, and bytes of the device's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Alive {
    buffers: usize,
    groups: usize,
    pipelines: usize,
    bytes: u64,
}

impl Own {
    fn alive(&self) -> Alive {
        // What was dropped goes when the queue is idle.
        self.queue.submit([]);
        self.device.poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let report = self.instance.generate_report().unwrap();
        let hub = report.hub_report();
        let memory = self.device.generate_allocator_report();
        Alive {
            buffers: hub.buffers.num_kept_from_user,
            groups: hub.bind_groups.num_kept_from_user,
            pipelines: hub.compute_pipelines.num_kept_from_user,
            bytes: memory.map_or(0, |report| report.total_allocated_bytes),
        }
    }
}

#[test]
fn short_runs_leave_nothing_on_the_device() {
    let own = Own::open();
    let device = Device::from_wgpu(own.device.clone(), own.queue.clone()).unwrap();
    let models = [cox(4, 5, None), series(20)];
    let runs = std::env::var("SSHMC_SOAK_GPU_RUNS").ok().and_then(|text| text.parse().ok());
    let settings = |seed: u32| Settings {
        device: device.clone(),
        chains: 2,
        warmup: 6,
        draws: 4,
        seed: u64::from(seed),
        small_torus: false,
        ..Settings::default()
    };
    let mut before = None;
    let mut during = Vec::new();
    for k in 0..FIRST + runs.unwrap_or(RUNS) {
        for model in &models {
            run(model, &settings(k), &()).unwrap();
        }
        let alive = own.alive();
        if k == FIRST {
            before = Some(alive);
        }
        if k > FIRST {
            during.push(alive);
        }
    }
    let (before, last) = (before.unwrap(), *during.last().unwrap());
    println!("after {FIRST} runs: {before:?}; after {}: {last:?}", FIRST as usize + during.len());
    assert!(before.pipelines > 0, "nothing is counted: {before:?}");
    assert_eq!(last, before, "something is left behind");
    // The count sees a buffer that is kept.
    let _kept = own.device.create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 1 << 20,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    assert_ne!(own.alive(), before, "the count sees nothing");
}
