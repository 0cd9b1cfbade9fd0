//! Makes the groups and arrays of an archive.

use super::array::{Dimension, Number, Stored};
use super::{Archive, Contents, STATISTICS, plain, storage};
use crate::draws::FieldPlan;
use crate::error::Result;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::sync::Arc;
use zarrs::filesystem::FilesystemStore;
use zarrs::group::GroupBuilder;

/// Draws of a hyperparameter in a chunk.
const CHUNK: usize = 512;
/// Bytes of field draws in a chunk.
const BYTES: usize = 1 << 20;

/// What it takes to make an archive.
pub(super) struct Maker<'a> {
    pub(super) root: &'a Path,
    pub(super) store: &'a Arc<FilesystemStore>,
    pub(super) contents: &'a Contents,
    pub(super) plan: &'a FieldPlan,
}

impl Maker<'_> {
    /// A group, with the names that ArviZ looks for.
    pub(super) fn group(&self, name: &str, more: Value) -> Result<()> {
        let mut attributes = Map::new();
        attributes.insert("inference_library".into(), json!("sshmc"));
        attributes.insert("inference_library_version".into(), json!(env!("CARGO_PKG_VERSION")));
        if let Value::Object(more) = more {
            attributes.extend(more);
        }
        let path = self.root.join(name);
        let group = GroupBuilder::new()
            .attributes(attributes)
            .build(self.store.clone(), &format!("/{name}"));
        group.map_err(storage("describe", &path))?.store_metadata().map_err(storage("write", &path))
    }

    /// A coordinate of a group.
    fn coordinate<T: Number>(&self, group: &str, name: &str, values: &[T]) -> Result<()> {
        let dimension = [Dimension::whole(name, values.len())];
        self.array::<T>(group, name, &dimension)?.fill(values)
    }

    fn array<T: Number>(
        &self,
        group: &str,
        name: &str,
        dimensions: &[Dimension],
    ) -> Result<Stored> {
        Stored::create::<T>(self.store, self.root, &format!("{group}/{}", plain(name)), dimensions)
    }

    /// Chains and draws as the first two dimensions.
    fn chains_and(&self, name: &str, length: usize, width: usize) -> [Dimension; 2] {
        let chains =
            Dimension { chunk: 1, ..Dimension::whole("chain", self.contents.chains.len()) };
        let chunk = (BYTES / (4 * width.max(1))).clamp(1, CHUNK);
        [chains, Dimension { name: name.into(), length, chunk }]
    }

    pub(super) fn draws(&self) -> Result<Archive> {
        let Contents { names, chains, draws, axes, .. } = self.contents;
        let (sites, every) = (self.plan.sites(), self.plan.every());
        for group in ["posterior", "sample_stats"] {
            let names =
                if group == "posterior" { json!({ "hyperparameters": names }) } else { json!({}) };
            self.group(group, names)?;
            let ids: Vec<i64> = chains.iter().map(|&id| i64::from(id)).collect();
            self.coordinate(group, "chain", &ids)?;
            self.coordinate(group, "draw", &(0..*draws as i64).collect::<Vec<_>>())?;
        }
        axes.iter().try_for_each(|axis| self.coordinate("posterior", &axis.name, &axis.values))?;
        let stride = every.unwrap_or(1);
        let fields = draws.div_ceil(stride);
        let along = if every.is_some() { "field_draw" } else { "draw" };
        if every.is_some() {
            let kept: Vec<i64> = (0..fields).map(|k| (k * stride) as i64).collect();
            self.coordinate("posterior", along, &kept)?;
            let sites: Vec<i64> = self.plan.kept().iter().map(|&site| site as i64).collect();
            self.coordinate("posterior", "site", &sites)?;
        }
        let mut dimensions = self.chains_and(along, fields, sites).to_vec();
        dimensions.extend(axes.iter().map(|axis| Dimension::whole(&axis.name, axis.values.len())));
        let scalars = self.chains_and("draw", *draws, 1);
        let at_sites = || {
            let kept = self.plan.kept().len();
            let mut dimensions = self.chains_and("draw", *draws, kept).to_vec();
            dimensions.push(Dimension::whole("site", kept));
            self.array::<f32>("posterior", "field_sites", &dimensions)
        };
        Ok(Archive {
            chains: chains.clone(),
            draws: *draws,
            parameters: names
                .iter()
                .map(|name| self.array::<f64>("posterior", name, &scalars))
                .collect::<Result<_>>()?,
            statistics: vec![
                self.array::<f64>("sample_stats", STATISTICS[0], &scalars)?,
                self.array::<f64>("sample_stats", STATISTICS[1], &scalars)?,
                self.array::<u32>("sample_stats", STATISTICS[2], &scalars)?,
                self.array::<bool>("sample_stats", STATISTICS[3], &scalars)?,
            ],
            field: self.array::<f32>("posterior", "field", &dimensions)?,
            sites: every.map(|_| at_sites()).transpose()?,
        })
    }

    /// What was fitted.
    pub(super) fn data(&self) -> Result<()> {
        let axes = &self.contents.axes;
        for (group, observed) in [("observed_data", true), ("constant_data", false)] {
            self.group(group, json!({}))?;
            axes.iter().try_for_each(|axis| self.coordinate(group, &axis.name, &axis.values))?;
            let dimensions: Vec<Dimension> =
                axes.iter().map(|axis| Dimension::whole(&axis.name, axis.values.len())).collect();
            for one in self.contents.data.iter().filter(|one| one.observed == observed) {
                self.array::<f64>(group, &one.name, &dimensions)?.fill(&one.values)?;
            }
        }
        Ok(())
    }
}
