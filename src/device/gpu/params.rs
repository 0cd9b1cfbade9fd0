//! Mirrors the parameter structs of the shaders; a test holds each against its WGSL twin.

use bytemuck::{Pod, Zeroable};

/// Twin of `Motion` in `shaders/shared/motion.wgsl`: how a chain moves, and what is to be done with its point.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(super) struct Motion {
    pub(super) kick: f32,
    pub(super) reference: f32,
    pub(super) half: f32,
    pub(super) sine: f32,
    pub(super) sign: f32,
    pub(super) moving: u32,
    pub(super) accepted: u32,
    pub(super) chain: u32,
    pub(super) transition: u32,
    pub(super) seed_low: u32,
    pub(super) seed_high: u32,
    pub(super) weight: f32,
    pub(super) row: u32,
    pub(super) zero: u32,
    pub(super) draw: u32,
    pub(super) length: u32,
}

/// Twin of `Prior` in `shaders/spectral/prior.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(super) struct SpectralPrior {
    pub(super) variance: f32,
    pub(super) position: f32,
    pub(super) slot: u32,
    pub(super) white: u32,
    pub(super) kappa: f32,
    pub(super) first: f32,
    pub(super) mean: [f32; 2],
    pub(super) steepness: f32,
    pub(super) mean_first: f32,
    pub(super) zero: u32,
    pub(super) unused: u32,
    pub(super) effects: [f32; 8],
}

/// Twin of `Prior` in `shaders/ar1/prior.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(super) struct Ar1Prior {
    pub(super) rho: [f32; 2],
    pub(super) scale: [f32; 2],
    pub(super) first: [f32; 2],
    pub(super) excess: [f32; 2],
    pub(super) scale_ratio: [f32; 2],
    pub(super) first_ratio: [f32; 2],
    pub(super) pull: [f32; 2],
    pub(super) mean: [f32; 2],
    pub(super) kappa: f32,
    pub(super) end: f32,
    pub(super) coefficient: f32,
    pub(super) zero: u32,
    pub(super) length: u32,
    pub(super) datum: u32,
    pub(super) unused: [u32; 2],
    pub(super) powers: [[f32; 2]; 24],
}

/// Twin of `Slab` in `shaders/dense/multiply.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Pod, Zeroable)]
pub(super) struct Slab {
    pub(super) first: u32,
    pub(super) rows: u32,
    pub(super) zero: u32,
    pub(super) unused: u32,
}
