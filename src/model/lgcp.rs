//! Assembles the log-Gaussian Cox process on a grid: y ~ Poisson(area × exposure × e^x), x ~ N(μ1, Σ(σ, range)), or negative binomial
//! counts of that mean.

use super::{Column, MeanTerm, Model};
use crate::data::{Counts, Covariate};
use crate::error::{Error, Result};
use crate::likelihood::CountLikelihood;
use crate::prior::{Distribution, Hyperparameter, Hyperparameters, Scale};
use crate::structure::{
    Anisotropy, Correlation, Dense, Embedding, Kernel, Sides, Spectral, Stationary, Structure,
};
use std::sync::Arc;

/// Choices about an LGCP.
#[derive(Clone, Debug)]
pub struct LgcpOptions {
    /// The mean log intensity if it is known; otherwise it is learnt.
    pub mu: Option<f64>,
    /// The correlation function.
    pub kernel: Kernel,
    /// How it depends on direction; fixed, not learnt.
    pub anisotropy: Anisotropy,
    /// How counts scatter around their rate.
    pub likelihood: CountLikelihood,
    /// Covariates of the log intensity; each has a coefficient of its name, per standard deviation.
    pub covariates: Vec<Covariate>,
    /// Priors that replace the defaults, as `NAME=DIST(…)`.
    pub priors: Vec<String>,
    /// Sides of the torus; a GPU needs [`Sides::PowersOfTwo`].
    pub sides: Sides,
}

impl Default for LgcpOptions {
    fn default() -> Self {
        Self {
            mu: None,
            kernel: Kernel::Exponential,
            anisotropy: Anisotropy::NONE,
            likelihood: CountLikelihood::default(),
            covariates: Vec::new(),
            priors: Vec::new(),
            sides: Sides::default(),
        }
    }
}

/// The most cells of a window whose covariance is dense: each gradient factors it.
const MOST_DENSE: usize = 4096;

/// The model of gridded counts. Intensities are per unit of map area and exposure.
pub fn lgcp(counts: &Counts, options: &LgcpOptions) -> Result<Model> {
    let grid = counts.grid();
    let hyperparameters = hyperparameters(counts, options, log_rate(counts))?;
    let spectral = Spectral::with_sides(
        grid.rows(),
        grid.columns(),
        grid.cell(),
        Correlation { kernel: options.kernel, anisotropy: options.anisotropy },
        allowed_ranges(&hyperparameters),
        options.sides,
    )?;
    refuse_excluded_ranges(&spectral, &hyperparameters)?;
    let note = embedding_note(&spectral, &hyperparameters);
    let model = assemble(counts, options, Structure::Spectral(spectral), hyperparameters, note)?;
    Ok(correlation_notes(options).into_iter().fold(model, Model::with_note))
}

/// What there is to know about a correlation function other than the default.
fn correlation_notes(options: &LgcpOptions) -> Vec<String> {
    let mut notes = Vec::new();
    match options.kernel {
        Kernel::Gaussian => notes.push(format!(
            "a nugget of {} of the variance is part of the Gaussian kernel: without it small eigenvalues vanish",
            options.kernel.nugget()
        )),
        Kernel::Matern1 => notes.push(
            "Matern with smoothness 1 is the SPDE's field with kappa = sqrt(2)/range: the range that INLA reports, sqrt(8)/kappa, \
             is twice this one"
                .into(),
        ),
        Kernel::Exponential | Kernel::Matern32 | Kernel::Matern52 => (),
    }
    if !options.anisotropy.is_none() {
        let (angle, ratio) = (options.anisotropy.angle(), options.anisotropy.ratio());
        notes.push(format!(
            "the range is the one along {angle} degrees from the x axis towards the y axis; across it the range is {ratio} times \
             shorter"
        ));
    }
    notes
}

/// The same model with nothing but the window's cells as latents and their covariance dense, as it was published: the
/// reference for [`lgcp`], for the exponential kernel.
pub fn lgcp_on_window(counts: &Counts, options: &LgcpOptions) -> Result<Model> {
    let grid = counts.grid();
    let plain = options.kernel == Kernel::Exponential && options.anisotropy.is_none();
    if !plain || grid.cells() > MOST_DENSE {
        return Err(Error::input(
            "window with a dense covariance",
            format!("the exponential kernel without anisotropy and at most {MOST_DENSE} cells"),
            format!("{:?} and {}", options.kernel, grid.cells()),
            "put the grid in a torus instead",
        ));
    }
    let points: Vec<(f64, f64)> = (0..grid.cells())
        .map(|cell| {
            let (i, j) = grid.position(cell);
            grid.centre(i, j)
        })
        .collect();
    let dense = Dense::new(Arc::new(Stationary::exponential(&points)?))?;
    let hyperparameters = hyperparameters(counts, options, log_rate(counts))?;
    let note = "only the window's cells are latents, with a dense covariance";
    assemble(counts, options, Structure::Dense(dense), hyperparameters, note.into())
}

/// The log of the mean intensity.
fn log_rate(counts: &Counts) -> f64 {
    counts.mean_intensity().ln()
}

/// What intensities are multiplied by to be expected counts: area times exposure, and nothing where nobody looked.
pub(crate) fn effort(counts: &Counts) -> Vec<f64> {
    let area = counts.grid().cell_area();
    let each = counts.exposure().iter().zip(counts.observed());
    each.map(|(&e, &observed)| if observed { e * area } else { 0.0 }).collect()
}

fn assemble(
    counts: &Counts,
    options: &LgcpOptions,
    structure: Structure,
    hyperparameters: Hyperparameters,
    note: String,
) -> Result<Model> {
    let grid = counts.grid();
    let exposure = effort(counts);
    let values =
        counts.counts().iter().zip(&exposure).map(|(&y, &e)| if e > 0.0 { y } else { 0.0 });
    let likelihood = options.likelihood.of(values.collect(), exposure)?;
    let of_likelihood: Vec<f64> = (structure.parameters()..)
        .take(likelihood.parameters())
        .map(|k| hyperparameters[k].working(hyperparameters[k].start()).0)
        .collect();
    let model = Model::new("lgcp", structure, likelihood, hyperparameters)?
        .reporting_mean()
        .with_note(note);
    // A field of unit variance and a tenth of the map: far from white noise and from a constant.
    let side = grid.cell() * grid.rows().max(grid.columns()) as f64;
    let (sigma, range) = (0.0, (0.1 * side).ln());
    let mut start = vec![sigma, range];
    start.extend(of_likelihood);
    let mut model = match options.mu {
        Some(mu) if mu.is_finite() => model.with_offset(mu),
        Some(mu) => {
            let remedy = "leave it out to learn it";
            return Err(Error::input("--mu", "a finite number", format!("{mu}"), remedy));
        }
        None => {
            let hyperparameter = start.len();
            start.push(log_rate(counts) - 0.5);
            model.with_mean(MeanTerm { hyperparameter, scale: 1.0, column: Column::Constant })?
        }
    };
    for covariate in &options.covariates {
        let column = Column::Values(covariate.values().to_vec());
        model = model
            .with_mean(MeanTerm { hyperparameter: start.len(), scale: 1.0, column })?
            .with_derived(
                format!("{}_per_unit", covariate.name()),
                start.len(),
                1.0 / covariate.sd(),
            )
            .with_note(covariate_note(covariate));
        start.push(0.0);
    }
    Ok(model.with_start(&start))
}

/// How the two scales of a coefficient belong together.
fn covariate_note(covariate: &Covariate) -> String {
    let (name, mean, sd) = (covariate.name(), covariate.mean(), covariate.sd());
    format!(
        "{name} has mean {mean:.4} and standard deviation {sd:.4} over the window; its coefficient is the change of the log \
         intensity per standard deviation, {name}_per_unit the same per original unit; mu is at its mean"
    )
}

/// sigma, range, what the likelihood has of its own and, unless it is fixed, mu with their priors.
fn hyperparameters(
    counts: &Counts,
    options: &LgcpOptions,
    log_rate: f64,
) -> Result<Hyperparameters> {
    let grid = counts.grid();
    let side = grid.cell() * grid.rows().max(grid.columns()) as f64;
    let sigma = Distribution::PcSigma { s0: 3.0, p: 0.05 };
    let range = Distribution::PcRange { r0: 0.02 * side, p: 0.05 };
    let mut all = vec![
        Hyperparameter::new("sigma", Scale::Exp(1.0), sigma)?.with_alias("sigma2", Scale::Exp(2.0)),
        Hyperparameter::new("range", Scale::Exp(1.0), range)?,
    ];
    all.extend(options.likelihood.hyperparameters());
    if options.mu.is_none() {
        // Centred on the log of the mean intensity: wide enough (a factor e⁵ either way) to say nothing more.
        let mu = Distribution::Normal { mean: log_rate, sd: 5.0 };
        all.push(Hyperparameter::new("mu", Scale::Linear(1.0), mu)?);
    }
    for covariate in &options.covariates {
        // A factor of e^2 either way for one standard deviation of a covariate is already a strong effect.
        let coefficient = Distribution::Normal { mean: 0.0, sd: 2.0 };
        all.push(Hyperparameter::new(covariate.name(), Scale::Linear(1.0), coefficient)?);
    }
    let mut all = Hyperparameters::new(all);
    for prior in &options.priors {
        if options.mu.is_some() && prior.trim_start().starts_with("mu") {
            return Err(Error::input(
                "--prior",
                "no prior on mu when it is fixed",
                prior,
                "leave out --mu or the prior",
            ));
        }
        all.set_prior(prior)?;
    }
    Ok(all)
}

/// The ranges the prior allows: its bounds, or everything.
fn allowed_ranges(hyperparameters: &Hyperparameters) -> (f64, f64) {
    let range = hyperparameters.iter().find(|h| h.name() == "range");
    range.and_then(|h| h.prior().bounds()).unwrap_or((0.0, f64::INFINITY))
}

/// Refuses a prior all of whose ranges are longer than the model has.
fn refuse_excluded_ranges(spectral: &Spectral, hyperparameters: &Hyperparameters) -> Result<()> {
    let longest = spectral.table().longest() * spectral.cell();
    let (shortest, _) = allowed_ranges(hyperparameters);
    if shortest < longest {
        return Ok(());
    }
    let prior = hyperparameters.iter().find(|h| h.name() == "range");
    Err(Error::input(
        "--prior",
        format!("some probability of ranges below {longest:.3}, twice the longer side of the map"),
        prior.map_or(String::new(), Hyperparameter::describe_prior),
        "give shorter ranges, in the units of the map",
    ))
}

/// What was done about the torus, and how far it can be from the plane.
fn embedding_note(spectral: &Spectral, hyperparameters: &Hyperparameters) -> String {
    let torus = spectral.torus();
    let size = format!("{} x {} torus", torus.p1, torus.p2);
    match spectral.table().embedding() {
        Embedding::Exact => format!(
            "grid embedded exactly in a {size}: every range the prior allows has positive eigenvalues"
        ),
        Embedding::Periodised => {
            let longest = spectral.table().longest() * spectral.cell();
            let median = hyperparameters.iter().nth(1).and_then(|h| h.prior_quantile(0.5));
            // Longer ones are excluded, and would take forever to sum up.
            let median = median.filter(|&m| m <= longest);
            let bound = median.map_or(String::new(), |m| {
                format!(
                    " (by at most {:.1e} at the prior's median range {m:.3})",
                    spectral.window_error(m)
                )
            });
            format!(
                "grid embedded in a {size} with the periodised kernel, scaled to variance one: positive for every range; \
                 correlations differ from the plane's{bound}; ranges above {longest:.3} are excluded"
            )
        }
    }
}
