//! Saves a fit as a directory: its summary, its draws as tables, and all of them in ArviZ's layout.

use crate::archive::{Archive, Axis, Contents, Mark, archive_of};
use crate::data::OutputDir;
use crate::error::Result;
use crate::report::{FieldMoments, write_draws};
use crate::sample::{Fit, field_plan};
use crate::structure::Structure;
use std::path::Path;

impl Fit {
    /// Writes `summary.json`, `hyperparameters.csv`, `field.csv` and `draws.zarr`, which ArviZ opens, into a directory. It appears whole or
    /// not at all, and replaces only one that holds earlier results. Needs the feature `archive`.
    pub fn save(&self, directory: impl AsRef<Path>) -> Result<()> {
        let output = OutputDir::create(directory.as_ref())?;
        let moments = FieldMoments::new(self);
        let columns = self.columns();
        let heading = if columns.is_some() { "i,j" } else { "i" };
        let key = |site: usize| match columns {
            Some(columns) => format!("{},{}", site / columns, site % columns),
            None => site.to_string(),
        };
        output.write_json("summary.json", &self.summary())?;
        output.write_with("hyperparameters.csv", |file| write_draws(self, file))?;
        output.write_with("field.csv", |file| moments.write_csv(heading, key, file))?;
        let root = archive_of(output.staging());
        let plan = field_plan(&self.model, &self.settings);
        let archive = Archive::create(&root, &self.contents(), &plan)?;
        for chain in &self.chains {
            archive.append(chain, Mark::default())?;
        }
        output.commit().map(drop)
    }

    /// The columns of the grid, if the field is on one.
    fn columns(&self) -> Option<usize> {
        match self.model.structure() {
            Structure::Spectral(field) => Some(field.torus().columns),
            Structure::Ar1(_) | Structure::Groups(_) | Structure::Dense(_) => None,
        }
    }

    fn contents(&self) -> Contents {
        let axis = |name: &str, length: usize| Axis {
            name: name.to_owned(),
            values: (0..length).map(|k| k as f64).collect(),
        };
        let sites = self.model.structure().sites();
        let axes = match self.columns() {
            Some(columns) => vec![axis("i", sites / columns.max(1)), axis("j", columns)],
            None => vec![axis("i", sites)],
        };
        Contents {
            model: self.model.name().to_owned(),
            names: self.model.hyperparameters().names().into_iter().map(String::from).collect(),
            chains: self.chains.iter().map(|chain| chain.chain).collect(),
            draws: self.settings.draws as usize,
            axes,
            data: Vec::new(),
        }
    }
}
