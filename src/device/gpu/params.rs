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

/// Twin of `Prior` in `shaders/spectral/prior.wgsl`, but for the numbers that end it.
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
}

/// Twin of `Prior` in `shaders/ar1/prior.wgsl`, but for the numbers that end it.
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

/// What stages read of every chain: a struct that ends with numbers, of which the model decides how many.
pub(super) struct ChainParams<T> {
    pub(super) heads: Vec<T>,
    /// The numbers in two floats, each in a vector of its own, which the layout of arrays asks for.
    numbers: Vec<[f32; 4]>,
    bytes: Vec<u8>,
}

/// Vectors that so many numbers take; an array has at least one.
fn vectors(numbers: usize) -> usize {
    numbers.max(1)
}

impl<T: Pod> ChainParams<T> {
    pub(super) fn new(heads: Vec<T>, numbers: usize) -> Self {
        let numbers = vec![[0.0; 4]; heads.len() * vectors(numbers)];
        Self { heads, numbers, bytes: Vec::new() }
    }

    /// Bytes of a chain.
    pub(super) fn chain_bytes(numbers: usize) -> u64 {
        (size_of::<T>() + 16 * vectors(numbers)) as u64
    }

    /// Sets a chain's numbers.
    pub(super) fn set(&mut self, chain: usize, values: impl Iterator<Item = [f32; 2]>) {
        let each = self.numbers.len() / self.heads.len().max(1);
        let own = self.numbers[chain * each..].iter_mut();
        own.zip(values).for_each(|(to, [high, low])| *to = [high, low, 0.0, 0.0]);
    }

    /// All of it as the stages read it.
    pub(super) fn bytes(&mut self) -> &[u8] {
        let each = self.numbers.len() / self.heads.len().max(1);
        self.bytes.clear();
        for (head, numbers) in self.heads.iter().zip(self.numbers.chunks(each.max(1))) {
            self.bytes.extend_from_slice(bytemuck::bytes_of(head));
            self.bytes.extend_from_slice(bytemuck::cast_slice(numbers));
        }
        &self.bytes
    }
}
