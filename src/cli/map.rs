//! Maps where the intensity of an earlier fit exceeds other levels.

use super::failure::Failure;
use super::fit::parse_levels;
use super::report::write_report;
use super::screen::Screen;
use clap::Args;
use sshmc::data::add_file;
use sshmc::report::{Run, exceedance_map};
use std::path::PathBuf;

/// Options of maps.
#[derive(Args, Debug)]
#[command(after_help = "Example:\n  sshmc map sshmc-out/lgcp --exceed 2.5 --exceed 3x")]
pub(crate) struct Map {
    /// Directory that `sshmc fit lgcp` wrote
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Level of the intensity whose exceedance is mapped: a number per unit of map area and exposure, as in the GeoTIFF maps
    /// (per square metre where coordinates are metres), or 2x for twice the mean; may be repeated
    #[arg(long, value_name = "LEVEL", required = true, allow_negative_numbers = true)]
    exceed: Vec<String>,
}

impl Map {
    /// Writes the maps from the fields that were kept and puts them into the report.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let run = Run::open(&self.directory).map_err(Failure::preparing)?;
        let data = run.lgcp().map_err(Failure::preparing)?;
        let levels = parse_levels(&self.exceed, data.mean_intensity).map_err(Failure::preparing)?;
        let fields = run.fields().map_err(Failure::preparing)?;
        let (marks, all) = (data.marks(), fields.all());
        let mut screen = Screen::open(false);
        for level in &levels {
            let map = exceedance_map(&all, level, &data.shown);
            for (name, bytes) in map.files(&data.frame(&marks)).map_err(Failure::running)? {
                add_file(&self.directory, &name, &bytes).map_err(Failure::running)?;
                screen.tell(&format!("{}\n", self.directory.join(&name).display()))?;
            }
            if let Some(remark) = map.remark(data.mean_intensity, data.window.crs()) {
                screen.tell(&format!("note: {remark}\n"))?;
            }
        }
        write_report(&run).map_err(Failure::running)
    }
}
