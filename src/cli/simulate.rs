//! Draws data from a model and writes them where the user says.

use super::failure::Failure;
use super::options::{KernelName, anisotropy};
use super::screen::Screen;
use clap::{Args, Subcommand};
use sshmc::data::OutputDir;
use sshmc::simulate::{
    FunnelTruth, PatternTruth, RegressionTruth, VolatilityTruth, funnel, lgcp, logistic, stochvol,
};
use sshmc::structure::Anisotropy;
use std::path::{Path, PathBuf};

/// Models to draw from.
#[derive(Debug, Subcommand)]
pub(crate) enum Simulate {
    /// A log-Gaussian Cox process on a grid: counts.csv, points.csv, truth.json
    #[command(
        after_help = "Example:\n  sshmc simulate lgcp --grid 48x64 --sigma 1.2 --range 0.08 --total 2000 --out forest"
    )]
    Lgcp(Lgcp),
    /// Returns with stochastic volatility: returns.csv, truth.json
    #[command(
        after_help = "Example:\n  sshmc simulate sv --steps 1000 --phi 0.98 --sigma 0.15 --out prices"
    )]
    Sv(Sv),
    /// Hierarchical logistic regression: table.csv, weights.csv, truth.json
    #[command(
        after_help = "Example:\n  sshmc simulate logistic --groups 10 --features 5 --rows 100 --out credit\n  \
        sshmc fit logistic --table credit/table.csv --group group --label y"
    )]
    Logistic(Logistic),
    /// A point of Neal's funnel: funnel.csv, truth.json
    Funnel(Funnel),
}

/// Options of every simulation.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// Seed: the same seed gives the same data
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Directory for the data; earlier results there are replaced [default: sshmc-data/MODEL]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(long, short)]
    quiet: bool,
}

/// Options of a simulated point pattern.
#[derive(Args, Debug)]
pub(crate) struct Lgcp {
    /// Cells along both sides, or rows x columns; the longest side of the map has length 1
    #[arg(long, value_name = "N or RxC", value_parser = grid, default_value = "64")]
    grid: (usize, usize),
    /// Standard deviation of the log intensity
    #[arg(long, value_name = "S", default_value_t = 1.2, allow_negative_numbers = true)]
    sigma: f64,
    /// Range of its correlation in map units
    #[arg(long, value_name = "R", default_value_t = 0.08, allow_negative_numbers = true)]
    range: f64,
    /// Expected number of points
    #[arg(long, value_name = "N", default_value_t = 2000.0, allow_negative_numbers = true)]
    total: f64,
    /// Correlation function
    #[arg(long, value_enum, default_value_t = KernelName::Exponential)]
    kernel: KernelName,
    /// Correlation that reaches RATIO times (1 to 10) further along ANGLE (degrees from the x axis towards the y axis) than
    /// across it; the range is then the longer one
    #[arg(long, value_name = "ANGLE,RATIO", value_parser = anisotropy, allow_hyphen_values = true)]
    anisotropy: Option<Anisotropy>,
    #[command(flatten)]
    common: Common,
}

/// Options of a simulated series of returns.
#[derive(Args, Debug)]
pub(crate) struct Sv {
    /// Number of returns
    #[arg(long, value_name = "T", default_value_t = 1000)]
    steps: usize,
    /// Persistence of the log volatility, between -1 and 1
    #[arg(long, value_name = "P", default_value_t = 0.95, allow_negative_numbers = true)]
    phi: f64,
    /// Standard deviation of its innovations
    #[arg(long, value_name = "S", default_value_t = 0.2, allow_negative_numbers = true)]
    sigma: f64,
    /// Typical size of a return
    #[arg(long, value_name = "B", default_value_t = 0.65, allow_negative_numbers = true)]
    beta: f64,
    #[command(flatten)]
    common: Common,
}

/// Options of a simulated grouped table.
#[derive(Args, Debug)]
pub(crate) struct Logistic {
    /// Number of groups
    #[arg(long, value_name = "N", default_value_t = 10)]
    groups: usize,
    /// Number of features, of which the first is the constant 1
    #[arg(long, value_name = "N", default_value_t = 5)]
    features: usize,
    /// Rows of each group
    #[arg(long, value_name = "N", default_value_t = 100)]
    rows: usize,
    /// Variance of the coefficients
    #[arg(long, value_name = "V", default_value_t = 0.3, allow_negative_numbers = true)]
    v: f64,
    #[command(flatten)]
    common: Common,
}

/// Options of a simulated point of the funnel.
#[derive(Args, Debug)]
pub(crate) struct Funnel {
    /// Number of latents
    #[arg(long, value_name = "N", default_value_t = 100)]
    dim: usize,
    /// Log precision of the latents [default: drawn from a normal with standard deviation 3]
    #[arg(long, value_name = "V", allow_negative_numbers = true)]
    v: Option<f64>,
    #[command(flatten)]
    common: Common,
}

impl Simulate {
    /// Draws, writes, and says what was drawn.
    pub(crate) fn run(&self) -> Result<(), Failure> {
        match self {
            Simulate::Lgcp(options) => options.run(),
            Simulate::Sv(options) => options.run(),
            Simulate::Logistic(options) => options.run(),
            Simulate::Funnel(options) => options.run(),
        }
    }
}

impl Lgcp {
    fn run(&self) -> Result<(), Failure> {
        let (rows, columns) = self.grid;
        let Lgcp { sigma, range, total, .. } = *self;
        let kernel = self.kernel.into();
        let anisotropy = self.anisotropy.unwrap_or(Anisotropy::NONE);
        let truth = PatternTruth { rows, columns, sigma, range, total, kernel, anisotropy };
        let drawn = lgcp(&truth, self.common.seed).map_err(Failure::preparing)?;
        let points = drawn.points.len();
        let what = format!("{points} points in {rows} x {columns} cells (mu = {:.4})", drawn.mu);
        self.common.finish("lgcp", &what, |output| drawn.write(output))
    }
}

impl Sv {
    fn run(&self) -> Result<(), Failure> {
        let Sv { steps, phi, sigma, beta, .. } = *self;
        let truth = VolatilityTruth { steps, phi, sigma, beta };
        let drawn = stochvol(&truth, self.common.seed).map_err(Failure::preparing)?;
        self.common.finish("sv", &format!("{steps} returns"), |output| drawn.write(output))
    }
}

impl Logistic {
    fn run(&self) -> Result<(), Failure> {
        let Logistic { groups, features, rows, v, .. } = *self;
        let truth = RegressionTruth { groups, features, rows, v };
        let drawn = logistic(&truth, self.common.seed).map_err(Failure::preparing)?;
        let what = format!("{groups} groups of {rows} rows with {features} features");
        self.common.finish("logistic", &what, |output| drawn.write(output))
    }
}

impl Funnel {
    fn run(&self) -> Result<(), Failure> {
        let truth = FunnelTruth { dim: self.dim, v: self.v };
        let drawn = funnel(&truth, self.common.seed).map_err(Failure::preparing)?;
        let what = format!("{} latents at v = {:.4}", self.dim, drawn.v);
        self.common.finish("funnel", &what, |output| drawn.write(output))
    }
}

impl Common {
    /// Writes the files, puts the directory in place, and says so.
    fn finish(
        &self,
        model: &str,
        what: &str,
        write: impl FnOnce(&OutputDir) -> sshmc::Result<()>,
    ) -> Result<(), Failure> {
        let path = self.out.clone().unwrap_or_else(|| Path::new("sshmc-data").join(model));
        let output = OutputDir::create(&path).map_err(Failure::preparing)?;
        write(&output).map_err(Failure::running)?;
        output.commit().map_err(Failure::finishing)?;
        Screen::open(self.quiet).tell(&format!(
            "drew {what} with seed {}; files are in {}\n",
            self.seed,
            path.display()
        ))
    }
}

/// Reads `64` or `48x64`.
fn grid(text: &str) -> Result<(usize, usize), String> {
    let side = |text: &str| text.trim().parse::<usize>().ok();
    let sides = match text.split_once(['x', 'X', '×']) {
        None => side(text).map(|n| (n, n)),
        Some((rows, columns)) => side(rows).zip(side(columns)),
    };
    sides.ok_or_else(|| "give one whole number, or rows and columns as in 48x64".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_read_in_both_forms() {
        assert_eq!(grid("64"), Ok((64, 64)));
        assert_eq!(grid("48x64"), Ok((48, 64)));
        for text in ["", "x", "64x", "-3", "1.5", "3x4x5", "99999999999999999999"] {
            assert!(grid(text).is_err(), "{text}");
        }
    }
}
