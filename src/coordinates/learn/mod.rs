//! Learns block coordinates from a model and from where its hyperparameters are likely to be.
//!
//! At a few places û of the hyperparameters the posterior of field and mean is approximated by a Gaussian (see
//! [`surrogate`](self)), and the parts of a [`Block`] are polynomials through what was found there.

mod lanczos;
mod modes;
mod sizes;
mod surrogate;

pub use sizes::BlockSizes;
pub(crate) use surrogate::Fitted;

use super::block::Coefficients;
use super::block::{Band, Block, LINEAR, QUADRATIC, Shape, Spline, Triangle, terms};
use crate::model::Model;
use crate::structure::{Spectral, Structure};
use nalgebra::{DMatrix, DVector};
use rayon::prelude::*;
use surrogate::{Surrogate, scaled_information};

/// Modes, ranked by their variance, over which log τ is an average.
const LEVEL_BAND: (usize, usize) = (60, 600);
/// Knots of a(log ℓ), and how many standard deviations they reach either way.
const KNOTS: usize = 13;
const KNOT_REACH: f64 = 3.0;
/// Hyperparameters are taken to be this much wider than their draws: too wide costs little, too narrow much.
const WIDER: f64 = 1.15;
/// The least standard deviation of θ.
const LEAST_DEVIATION: f64 = 0.02;
/// Where the drift is fitted, and where the block is: the middle and five places around it at this distance in û.
const NEAR: f64 = 1.15;
const FAR: f64 = 1.9;
/// Modes for which the first systems are solved exactly.
const PRECONDITIONED: usize = 100;
/// The least information of a mode, over its prior precision.
const LEAST: f64 = 1e-6;
/// Directions of the band that are looked for first.
const FIRST_DIRECTIONS: usize = 20;
/// Lanczos steps for each direction of the band.
const STEPS_EACH: f64 = 1.6;

/// What was learnt: coordinates, and the approximation in their middle, from which the next can begin.
pub(crate) struct Learnt {
    pub(crate) block: Block,
    pub(crate) middle: Fitted,
}

/// Learns coordinates from draws of w = (log σ, log ℓ), of sizes that are chosen unless they are given. None if the model has no such
/// coordinates.
pub(crate) fn learn(
    model: &Model,
    draws: &[[f64; 2]],
    from: Option<&Fitted>,
    sizes: Option<BlockSizes>,
) -> Option<Learnt> {
    let Structure::Spectral(spectral) = model.structure() else { return None };
    let mut surrogate = Surrogate::new(model, spectral)?;
    let shape = shape(spectral, &surrogate, draws)?;
    let s = surrogate.deviations(&shape.at_place([0.0; 2]))?;
    let order = ranked(&s);
    let start = from.filter(|fit| fit.f.len() == s.len()).cloned();
    let start = start.unwrap_or_else(|| surrogate.start());
    let first = block_modes(&s, &order, sizes.map_or(PRECONDITIONED, |sizes| sizes.block));
    let middle = surrogate.fit(&s, &start, &first, false);
    let (sizes, given) = match sizes {
        Some(sizes) => (sizes, true),
        None => (sizes::choose(&mut surrogate, &s, &middle, &order), false),
    };
    let modes = block_modes(&s, &order, sizes.block);
    let drift = drift(&surrogate, &shape, &modes, &middle)?;
    let own = band_modes(&order, &modes, sizes);
    let found = directions(&mut surrogate, (&s, modes.len()), &middle, own, (sizes, given));
    let parts = block_parts(&surrogate, &shape, &modes, &middle, &drift, &found)?;
    let band = band(&mut surrogate, &shape, (&s, &modes), &middle, found);
    Some(Learnt { block: assemble(model, shape, modes, parts, drift, band), middle })
}

/// The way from w to û for draws of w.
fn shape(spectral: &Spectral, surrogate: &Surrogate<'_>, draws: &[[f64; 2]]) -> Option<Shape> {
    let log_longest = (spectral.table().longest() * spectral.cell()).ln();
    let inside = |log_range: f64| log_range.min(log_longest - 0.01);
    let count = draws.len() as f64;
    let mean = draws.iter().map(|w| inside(w[1])).sum::<f64>() / count;
    let variance = draws.iter().map(|w| (inside(w[1]) - mean).powi(2)).sum::<f64>() / count;
    let reach = KNOT_REACH * variance.sqrt().max(0.05);
    let first = mean - reach;
    let step = (inside(mean + reach) - first) / (KNOTS - 1) as f64;
    let s = surrogate.deviations(&[0.0, inside(mean)])?;
    let ranks = ranked(&s);
    let n = ranks.len();
    let band = LEVEL_BAND.0.min(n / 8)..LEVEL_BAND.1.min(n / 2).max(n / 8 + 1);
    let level = |i: usize| {
        let s = surrogate.deviations(&[0.0, first + step * i as f64])?;
        let own = &ranks[band.clone()];
        Some(own.iter().map(|&mode| s[mode as usize].ln()).sum::<f64>() / own.len() as f64)
    };
    let level = Spline::new(first, step, (0..KNOTS).map(level).collect::<Option<_>>()?);
    let mut shape = Shape { log_longest, level, centre: [0.0; 2], root: [1.0, 0.0, 1.0] };
    let thetas: Vec<[f64; 2]> =
        draws.iter().map(|w| shape.theta(&[w[0], inside(w[1])]).0).collect();
    shape.centre = std::array::from_fn(|k| thetas.iter().map(|t| t[k]).sum::<f64>() / count);
    let covariance = |a: usize, b: usize| {
        let each = thetas.iter().map(|t| (t[a] - shape.centre[a]) * (t[b] - shape.centre[b]));
        WIDER * WIDER * each.sum::<f64>() / count
    };
    let least = LEAST_DEVIATION * LEAST_DEVIATION;
    let l00 = covariance(0, 0).max(least).sqrt();
    let l10 = covariance(1, 0) / l00;
    shape.root = [l00, l10, (covariance(1, 1) - l10 * l10).max(least).sqrt()];
    Some(shape)
}

/// Latents by their deviation, the largest first.
fn ranked(s: &[f64]) -> Vec<u32> {
    let mut order: Vec<u32> = (0..s.len() as u32).collect();
    order.sort_by(|&a, &b| s[b as usize].total_cmp(&s[a as usize]).then(a.cmp(&b)));
    order
}

/// The smoothest modes: at least `count`, with all whose deviation is that of the last.
fn block_modes(s: &[f64], order: &[u32], count: usize) -> Vec<u32> {
    let count = count.min(order.len());
    let Some(&last) = count.checked_sub(1).and_then(|last| order.get(last)) else {
        return Vec::new();
    };
    let cut = s[last as usize] * (1.0 - 1e-9);
    order.iter().take_while(|&&mode| s[mode as usize] >= cut).copied().collect()
}

fn band_modes(order: &[u32], modes: &[u32], sizes: BlockSizes) -> Vec<u32> {
    order[modes.len()..].iter().take(sizes.band).copied().collect()
}

/// Places in û: the middle, and five around it.
fn places(distance: f64, turn: f64) -> Vec<[f64; 2]> {
    let around = (0..5).map(|k| {
        let angle = std::f64::consts::TAU * f64::from(k) / 5.0 + turn;
        [distance * angle.cos(), distance * angle.sin()]
    });
    std::iter::once([0.0; 2]).chain(around).collect()
}

/// The matrix that takes values at places to the coefficients of the polynomial nearest to them, with `count` terms.
fn fitting(places: &[[f64; 2]], count: usize, fall: f64) -> Option<DMatrix<f64>> {
    let weight = |p: &[f64; 2]| (-fall * (p[0] * p[0] + p[1] * p[1])).exp();
    let x = DMatrix::from_fn(places.len(), count, |i, j| terms(places[i])[j]);
    let weighted =
        DMatrix::from_fn(count, places.len(), |j, i| x[(i, j)] * weight(&places[i]).powi(2));
    Some((&weighted * &x).try_inverse()? * weighted)
}

/// v(û): how the mean of every mode outside the block follows, over its deviation.
fn drift(
    surrogate: &Surrogate<'_>,
    shape: &Shape,
    modes: &[u32],
    middle: &Fitted,
) -> Option<[Vec<f32>; LINEAR]> {
    let places = places(NEAR, 0.36);
    let fitting = fitting(&places, LINEAR, 0.25)?;
    let found: Vec<Vec<f64>> = places
        .par_iter()
        .map(|&place| {
            let mut own = surrogate.clone();
            let s = own.deviations(&shape.at_place(place))?;
            let fit = own.fit(&s, middle, modes, false);
            Some(fit.f.iter().zip(&s).map(|(f, s)| f / s).collect())
        })
        .collect::<Option<_>>()?;
    let mut drift: [Vec<f32>; LINEAR] = std::array::from_fn(|term| {
        (0..middle.f.len())
            .map(|i| {
                found.iter().enumerate().map(|(p, h)| fitting[(term, p)] * h[i]).sum::<f64>() as f32
            })
            .collect()
    });
    for &mode in modes {
        drift.iter_mut().for_each(|v| v[mode as usize] = 0.0);
    }
    Some(drift)
}

/// Directions of a band of modes, and how much data say of each.
#[derive(Default)]
struct Directions {
    modes: Vec<u32>,
    /// λ, the largest first.
    strength: Vec<f64>,
    /// Orthonormal, one after the other.
    vectors: Vec<f64>,
}

/// The directions of the band along which data say most; as many as pay, unless their number is given.
fn directions(
    surrogate: &mut Surrogate<'_>,
    (s, block): (&[f64], usize),
    middle: &Fitted,
    modes: Vec<u32>,
    (sizes, given): (BlockSizes, bool),
) -> Directions {
    let most = sizes.directions.min(modes.len() / 2);
    if most == 0 {
        return Directions::default();
    }
    // Looking for many is dear and few are often enough, so that more are looked for only where nearly all of these would be taken.
    let mut wanted = if given { most } else { FIRST_DIRECTIONS.min(most) };
    let (mut strength, mut vectors, count) = loop {
        let steps = (STEPS_EACH * wanted as f64) as usize + 10;
        let (strength, all) = lanczos::leading(modes.len(), wanted, steps, |x, out| {
            surrogate.pull(s, &middle.information, &modes, x, out);
        });
        let count = match given {
            true => strength.len(),
            false => sizes::worthwhile(s.len(), block, modes.len(), &strength),
        };
        if wanted == most || 4 * count < 3 * strength.len() {
            break (strength, all, count);
        }
        wanted = (3 * wanted).min(most);
    };
    strength.truncate(count);
    vectors.truncate(count * modes.len());
    Directions { modes, strength, vectors }
}

/// The band made of these directions.
fn band(
    surrogate: &mut Surrogate<'_>,
    shape: &Shape,
    (s, block): (&[f64], &[u32]),
    middle: &Fitted,
    found: Directions,
) -> Option<Band> {
    let Directions { modes, strength, vectors } = found;
    let count = strength.len();
    if count == 0 {
        return None;
    }
    let places = places(NEAR, 0.36);
    let fitting = fitting(&places, LINEAR, 0.25)?;
    let mut log_strength = vec![0.0; LINEAR * count];
    for (p, &place) in places.iter().enumerate() {
        // s(û)/s(0) hardly differs between the modes of a direction, so that its mean square is enough.
        let there = surrogate.deviations(&shape.at_place(place))?;
        let ratio: Vec<f64> =
            modes.iter().map(|&mode| (there[mode as usize] / s[mode as usize]).powi(2)).collect();
        let mean = vectors.chunks_exact(modes.len());
        let mean = mean.map(|q| q.iter().zip(&ratio).map(|(q, ratio)| ratio * q * q).sum::<f64>());
        let mean: Vec<f64> = mean.collect();
        for i in 0..count {
            let log = (strength[i].max(LEAST) * mean[i]).ln();
            for term in 0..LINEAR {
                log_strength[term * count + i] += fitting[(term, p)] * log;
            }
        }
    }
    // Given block and coefficients the directions have the mean −(1 + λ)⁻¹ Q'(s W s)(h, c); √λ/(1 + λ) of that is in t.
    let (by_block, _) = surrogate.between(s, &middle.information, (&modes, &vectors), block);
    let own = surrogate.scales(s, block);
    let following: Vec<f64> = (0..count)
        .flat_map(|i| (0..own.len()).map(move |k| (i, k)))
        .map(|(i, k)| by_block[(i, k)] / (strength[i].max(LEAST).sqrt() * own[k]))
        .collect();
    Some(Band::new(modes, &vectors, log_strength, &following))
}

/// The posterior factor and mean of block and coefficients at one place.
struct Part {
    /// U: unit upper triangular.
    u: DMatrix<f64>,
    /// g of each row: the share that data have in the mode.
    weights: DVector<f64>,
    log_scales: DVector<f64>,
    /// K: how the block's modes move with the coefficients.
    couplings: DMatrix<f64>,
    /// log κ of d⁻² = s⁻² + κ.
    log_information: DVector<f64>,
    means: DVector<f64>,
}

/// What the block is at each of its places.
fn block_parts(
    surrogate: &Surrogate<'_>,
    shape: &Shape,
    modes: &[u32],
    middle: &Fitted,
    drift: &[Vec<f32>; LINEAR],
    directions: &Directions,
) -> Option<Vec<Part>> {
    places(FAR, 0.7)
        .par_iter()
        .map(|&place| {
            let mut own = surrogate.clone();
            let s = own.deviations(&shape.at_place(place))?;
            let terms = terms(place);
            let mut start = middle.clone();
            let mut inside = vec![false; s.len()];
            modes.iter().for_each(|&mode| inside[mode as usize] = true);
            for i in 0..s.len() {
                if !inside[i] {
                    let v = drift.iter().zip(&terms).map(|(v, t)| f64::from(v[i]) * t);
                    start.f[i] = s[i] * v.sum::<f64>();
                }
            }
            let fit = own.fit(&s, &start, modes, true);
            part(&mut own, &s, &fit, modes, directions)
        })
        .collect()
}

fn part(
    surrogate: &mut Surrogate<'_>,
    s: &[f64],
    fit: &Fitted,
    modes: &[u32],
    directions: &Directions,
) -> Option<Part> {
    let own = surrogate.scales(s, modes);
    let information = surrogate.information(&fit.information, modes);
    let mut precision = scaled_information(&information, &own);
    if !directions.strength.is_empty() {
        // The block's precision where the directions are not known.
        let band = (&directions.modes[..], &directions.vectors[..]);
        let (across, mut within) = surrogate.between(s, &fit.information, band, modes);
        (0..within.nrows()).for_each(|i| within[(i, i)] += 1.0);
        let told = within.cholesky()?.l().solve_lower_triangular(&across)?;
        precision -= told.tr_mul(&told);
    }
    let root = precision.cholesky()?.unpack();
    let identity = DMatrix::identity(own.len(), own.len());
    let inverse = root.solve_lower_triangular(&identity)?;
    // V = diag(s) C⁻ᵀ, upper triangular.
    let v = DMatrix::from_fn(own.len(), own.len(), |i, j| own[i] * inverse[(j, i)]);
    let scales = v.diagonal();
    let u = DMatrix::from_fn(own.len(), own.len(), |i, j| v[(i, j)] / scales[j]);
    let means = modes.iter().map(|&mode| fit.f[mode as usize]).chain(fit.c.iter().copied());
    let means = DVector::from_iterator(own.len(), means);
    let information = |i: usize| (scales[i].powi(-2) - own[i].powi(-2)).max(LEAST / own[i].powi(2));
    let log_information = DVector::from_fn(own.len(), |i, _| information(i).ln());
    let weights = DVector::from_fn(own.len(), |i, _| {
        let told = information(i) * own[i].powi(2);
        told / (1.0 + told)
    });
    // u − p = … + U_bc (d ∘ ζ), and c − c̄ = R (d ∘ ζ).
    let (m, count) = (modes.len(), own.len() - modes.len());
    let r = u.view((m, m), (count, count)).clone_owned().try_inverse()?;
    let couplings = u.view((0, m), (m, count)) * r;
    Some(Part { u, weights, couplings, log_scales: scales.map(f64::ln), log_information, means })
}

fn assemble(
    model: &Model,
    shape: Shape,
    modes: Vec<u32>,
    parts: Vec<Part>,
    drift: [Vec<f32>; LINEAR],
    band: Option<Band>,
) -> Block {
    let places = places(FAR, 0.7);
    let linear = fitting(&places, LINEAR, 0.1).unwrap_or_else(|| DMatrix::zeros(LINEAR, 6));
    let square = fitting(&places, QUADRATIC, 0.0).unwrap_or_else(|| DMatrix::zeros(QUADRATIC, 6));
    let (m, all) = (modes.len(), modes.len() + model.mean().len());
    let sum = |fitting: &DMatrix<f64>, term: usize, value: &dyn Fn(&Part) -> f64| {
        parts.iter().enumerate().map(|(p, part)| fitting[(term, p)] * value(part)).sum::<f64>()
    };
    let entry = |term: usize, i: usize, j: usize| sum(&linear, term, &|part| part.u[(i, j)]);
    let weighted = |term: usize, i: usize, j: usize| {
        sum(&linear, term, &|part| part.u[(i, j)] / part.weights[i])
    };
    let each = |value: &dyn Fn(&Part, usize) -> f64| -> Vec<f64> {
        let terms = 0..QUADRATIC;
        terms
            .flat_map(|term| (0..m).map(move |i| (term, i)))
            .map(|(term, i)| sum(&square, term, &|part| value(part, i)))
            .collect()
    };
    let six = |value: &dyn Fn(&Part) -> f64| std::array::from_fn(|term| sum(&square, term, value));
    let bounded = |h: usize| model.hyperparameters()[h].prior().bounds().is_some();
    let coefficients = Coefficients {
        hyperparameters: model.mean().iter().map(|t| (t.hyperparameter, t.scale)).collect(),
        followed: model.mean().iter().all(|t| !bounded(t.hyperparameter)),
        means: (m..all).map(|i| six(&|part| part.means[i])).collect(),
        log_scales: (m..all).map(|i| six(&|part| part.log_scales[i])).collect(),
        links: (m..all)
            .flat_map(|i| (i + 1..all).map(move |j| (i, j)))
            .map(|(i, j)| std::array::from_fn(|term| entry(term, i, j)))
            .collect(),
    };
    Block {
        triangle: Triangle::new(m, m, weighted),
        couplings: (0..all - m).map(|k| each(&|part, i| part.couplings[(i, k)])).collect(),
        log_information: each(&|part, i| part.log_information[i]),
        means: each(&|part, i| part.means[i]),
        coefficients,
        unbounded: !bounded(1),
        shape,
        modes,
        drift,
        band,
    }
}
