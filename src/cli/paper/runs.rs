//! Lists the runs behind each table: the published ones, and the same methods in better coordinates.

use sshmc::data::{Counts, GroupedTable, read_german};
use sshmc::device::Flow;
use sshmc::integrate::Integrator;
use sshmc::model::{self, LgcpOptions, Model};
use sshmc::sample::{CoordinateChoice, MassChoice, Method, Settings};
use sshmc::simulate::{self, PatternTruth, RegressionTruth, VolatilityTruth};
use sshmc::structure::{Anisotropy, Kernel};
use sshmc::{Error, Result};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Chains of every run: one for each of two cores, so that R-hat can tell whether they agree.
const CHAINS: u32 = 2;
/// Where the number of steps is fixed, as in the paper, their size varies by up to this share.
const JITTER: f64 = 0.2;
/// Seed of all simulated data.
const DATA_SEED: u64 = 1;
/// The priors of the Cox process, which the paper does not name.
const LGCP_PRIORS: [&str; 2] = ["sigma=half-normal(2)", "range=lognormal(-2.995732273553991,1)"];

/// How large the runs are.
#[derive(Clone, Debug)]
pub(crate) struct Size {
    /// Whether they are only to show that everything works.
    pub(crate) quick: bool,
    /// Draws of each chain instead of the usual ones; warm-up is half as long.
    pub(crate) draws: Option<u32>,
    /// Whether to leave out runs that take hours.
    pub(crate) skip_costly: bool,
    /// Seed of the samplers.
    pub(crate) seed: u64,
    /// Threads.
    pub(crate) threads: Option<usize>,
    /// The UCI file.
    pub(crate) german: Option<PathBuf>,
}

/// A method in some coordinates on the data of a table.
#[derive(Clone, Copy)]
struct Spec {
    method: &'static str,
    coordinates: &'static str,
    kind: Kind,
    change: fn(&mut Settings),
}

/// What a run is there for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It stands beside the paper's row of the same name.
    Published,
    /// The same on the window with a dense covariance; few draws, each of which takes seconds.
    Dense,
    /// Riemannian with SoftAbs, which the paper names in its text; few draws, each of which takes seconds.
    Costly,
    /// What else one might do.
    Alternative,
}

/// A run that is ready to go.
pub(crate) struct Run {
    /// The table it belongs to, from 1.
    pub(crate) table: usize,
    /// A name for its file.
    pub(crate) id: String,
    /// The method as the paper writes it.
    pub(crate) method: &'static str,
    /// The coordinates.
    pub(crate) coordinates: &'static str,
    /// What it is there for.
    pub(crate) kind: Kind,
    /// The model.
    pub(crate) model: Arc<Model>,
    /// The settings.
    pub(crate) settings: Settings,
    /// Everything that decides about its draws: an earlier run with the same key need not be made again.
    pub(crate) key: String,
}

/// The data of a table, with the models that are fitted to them.
pub(crate) struct Problem {
    model: Arc<Model>,
    dense: Option<Arc<Model>>,
    /// What they are, in a sentence.
    pub(crate) about: String,
    /// The counts of the Cox process.
    pub(crate) counts: Option<Counts>,
}

/// Runs of a table.
pub(crate) fn runs(table: usize, problem: &Problem, size: &Size) -> Vec<Run> {
    let run = |spec: &Spec| {
        let (warmup, draws) = size.transitions(table, spec.kind);
        let mut settings = Settings {
            chains: CHAINS,
            warmup,
            draws,
            seed: size.seed,
            threads: size.threads,
            ..Settings::default()
        };
        settings.coordinates = match spec.coordinates {
            "centred" => CoordinateChoice::Centred,
            "whitened" => CoordinateChoice::Whitened,
            _ => CoordinateChoice::Informed,
        };
        (spec.change)(&mut settings);
        let dense = problem.dense.as_ref().filter(|_| spec.kind == Kind::Dense);
        let words =
            format!("table{table} {} {} {}", spec.method, spec.coordinates, suffix(spec.kind));
        let parts: Vec<&str> = words.split(|c: char| !c.is_alphanumeric()).collect();
        let id =
            parts.iter().filter(|p| !p.is_empty()).map(|p| p.to_lowercase()).collect::<Vec<_>>();
        let deciding = Settings { threads: None, ..settings.clone() };
        Run {
            table,
            id: id.join("-"),
            method: spec.method,
            coordinates: spec.coordinates,
            kind: spec.kind,
            model: dense.unwrap_or(&problem.model).clone(),
            key: format!("{} {}: {deciding:?}", env!("CARGO_PKG_VERSION"), problem.about),
            settings,
        }
    };
    let wanted = |spec: &&Spec| !(size.skip_costly && spec.kind.is_costly());
    specs(table).iter().filter(wanted).map(run).collect()
}

impl Kind {
    /// Whether each draw takes seconds.
    fn is_costly(self) -> bool {
        matches!(self, Kind::Dense | Kind::Costly)
    }
}

fn suffix(kind: Kind) -> &'static str {
    if kind == Kind::Dense { "dense" } else { "" }
}

impl Size {
    /// Warm-up and draws of each chain.
    fn transitions(&self, table: usize, kind: Kind) -> (u32, u32) {
        let usual = self.usual_transitions(table, kind);
        match self.draws {
            // Runs that are short because each draw is dear do not become longer.
            Some(draws) if draws < usual.1 || !kind.is_costly() => ((draws / 2).max(1), draws),
            _ => usual,
        }
    }

    fn usual_transitions(&self, table: usize, kind: Kind) -> (u32, u32) {
        match (self.quick, table, kind) {
            (false, _, Kind::Costly) => (150, 300),
            (false, _, Kind::Dense) => (50, 100),
            (false, 3, _) => (10_000, 20_000),
            (false, ..) => (1000, 5000),
            (true, _, Kind::Costly) => (1, 3),
            (true, _, Kind::Dense) => (50, 100),
            (true, 1, _) => (300, 600),
            (true, 2, Kind::Published) => (40, 80),
            (true, ..) => (150, 300),
        }
    }

    /// Data and models of a table.
    pub(crate) fn problem(&self, table: usize) -> Result<Problem> {
        let alone = |model, about: String| Problem {
            model: Arc::new(model),
            dense: None,
            about,
            counts: None,
        };
        match table {
            1 => Ok(alone(model::funnel(100, &[])?, "Neal's funnel with 100 latents".into())),
            2 => {
                let (table, about) = self.credit()?;
                Ok(alone(model::logistic(&table, &[])?, about))
            }
            3 => {
                let steps = if self.quick { 500 } else { 2000 };
                let truth = VolatilityTruth { steps, phi: 0.98, sigma: 0.15, beta: 0.65 };
                let series = simulate::stochvol(&truth, DATA_SEED)?;
                let about = format!("{steps} returns drawn with phi 0.98, sigma 0.15, beta 0.65");
                Ok(alone(model::stochvol(&series.returns, &[])?, about))
            }
            _ => self.pattern(),
        }
    }

    /// The table of credits, or one of its shape.
    fn credit(&self) -> Result<(GroupedTable, String)> {
        match &self.german {
            Some(path) => {
                let table = read_german(path)?;
                let about = format!(
                    "{} rows of the German credit data in {} groups",
                    table.rows(),
                    table.groups().len()
                );
                Ok((table, about))
            }
            None => {
                let truth = RegressionTruth { groups: 10, features: 20, rows: 100, v: 0.3 };
                let about = "1000 rows in 10 groups with 20 features, drawn with v = 0.3";
                Ok((simulate::logistic(&truth, DATA_SEED)?.table, about.into()))
            }
        }
    }

    fn pattern(&self) -> Result<Problem> {
        let side = if self.quick { 10 } else { 32 };
        let truth = PatternTruth {
            rows: side,
            columns: side,
            // The variance 1.91 of Møller, Syversveen and Waagepetersen, which the paper rounds and calls σ.
            sigma: 1.91f64.sqrt(),
            range: 0.03,
            total: 126.0,
            kernel: Kernel::Exponential,
            anisotropy: Anisotropy::NONE,
        };
        let pattern = simulate::lgcp(&truth, DATA_SEED)?;
        let priors = LGCP_PRIORS.map(String::from).to_vec();
        let options = LgcpOptions { mu: Some(pattern.mu), priors, ..LgcpOptions::default() };
        let about = format!(
            "{} points in {side} x {side} cells, drawn with sigma² 1.91, beta 0.03 and mu {:.3} (fixed)",
            pattern.points.len(),
            pattern.mu
        );
        Ok(Problem {
            model: Arc::new(model::lgcp(&pattern.counts, &options)?),
            dense: Some(Arc::new(model::lgcp_on_window(&pattern.counts, &options)?)),
            about,
            counts: Some(pattern.counts),
        })
    }

    /// Refuses a results directory that holds the data.
    pub(crate) fn check_data(&self, out: &Path) -> Result<()> {
        let Some(path) = &self.german else { return Ok(()) };
        let inside = path.canonicalize().ok().zip(out.canonicalize().ok());
        if inside.is_some_and(|(path, out)| path.starts_with(out)) {
            let remedy = "name another directory";
            return Err(Error::input(
                "--out",
                "a directory that does not hold the data",
                "one that does",
                remedy,
            ));
        }
        Ok(())
    }
}

const fn published(method: &'static str, change: fn(&mut Settings)) -> Spec {
    Spec { method, coordinates: "centred", kind: Kind::Published, change }
}

const fn other(method: &'static str, coordinates: &'static str, change: fn(&mut Settings)) -> Spec {
    Spec { method, coordinates, kind: Kind::Alternative, change }
}

fn by(settings: &mut Settings, method: Method) {
    settings.method = method;
}

/// Standard HMC with a fixed number of steps.
fn hmc(settings: &mut Settings, steps: u32) {
    by(settings, Method::Hmc);
    settings.mass = MassChoice::Identity;
    settings.steps = Some(steps);
    settings.jitter = Some(JITTER);
}

fn rmhmc(settings: &mut Settings, steps: u32, hyper_steps: u32) {
    by(settings, Method::RmhmcGibbs);
    settings.steps = Some(steps);
    settings.hyper_steps = Some(hyper_steps);
    settings.jitter = Some(JITTER);
}

/// SSHMC as published: a mass that depends on φ, ABLA steps of fixed inner counts, and nothing learnt about the field.
fn sshmc(settings: &mut Settings, mass: MassChoice, steps: u32, k1: u32, k2: u32) {
    settings.mass = mass;
    settings.integrator = Some(Integrator::Abla { flow: Flow::Drift, k1, k2 });
    settings.steps = Some(steps);
    settings.jitter = Some(JITTER);
    settings.tilt = false;
}

fn gibbs_as_published(settings: &mut Settings) {
    by(settings, Method::HmcGibbs);
    settings.mass = MassChoice::Prior;
}

/// The runs that the paper has in a table.
fn as_published(table: usize) -> Vec<Spec> {
    match table {
        1 => vec![
            published("HMC", |s| hmc(s, 20)),
            published("RMHMC (Gibbs)", |s| rmhmc(s, 10, 5)),
            published("SSHMC", |s| sshmc(s, MassChoice::Prior, 40, 2, 1)),
            Spec {
                kind: Kind::Costly,
                ..published("RMHMC (SoftAbs)", |s| {
                    by(s, Method::RmhmcSoftAbs);
                    s.steps = Some(10);
                    s.jitter = Some(JITTER);
                })
            },
        ],
        2 => vec![
            published("HMC", |s| hmc(s, 20)),
            published("RMHMC (Gibbs)", |s| rmhmc(s, 6, 6)),
            published("SSHMC", |s| sshmc(s, MassChoice::PriorPlusInformation, 3, 1, 1)),
        ],
        3 => vec![
            published("HMC", |s| hmc(s, 10)),
            published("RMHMC (Gibbs)", |s| rmhmc(s, 10, 5)),
            published("SSHMC", |s| sshmc(s, MassChoice::PriorPlusInformation, 2, 5, 2)),
        ],
        _ => {
            let rmhmc: fn(&mut Settings) = |s| rmhmc(s, 20, 1);
            let sshmc: fn(&mut Settings) = |s| sshmc(s, MassChoice::Prior, 10, 2, 1);
            let dense = |spec: Spec| Spec { kind: Kind::Dense, ..spec };
            vec![
                published("SSHMC", sshmc),
                published("RMHMC (Gibbs)", rmhmc),
                dense(published("SSHMC", sshmc)),
                dense(published("RMHMC (Gibbs)", rmhmc)),
                dense(other("SSHMC", "whitened", |_| ())),
            ]
        }
    }
}

/// All runs of a table, the published ones first.
fn specs(table: usize) -> Vec<Spec> {
    let mut all = as_published(table);
    all.push(other("HMC (Gibbs)", "centred", gibbs_as_published));
    if table == 1 {
        all.push(other("NUTS", "centred", |s| {
            by(s, Method::Nuts);
            s.most_steps = 128;
        }));
    }
    let ways: &[&'static str] = if table == 1 { &["whitened"] } else { &["whitened", "informed"] };
    for way in ways {
        all.extend([
            other("HMC", way, |s| by(s, Method::Hmc)),
            other("HMC (Gibbs)", way, |s| by(s, Method::HmcGibbs)),
            other("NUTS", way, |s| by(s, Method::Nuts)),
            other("SSHMC", way, |_| ()),
        ]);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn size(quick: bool) -> Size {
        Size { quick, draws: None, skip_costly: false, seed: 1, threads: None, german: None }
    }

    #[test]
    fn every_run_has_a_name_of_its_own_and_settings_that_pass() {
        for table in 1..=4 {
            let problem = size(true).problem(table).unwrap();
            let all = runs(table, &problem, &size(true));
            for (k, run) in all.iter().enumerate() {
                run.settings.check().unwrap();
                assert!(all[..k].iter().all(|other| other.id != run.id), "{}", run.id);
                assert!(
                    run.id.chars().all(|c| c.is_ascii_alphanumeric() || c == '-'),
                    "{}",
                    run.id
                );
            }
            assert!(all.iter().any(|run| run.kind == Kind::Published));
        }
    }

    #[test]
    fn full_runs_have_the_papers_lengths() {
        let size = size(false);
        assert_eq!(size.transitions(1, Kind::Published), (1000, 5000));
        assert_eq!(size.transitions(3, Kind::Alternative), (10_000, 20_000));
        let short = Size { draws: Some(7), ..size };
        assert_eq!(short.transitions(3, Kind::Published), (3, 7));
    }
}
