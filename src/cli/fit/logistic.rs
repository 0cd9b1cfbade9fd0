//! Fits hierarchical logistic regression to a grouped table.

use super::{Job, numbered};
use crate::cli::failure::Failure;
use crate::cli::options::Common;
use crate::cli::screen::Screen;
use clap::Args;
use sshmc::data::{GroupedColumns, GroupedTable};
use sshmc::model::logistic;
use sshmc::report::{FieldMoments, csv_field};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Writes into DIR: summary.json; hyperparameters.csv (every draw of gamma, the log variance of the coefficients); field.csv
(group, feature, posterior mean and sd of each coefficient); draws.zarr (all draws, for ArviZ); report.html.

Examples:
  sshmc fit logistic --table credit/table.csv --group group --label y
  sshmc fit logistic --table loans.csv --group region --label repaid --ignore name --intercept";

/// Options of hierarchical logistic regression.
#[derive(Args, Debug)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct Logistic {
    /// CSV with one row a case; every column that is not named below is a feature
    #[arg(long, value_name = "FILE", help_heading = "Data")]
    table: PathBuf,
    /// Column with the group's name
    #[arg(long, value_name = "COL", help_heading = "Data")]
    group: String,
    /// Column with the label: 0 and 1, or -1 and 1
    #[arg(long, value_name = "COL", help_heading = "Data")]
    label: String,
    /// Column to leave out; may be repeated
    #[arg(long, value_name = "COL", help_heading = "Data")]
    ignore: Vec<String>,
    /// Add a constant feature
    #[arg(long, help_heading = "Model")]
    intercept: bool,
    #[command(flatten)]
    common: Common,
}

impl Logistic {
    /// Reads other files than those that were named.
    pub(super) fn replace_files(
        &mut self,
        replace: impl Fn(&mut PathBuf) -> sshmc::Result<()>,
    ) -> sshmc::Result<&mut Common> {
        replace(&mut self.table)?;
        Ok(&mut self.common)
    }

    pub(crate) fn run(&self) -> Result<(), Failure> {
        let columns = GroupedColumns {
            group: self.group.clone(),
            label: self.label.clone(),
            ignore: self.ignore.clone(),
            intercept: self.intercept,
        };
        let table = GroupedTable::read(&self.table, &columns).map_err(Failure::preparing)?;
        let model = logistic(&table, &self.common.priors).map_err(Failure::preparing)?;
        let (groups, features) = (table.groups(), table.features());
        let subject = format!(
            "hierarchical logistic regression to {} rows in {} groups, {} features",
            table.rows(),
            groups.len(),
            features.len()
        );
        let chosen = self.common.device(0).map_err(Failure::preparing)?;
        let chosen = self.common.reconsider(chosen, &model).map_err(Failure::preparing)?;
        let mut job = Job::prepare(model, subject, &self.common, chosen, &[&self.table])?;
        job.axes = vec![numbered("group", groups.len()), numbered("feature", features.len())];
        let quiet = self.common.quiet;
        job.run(&mut Screen::open(quiet), quiet, |run| {
            let key = |site: usize| {
                let (group, feature) = (site / features.len(), site % features.len());
                format!("{},{}", csv_field(&groups[group]), csv_field(&features[feature]))
            };
            let field = FieldMoments::new(run.fit);
            run.output.write_with("field.csv", |file| field.write_csv("group,feature", key, file))
        })
        .map(|_| ())
    }
}
