//! Fits stochastic volatility to returns on a wgpu device that the program has opened for purposes of its own.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use sshmc::prelude::*;
use sshmc::wgpu;
use std::error::Error;

/// Opens the device, as a program that draws or computes would.
fn open() -> Result<(wgpu::Device, wgpu::Queue), Box<dyn Error>> {
    let descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    let instance = wgpu::Instance::new(descriptor);
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    let adapter = adapters.first().ok_or("no graphics driver answers")?;
    let descriptor = wgpu::DeviceDescriptor {
        required_limits: adapter.limits(),
        ..wgpu::DeviceDescriptor::default()
    };
    Ok(pollster::block_on(adapter.request_device(&descriptor))?)
}

/// Some returns: calm and stormy weeks in turns.
fn returns() -> Vec<f64> {
    let volatility = |t: usize| if (t / 25).is_multiple_of(2) { 0.005 } else { 0.03 };
    (0..200).map(|t| volatility(t) * (1.7 * t as f64).sin()).collect()
}

pub(crate) fn fit(draws: u32) -> Result<Fit, Box<dyn Error>> {
    let (device, queue) = open()?;
    let sampler = Sampler::default().device(Device::from_wgpu(device.clone(), queue)?).draws(draws);
    let fit = Volatility::new(Returns::new(&returns())?)
        .prior("sigma", "half-normal(1)")
        .fit(&sampler)?;
    // The device is still the program's, and works.
    device.poll(wgpu::PollType::wait_indefinitely())?;
    Ok(fit)
}

pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    let fit = fit(400)?;
    println!("On {}:\n{}", fit.device, fit.summary());
    Ok(())
}
