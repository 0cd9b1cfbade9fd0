//! Estimates, before it begins, how much memory and disk a run takes at most.

use super::plan::field_plan_of;
use super::settings::Settings;
use crate::model::Model;

/// Bytes of memory and of disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Memory.
    pub memory: u64,
    /// Disk.
    pub disk: u64,
}

/// The program itself, a graphics driver that is asked whether it has a GPU, fonts, and what a report takes.
const BASE: u64 = 96 << 20;
/// Vectors as long as the latents that a run has however many chains there are: tables of the spectrum, pictures, the pilot.
const SHARED: u64 = 110;
/// Those of each chain: position, momentum, gradients, points to come back to, means, snapshots, scratch, and its checkpoint while it is written.
const EACH: u64 = 36;
/// Copies of the field draws: as recorded, as read for the report, and on the way from the archive.
const COPIES: u64 = 4;
/// Vectors in a checkpoint, of which two generations are kept.
const KEPT: u64 = 2 * 12;

impl Footprint {
    /// Of a run of a model.
    pub fn new(model: &Model, settings: &Settings) -> Self {
        let structure = model.structure();
        let size = [structure.dim(), structure.sites(), model.hyperparameters().len()];
        Self::of_size(size, settings)
    }

    /// Of runs that go on at the same time.
    pub fn together(runs: impl IntoIterator<Item = Self>) -> Self {
        let start = Self { memory: BASE, disk: 0 };
        runs.into_iter().fold(start, |all, run| Self {
            memory: all.memory + (run.memory - BASE),
            disk: all.disk + run.disk,
        })
    }

    /// Of runs that are made one after the other.
    pub fn in_turn(runs: impl IntoIterator<Item = Self>) -> Self {
        let start = Self { memory: BASE, disk: 0 };
        runs.into_iter().fold(start, |all, run| Self {
            memory: all.memory.max(run.memory),
            disk: all.disk + run.disk,
        })
    }

    /// Of a run with so many latents, sites and hyperparameters.
    pub fn of_size([latents, sites, hyperparameters]: [usize; 3], settings: &Settings) -> Self {
        let plan = field_plan_of(sites, settings);
        let (chains, draws) = (u64::from(settings.chains), u64::from(settings.most_draws()));
        let whole = plan.every().map_or(0, |every| draws.div_ceil(every as u64) * sites as u64);
        let fields = 4 * chains * (draws * plan.kept().len() as u64 + whole);
        let scalars = 8 * chains * draws * (hyperparameters as u64 + 4);
        let vector = 8 * latents.max(sites) as u64;
        let each = chains * (EACH + 2 * hyperparameters as u64);
        Self {
            memory: BASE + vector * (SHARED + each) + COPIES * fields + 4 * scalars,
            disk: (8 << 20)
                + fields
                + 4 * scalars
                + vector * chains * (KEPT + 2 * hyperparameters as u64),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_of_anything_takes_more_and_fields_no_more_than_their_budget() {
        let base = Settings { chains: 2, draws: 100, ..Settings::default() };
        let small = Footprint::of_size([100, 50, 3], &base);
        let longer = Settings { draws: 1000, ..base.clone() };
        let wider = Settings { chains: 4, ..base.clone() };
        for other in [
            Footprint::of_size([100_000, 50, 3], &base),
            Footprint::of_size([100, 50, 3], &longer),
            Footprint::of_size([100, 50, 3], &wider),
        ] {
            assert!(other.memory > small.memory && other.disk >= small.disk, "{other:?}");
        }
        let both = Footprint::together([small, small]);
        assert_eq!((both.memory, both.disk), (2 * small.memory - BASE, 2 * small.disk));
        let turns = Footprint::in_turn([small, both]);
        assert_eq!((turns.memory, turns.disk), (both.memory, 3 * small.disk));
        let long = Settings { draws: 100_000, field_memory: Some(1 << 20), ..base };
        let bounded = Footprint::of_size([100, 50, 3], &long);
        assert!(bounded.disk < (8 << 20) + (3 << 20) + 4 * 8 * 2 * 100_000 * 8, "{bounded:?}");
    }
}
