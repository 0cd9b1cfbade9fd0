//! Keeps the reported field of the current point on the device, sums over its draws, and draws at chosen sites.
//!
//! Nothing of it travels until it is asked for: sums at the end and into a checkpoint, draws at chosen sites when their history is full, and
//! whole fields of all chains together, where one is due, through memory that was allocated before the first draw.

mod exponential;
mod history;

use super::params::Motion;
use super::recording::Recording;
use super::stage::{Bound, Spec, wgsl};
use super::state::{fetch, fetch_all, send};
use super::{Gpu, WIDE};
use crate::device::FieldSums;
use crate::draws::{FieldDraws, FieldPlan};
use crate::error::{Error, Result};
use exponential::Exponential;
use history::History;
use std::sync::Arc;

/// The field of every chain.
pub(super) struct Field {
    gpu: Arc<Gpu>,
    /// Sites of the chain that has most.
    sites: usize,
    chains: usize,
    /// The field of the last evaluated point.
    pub(super) proposed: wgpu::Buffer,
    /// The field of the point each chain stands at.
    current: wgpu::Buffer,
    /// The first draw, from which deviations are measured.
    reference: wgpu::Buffer,
    sums: wgpu::Buffer,
    report: Bound,
    drawing: Option<Drawing>,
}

/// What is made of every draw beside the sums.
struct Drawing {
    history: History,
    exponential: Option<Exponential>,
    /// Where whole fields of all chains are read, if any will be.
    whole: Option<wgpu::Buffer>,
}

/// What the sums over draws say about each site.
pub(super) struct Moments {
    pub(super) mean: Vec<f64>,
    /// Sums of squared deviations from the mean.
    pub(super) squares: Vec<f64>,
}

/// The largest buffer of a chain's field: its sums, the counts above levels, or a draw at its chosen sites.
pub(super) fn chain_bytes(plan: &FieldPlan) -> u64 {
    let levels = plan.levels().map_or(0, <[f64]>::len);
    (4 * plan.sites() as u64 * levels.max(4) as u64).max(4 * plan.kept().len() as u64)
}

impl Field {
    pub(super) fn new(
        gpu: &Arc<Gpu>,
        motion: &wgpu::Buffer,
        sites: usize,
        chains: usize,
    ) -> Result<Self> {
        let bytes = 4 * (sites * chains) as u64;
        let proposed = gpu.buffer("fields", bytes)?;
        let current = gpu.buffer("current fields", bytes)?;
        let reference = gpu.buffer("first fields", bytes)?;
        let sums = gpu.buffer("sums over fields", 4 * bytes)?;
        let report = Bound::new(
            gpu,
            &report_spec(sites, chains),
            &[motion, &proposed, &current, &reference, &sums],
            [sites.div_ceil(WIDE), chains],
            11 * bytes,
        )?;
        let gpu = gpu.clone();
        Ok(Self { gpu, sites, chains, proposed, current, reference, sums, report, drawing: None })
    }

    /// Begins to record draws as planned for each chain.
    pub(super) fn choose(&mut self, motion: &wgpu::Buffer, plans: &[&FieldPlan]) -> Result<()> {
        let (gpu, sites, chains) = (&self.gpu, self.sites, self.chains);
        let levels = plans.first().and_then(|plan| plan.levels());
        if plans.len() != chains || plans.iter().any(|plan| plan.levels() != levels) {
            let why = "a batch needs a plan for each chain, all with the same levels";
            return Err(Error::Numeric(why.into()));
        }
        let fields = [&self.current, &self.reference];
        let follow = |levels| Exponential::new(gpu, motion, fields, [sites, chains], levels);
        let whole = plans.iter().any(|plan| plan.every().is_some());
        self.drawing = Some(Drawing {
            history: History::new(gpu, motion, &self.current, sites, plans)?,
            exponential: levels.map(follow).transpose()?,
            whole: match whole {
                true => Some(gpu.staging("whole fields", 4 * (sites * chains) as u64)?),
                false => None,
            },
        });
        Ok(())
    }

    /// The command that takes the proposed field over where it was accepted and adds it to the sums where `weight` says so.
    pub(super) fn reporting<'a>(&'a self, recording: &mut Recording<'a>) {
        recording.dispatch(&self.report);
    }

    /// The commands that keep what else is made of a draw: its exponential, and its values at the chosen sites.
    pub(super) fn keeping<'a>(&'a self, recording: &mut Recording<'a>) {
        if let Some(drawing) = &self.drawing {
            if let Some(exponential) = &drawing.exponential {
                recording.dispatch(&exponential.stage);
            }
            recording.dispatch(&drawing.history.keep);
        }
    }

    /// The row of the history the next draw goes to.
    pub(super) fn row(&self) -> u32 {
        self.drawing.as_ref().map_or(0, |drawing| drawing.history.rows as u32)
    }

    /// Counts a draw; true if the history is full and must be read.
    pub(super) fn count(&mut self) -> bool {
        self.drawing.as_mut().is_some_and(|drawing| drawing.history.count())
    }

    /// Reads the history into the records and empties it.
    pub(super) fn drain(&mut self, draws: &mut [FieldDraws]) {
        if let Some(drawing) = &mut self.drawing {
            drawing.history.drain(&self.gpu, |chain, values| draws[chain].keep(values));
        }
    }

    /// Hands the current fields over where one is due: one wait for all chains.
    pub(super) fn follow(&self, draws: &mut [FieldDraws]) {
        let whole = self.drawing.as_ref().and_then(|drawing| drawing.whole.as_ref());
        let (Some(staging), true) = (whole, draws.iter().any(FieldDraws::is_due)) else {
            draws.iter_mut().for_each(|draws| draws.follow(&[]));
            return;
        };
        let bytes = 4 * (self.sites * self.chains) as u64;
        let mut recording = Recording::default();
        recording.copy(&self.current, staging, [0, 0], bytes);
        recording.download(&self.gpu, &[(staging, bytes)], |bytes| {
            let fields = bytemuck::cast_slice::<_, f32>(bytes).chunks_exact(self.sites.max(1));
            for (draws, field) in draws.iter_mut().zip(fields) {
                draws.follow(&field[..draws.mean().len()]);
            }
        });
    }

    /// Reads a chain's current field.
    pub(super) fn read(&self, chain: usize, out: &mut [f64]) {
        fetch(&self.gpu, &self.current, 4 * (chain * self.sites) as u64, out);
    }

    /// Reads the first `sites` sums of a chain.
    pub(super) fn sums(&self, chain: usize, sites: usize) -> FieldSums {
        let first = (chain * self.sites) as u64;
        let plane = (self.chains * self.sites) as u64;
        let pairs = |buffer: &wgpu::Buffer| {
            let plane =
                |k| fetch_all::<[f32; 2]>(&self.gpu, buffer, 8 * (k * plane + first), sites);
            [plane(0), plane(1)].concat()
        };
        let exponential = self.drawing.as_ref().and_then(|drawing| drawing.exponential.as_ref());
        let counts = |of: &Exponential| {
            let level = |k| fetch_all(&self.gpu, &of.above, 4 * (k as u64 * plane + first), sites);
            (0..of.levels).flat_map(level).collect()
        };
        FieldSums {
            reference: fetch_all(&self.gpu, &self.reference, 4 * first, sites),
            sums: pairs(&self.sums),
            exponential: exponential.map_or(Vec::new(), |of| pairs(&of.sums)),
            above: exponential.map_or(Vec::new(), counts),
        }
    }

    /// Writes a chain's current field.
    pub(super) fn write(&self, chain: usize, field: &[f64]) {
        send(&self.gpu, &self.current, 4 * (chain * self.sites) as u64, field);
    }

    /// Writes a chain's sums as they were read; an error if they are those of another field.
    pub(super) fn write_sums(&self, chain: usize, sites: usize, kept: &FieldSums) -> Result<()> {
        let exponential = self.drawing.as_ref().and_then(|drawing| drawing.exponential.as_ref());
        let (pairs, counts) = exponential.map_or((0, 0), |of| (2 * sites, of.levels * sites));
        let fits = [kept.reference.len(), kept.sums.len()] == [sites, 2 * sites]
            && (exponential.is_none() || kept.exponential.len() == pairs)
            && (exponential.is_none() || kept.above.len() == counts);
        if !fits {
            let why = "the sums that were kept are those of another field or other levels";
            return Err(Error::Numeric(why.into()));
        }
        let (first, plane) = ((chain * self.sites) as u64, (self.chains * self.sites) as u64);
        let planes = |buffer: &wgpu::Buffer, pairs: &[[f32; 2]]| {
            for (k, pairs) in pairs.chunks_exact(sites.max(1)).enumerate() {
                self.gpu.upload(buffer, 8 * (k as u64 * plane + first), pairs);
            }
        };
        self.gpu.upload(&self.reference, 4 * first, &kept.reference);
        planes(&self.sums, &kept.sums);
        if let Some(of) = exponential {
            planes(&of.sums, &kept.exponential);
            for (k, counts) in kept.above.chunks_exact(sites.max(1)).enumerate() {
                self.gpu.upload(&of.above, 4 * (k as u64 * plane + first), counts);
            }
        }
        Ok(())
    }
}

/// Mean and squared deviations from sums of deviations and of their squares.
fn centred(pairs: &[[f32; 2]], count: u64) -> impl Iterator<Item = (f64, f64)> + '_ {
    let value = |pair: &[f32; 2]| f64::from(pair[0]) + f64::from(pair[1]);
    let n = count.max(1) as f64;
    let (sums, squares) = pairs.split_at(pairs.len() / 2);
    sums.iter().zip(squares).map(move |(sum, square)| {
        let (sum, square) = (value(sum), value(square));
        let rest = square - sum * sum / n;
        // Not `max`, which would hide a number that is none.
        (sum / n, if rest < 0.0 { 0.0 } else { rest })
    })
}

impl Moments {
    /// Of the field, over so many draws.
    pub(super) fn of_field(kept: &FieldSums, count: u64) -> Self {
        let each = kept.reference.iter().zip(centred(&kept.sums, count));
        let (mean, squares) = each.map(|(&c, (d, squares))| (f64::from(c) + d, squares)).unzip();
        Self { mean, squares }
    }

    /// Of its exponential.
    pub(super) fn of_exponential(kept: &FieldSums, count: u64) -> Self {
        let each = kept.reference.iter().zip(centred(&kept.exponential, count));
        let moments = each.map(|(&c, (v, squares))| {
            let unit = f64::from(c).exp();
            (unit * (1.0 + v), unit * unit * squares)
        });
        let (mean, squares) = moments.unzip();
        Self { mean, squares }
    }
}

/// The weight that makes the sums start afresh, or take one more draw.
pub(super) fn weigh(motion: &mut [Motion], count: u64) {
    motion.iter_mut().for_each(|m| m.weight = (1.0 / count as f64) as f32);
}

fn report_spec(sites: usize, chains: usize) -> Spec {
    Spec {
        name: "report",
        parts: vec![
            wgsl!("shared/guard.wgsl").into(),
            wgsl!("shared/two_float.wgsl").into(),
            wgsl!("shared/motion.wgsl").into(),
            wgsl!("field/report.wgsl").into(),
        ],
        constants: vec![("WG", WIDE.into()), ("SITES", sites.into()), ("CHAINS", chains.into())],
        read_only: vec![true, true, false, false, false],
    }
}

/// The stages of this folder for a small problem, for tests that need no device.
#[cfg(test)]
pub(super) fn specs() -> Vec<Spec> {
    vec![report_spec(100, 2), history::spec(100, 2, 10), exponential::spec(100, 2, 3)]
}
