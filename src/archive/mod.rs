//! Keeps draws on disk as a Zarr v3 hierarchy in ArviZ's layout, chunk by chunk while a run goes on.
//!
//! | group | holds |
//! |---|---|
//! | `posterior` | hyperparameters (chain, draw); `field` (chain, draw, then its own axes), or (chain, field_draw, …) where only some draws of the whole field are kept, with `field_sites` (chain, draw, site) for diagnosis |
//! | `sample_stats` | `energy`, `acceptance_rate`, `n_steps`, `diverging` (chain, draw) |
//! | `observed_data`, `constant_data` | what was fitted |
//!
//! Chunks have a length that does not depend on how many draws there will be, so a run that is extended goes on with the same ones,
//! and writing a chunk again after a run was resumed changes nothing.

mod array;
mod make;

pub use crate::draws::Mark;

use crate::draws::{ChainDraws, FieldPlan};
use crate::error::{Error, Result};
use array::{Number, Stored};
use make::Maker;
use serde_json::{Value, json};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zarrs::filesystem::FilesystemStore;
use zarrs::group::Group;

/// The layout of the hierarchy; one that is not known is refused.
const LAYOUT: u64 = 1;
/// Statistics of the sampler, under ArviZ's names.
const STATISTICS: [&str; 4] = ["energy", "acceptance_rate", "n_steps", "diverging"];

/// An axis of the field.
#[derive(Clone, Debug)]
pub struct Axis {
    /// Its name.
    pub name: String,
    /// Its coordinates.
    pub values: Vec<f64>,
}

/// Something that was observed, or that a model takes as given, over all axes.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Whether it was observed.
    pub observed: bool,
    /// Its name.
    pub name: String,
    /// One value a site; NaN where there is none.
    pub values: Vec<f64>,
}

/// What an archive is for.
#[derive(Clone, Debug)]
pub struct Contents {
    /// The model's name.
    pub model: String,
    /// Names of the hyperparameters.
    pub names: Vec<String>,
    /// Numbers of the chains.
    pub chains: Vec<u32>,
    /// Draws of each chain.
    pub draws: usize,
    /// Axes of the field, slowest first.
    pub axes: Vec<Axis>,
    /// Data.
    pub data: Vec<Variable>,
}

/// Whole fields that were kept.
#[derive(Clone, Debug)]
pub struct StoredFields {
    /// Number of chains.
    pub chains: usize,
    /// Fields of each chain.
    pub per_chain: usize,
    /// Values of a field.
    pub sites: usize,
    /// All of them, chain after chain.
    pub values: Vec<f32>,
}

/// An archive on disk.
pub struct Archive {
    chains: Vec<u32>,
    draws: usize,
    parameters: Vec<Stored>,
    statistics: Vec<Stored>,
    field: Stored,
    sites: Option<Stored>,
}

/// Turns a failure of the store into this crate's error.
fn storage<E: std::fmt::Display>(action: &'static str, path: &Path) -> impl FnOnce(E) -> Error {
    move |error| Error::io(action, path)(std::io::Error::other(error.to_string()))
}

fn open_store(root: &Path) -> Result<Arc<FilesystemStore>> {
    FilesystemStore::new(root).map(Arc::new).map_err(storage("open", root))
}

impl Archive {
    /// Creates an archive, or goes on with the one that is there.
    pub fn create(root: &Path, contents: &Contents, plan: &FieldPlan) -> Result<Self> {
        fs::create_dir_all(root).map_err(Error::io("create", root))?;
        let maker = Maker { root, store: &open_store(root)?, contents, plan };
        maker.group("", json!({ "sshmc_layout": LAYOUT, "model": contents.model }))?;
        let archive = maker.draws()?;
        maker.data()?;
        Ok(archive)
    }

    /// Opens an archive that is complete.
    pub fn open(root: &Path) -> Result<Self> {
        check(root)?;
        let store = open_store(root)?;
        let open = |name: &str| Stored::open(&store, root, name, 2);
        let axis = |name: &str| Stored::open(&store, root, name, 1);
        let has_sites = root.join("posterior/field_sites").is_dir();
        let chains: Vec<i64> = axis("posterior/chain")?.all()?;
        let draws = axis("posterior/draw")?.shape()[0];
        let named = Group::open(store.clone(), "/posterior").map_err(storage("read", root))?;
        let listed = named.attributes().get("hyperparameters").and_then(Value::as_array);
        let listed: Vec<&str> =
            listed.map(|all| all.iter().filter_map(Value::as_str).collect()).unwrap_or_default();
        Ok(Self {
            chains: chains.into_iter().map(|id| id as u32).collect(),
            draws,
            parameters: listed
                .iter()
                .map(|name| open(&format!("posterior/{}", plain(name))))
                .collect::<Result<_>>()?,
            statistics: STATISTICS
                .iter()
                .map(|name| open(&format!("sample_stats/{name}")))
                .collect::<Result<_>>()?,
            field: open("posterior/field")?,
            sites: has_sites
                .then(|| Stored::open(&store, root, "posterior/field_sites", 3))
                .transpose()?,
        })
    }

    /// The whole fields of an archive.
    pub fn fields(root: &Path) -> Result<StoredFields> {
        check(root)?;
        let field = Stored::open(&open_store(root)?, root, "posterior/field", 2)?;
        let shape = field.shape();
        Ok(StoredFields {
            chains: shape[0],
            per_chain: shape[1],
            sites: shape[2..].iter().product(),
            values: field.all()?,
        })
    }

    fn place(&self, chain: u32) -> Result<usize> {
        let place = self.chains.iter().position(|&id| id == chain);
        place.ok_or_else(|| Error::Numeric(format!("chain {chain} has no place in the archive")))
    }

    /// Whether a record is thinned as the archive is.
    pub fn fits(&self, record: &ChainDraws) -> bool {
        let fields = self.field.shape();
        let kept = self.sites.as_ref().map(|sites| sites.shape()[2]);
        let every = record.field.field_stride();
        fields[1] == self.draws.div_ceil(every)
            && kept.is_none_or(|kept| kept == record.field.kept().len())
            && kept.is_some()
                == (every > 1 || record.field.kept().len() < record.field.mean().len())
    }

    /// Writes what a chain recorded since `from`: whole chunks, and the rest as well once it has all its draws.
    pub fn append(&self, record: &ChainDraws, from: Mark) -> Result<Mark> {
        let chain = self.place(record.chain)?;
        let last = record.energy.len() >= self.draws;
        let mut mark = from;
        for (stored, values) in self.parameters.iter().zip(&record.parameters) {
            mark.draws = stored.append(chain, from.draws, values, last)?;
        }
        let [energy, acceptance, steps, divergent] = &self.statistics[..] else {
            return Err(Error::Numeric("the archive has no statistics".into()));
        };
        mark.draws = energy.append(chain, from.draws, &record.energy, last)?;
        acceptance.append(chain, from.draws, &record.acceptance, last)?;
        steps.append(chain, from.draws, &record.steps, last)?;
        divergent.append(chain, from.draws, &record.divergent, last)?;
        mark.fields = self.field.append(chain, from.fields, record.field.whole_values(), last)?;
        if let Some(sites) = &self.sites {
            mark.sites = sites.append(chain, from.sites, record.field.site_values(), last)?;
        }
        Ok(mark)
    }

    /// Puts what is on disk before what `record`, cut at `mark`, holds.
    pub fn complete(&self, record: &mut ChainDraws, mark: Mark) -> Result<()> {
        let chain = self.place(record.chain)?;
        for (stored, values) in self.parameters.iter().zip(&mut record.parameters) {
            prepend(stored, chain, mark.draws, values)?;
        }
        let [energy, acceptance, steps, divergent] = &self.statistics[..] else {
            return Err(Error::Numeric("the archive has no statistics".into()));
        };
        prepend(energy, chain, mark.draws, &mut record.energy)?;
        prepend(acceptance, chain, mark.draws, &mut record.acceptance)?;
        prepend(steps, chain, mark.draws, &mut record.steps)?;
        prepend(divergent, chain, mark.draws, &mut record.divergent)?;
        prepend(&self.field, chain, mark.fields, record.field.whole_values_mut())?;
        if let (Some(stored), Some(values)) = (&self.sites, record.field.site_values_mut()) {
            prepend(stored, chain, mark.sites, values)?;
        }
        Ok(())
    }
}

fn prepend<T: Number>(
    stored: &Stored,
    chain: usize,
    count: usize,
    rest: &mut Vec<T>,
) -> Result<()> {
    if count > 0 {
        let mut values: Vec<T> = stored.entries(chain, count)?;
        values.append(rest);
        *rest = values;
    }
    Ok(())
}

/// A name as that of a folder: a covariate may have any.
fn plain(name: &str) -> String {
    name.replace(['/', '\\'], "_")
}

/// Refuses what is no archive of this layout.
fn check(root: &Path) -> Result<()> {
    let path = root.join("zarr.json");
    let refuse = |got: String, remedy: &str| {
        let expected = format!("draws of layout {LAYOUT}");
        Err(Error::input(root.display().to_string(), expected, got, remedy))
    };
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return refuse("nothing there".into(), "fit again");
        }
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    let metadata: Value = serde_json::from_slice(&text).unwrap_or(Value::Null);
    match metadata["attributes"]["sshmc_layout"].as_u64() {
        Some(LAYOUT) => Ok(()),
        Some(other) => refuse(
            format!("layout {other}"),
            "use the version of sshmc that wrote it, or fit again",
        ),
        None => refuse("something else".into(), "name the directory of a fit"),
    }
}

/// The place of the archive in a run's directory.
pub fn archive_of(directory: &Path) -> PathBuf {
    directory.join("draws.zarr")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contents(draws: usize) -> Contents {
        Contents {
            model: "test".into(),
            names: vec!["sigma".into()],
            chains: vec![3, 4],
            draws,
            axes: vec![Axis { name: "i".into(), values: vec![0.5, 1.5, 2.5] }],
            data: vec![Variable { observed: true, name: "y".into(), values: vec![1.0, 0.0, 2.0] }],
        }
    }

    /// A chain whose draw t is t at every place, in some digit.
    fn record(chain: u32, plan: &FieldPlan, draws: usize) -> ChainDraws {
        let mut record = ChainDraws::new(chain, 1, plan, draws);
        for t in 0..draws {
            let value = t as f64 + 0.25 * f64::from(chain);
            record.parameters[0].push(value);
            record.energy.push(-value);
            record.acceptance.push(0.5);
            record.steps.push(t as u32);
            record.divergent.push(t % 3 == 0);
            record.field.record(&[value, value + 0.125, -value]);
        }
        record
    }

    #[test]
    fn draws_come_back_from_whole_chunks_and_the_rest() {
        for budget in [1 << 20, 4 * 2 * 1300] {
            let directory = tempfile::tempdir().unwrap();
            let plan = FieldPlan::new(3, 2, 1300, budget);
            let archive = Archive::create(directory.path(), &contents(1300), &plan).unwrap();
            for chain in [3, 4] {
                let early = record(chain, &plan, 700);
                let mark = archive.append(&early, Mark::default()).unwrap();
                assert_eq!(mark.draws, 512);
                let mut tail = early.since(mark);
                assert_eq!(tail.energy.len(), 188);
                archive.complete(&mut tail, mark).unwrap();
                assert_eq!(format!("{tail:?}"), format!("{early:?}"));
                archive.append(&record(chain, &plan, 1300), mark).unwrap();
            }
            let again = Archive::open(directory.path()).unwrap();
            assert_eq!((again.chains.clone(), again.draws), (vec![3, 4], 1300));
            let want = record(4, &plan, 1300);
            assert_eq!(again.parameters[0].entries::<f64>(1, 1300).unwrap(), want.parameters[0]);
            let fields = Archive::fields(directory.path()).unwrap();
            assert_eq!((fields.chains, fields.sites), (2, 3));
            let own = fields.per_chain * 3;
            assert_eq!(&fields.values[own..], want.field.whole_values());
        }
    }

    #[test]
    fn other_layouts_are_refused() {
        let directory = tempfile::tempdir().unwrap();
        let refused = || Archive::fields(directory.path()).unwrap_err().to_string();
        assert!(refused().contains("nothing there"));
        fs::write(directory.path().join("zarr.json"), "{}").unwrap();
        assert!(refused().contains("something else"));
        let other = r#"{"attributes":{"sshmc_layout":7}}"#;
        fs::write(directory.path().join("zarr.json"), other).unwrap();
        assert!(refused().contains("layout 7"));
    }
}
