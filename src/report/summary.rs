//! Sums up a run: posterior, diagnostics and cost, as written to `summary.json`.

use crate::diagnose::{Diagnoser, ParameterSummary, ebfmi};
use crate::draws::ChainDraws;
use crate::sample::{EnergyAudit, Fit};
use crate::structure::{Structure, Torus};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Everything about a run that fits on a page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Summary {
    /// The model's name.
    pub model: String,
    /// The method.
    pub method: String,
    /// The coordinates the latents were sampled in.
    pub coordinates: String,
    /// Where it ran.
    pub device: String,
    /// The seed.
    pub seed: u64,
    /// Number of chains.
    pub chains: u32,
    /// Warm-up transitions of each chain.
    pub warmup: u32,
    /// Kept draws of each chain.
    pub draws: u32,
    /// Hyperparameters by name.
    pub parameters: BTreeMap<String, ParameterSummary>,
    /// The latents.
    pub field: FieldSummary,
    /// The sampler.
    pub sampler: SamplerSummary,
    /// What a reader should know about the model as it was run.
    pub notes: Vec<String>,
    /// What a reader should worry about; empty if nothing.
    pub warnings: Vec<String>,
}

/// Smallest, middle and largest of many values.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// Smallest.
    pub min: Option<f64>,
    /// Middle.
    pub median: Option<f64>,
    /// Largest.
    pub max: Option<f64>,
}

impl Spread {
    /// Of the values that are numbers.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| !v.is_nan()).collect();
        sorted.sort_by(f64::total_cmp);
        Self {
            min: sorted.first().copied(),
            median: sorted.get(sorted.len() / 2).copied(),
            max: sorted.last().copied(),
        }
    }
}

/// Diagnostics of the latents.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct FieldSummary {
    /// Number of sites.
    pub n: usize,
    /// Number of sites diagnosed: all, unless their draws would not fit in memory.
    pub diagnosed: usize,
    /// Bulk effective sample size over the sites.
    pub ess_bulk: Spread,
    /// Largest R-hat over the sites.
    pub rhat_max: Option<f64>,
}

/// Cost and health of the sampler.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SamplerSummary {
    /// Latent gradients after warm-up, over all chains.
    pub gradients: u64,
    /// Latent gradients during warm-up, over all chains.
    pub warmup_gradients: u64,
    /// CPU-chain seconds after warm-up: the sum over chains.
    pub seconds: f64,
    /// The same during warm-up.
    pub warmup_seconds: f64,
    /// Mean acceptance probability.
    pub accept: f64,
    /// Number of divergent transitions after warm-up.
    pub divergences: u64,
    /// Largest error of a difference in energy found by recomputing a sample of transitions in double precision; none where all were in
    /// double precision.
    #[serde(default)]
    pub energy_audit: Option<f64>,
    /// Mean step size of the latents.
    pub step_size: f64,
    /// Mean number of integrator steps of a trajectory.
    pub steps: f64,
    /// Energy Bayesian fraction of missing information of each chain; below 0.3 is a bad sign.
    pub ebfmi: Vec<Option<f64>>,
    /// Smallest bulk ESS of any hyperparameter or site.
    pub min_ess: Option<f64>,
    /// The same per 1000 gradients.
    pub min_ess_per_1000_gradients: Option<f64>,
    /// The same per second.
    pub min_ess_per_second: Option<f64>,
}

impl Summary {
    /// Sums up a fit.
    pub fn new(fit: &Fit) -> Self {
        let parameters = parameters(fit);
        let field = field(&fit.chains);
        let sampler = sampler(fit, &parameters, &field);
        let mut summary = Self {
            model: fit.model.name().into(),
            method: fit.settings.method.name().into(),
            coordinates: fit.coordinates.into(),
            device: fit.device.clone(),
            seed: fit.settings.seed,
            chains: fit.settings.chains,
            warmup: fit.settings.warmup,
            draws: fit.settings.draws,
            parameters,
            field,
            sampler,
            notes: fit.model.notes().to_vec(),
            warnings: Vec::new(),
        };
        summary.warnings = summary.find_faults(fit);
        summary
    }

    /// Sentences about what is wrong, each with what to do.
    fn find_faults(&self, fit: &Fit) -> Vec<String> {
        let mut faults = Vec::new();
        let draws = f64::from(self.chains) * f64::from(self.draws);
        // One in a thousand is a trajectory that met the edge of the posterior; more is a place it does not get to.
        if self.sampler.divergences as f64 > draws / 1000.0 {
            faults.push(format!(
                "{} of {draws} transitions diverged: the integrator lost the trajectory there, so parts of the posterior may be \
                 missed; warm up longer (--warmup {}) or give tighter priors",
                self.sampler.divergences,
                2 * self.warmup.max(100)
            ));
        }
        if let Some(audit) = fit.audit.filter(|audit| audit.worst > EnergyAudit::SUSPECT) {
            faults.push(format!(
                "suspect: energies on {} are off by {:.2} in the worst of {} audited transitions (should be at most {}): single precision \
                 is not enough here; run on the CPU (--device cpu)",
                self.device,
                audit.worst,
                audit.transitions,
                EnergyAudit::SUSPECT
            ));
        }
        if !fit.exact_sums {
            faults.push(format!(
                "the driver of {} rearranges sums, so that energies are good to single precision only; see sampler.energy_audit, and run \
                 on the CPU (--device cpu) or with another driver",
                self.device
            ));
        }
        for chain in &fit.chains {
            let mean = chain.acceptance.iter().sum::<f64>() / chain.acceptance.len().max(1) as f64;
            if mean < 0.1 {
                faults.push(format!(
                    "chain {} is stuck: it accepts {:.1} % of its proposals; warm up longer or check the data and priors",
                    chain.chain,
                    100.0 * mean
                ));
            }
        }
        let several = self.chains > 1 && self.draws >= 4;
        // A second scale of a hyperparameter has the faults of the first.
        let second = |name: &str| fit.model.derived().iter().any(|derived| derived.name == name);
        for (name, p) in self.parameters.iter().filter(|(name, _)| !second(name)) {
            if several && !p.rhat.is_finite() {
                faults.push(format!(
                    "{name} has no R-hat: a chain did not move at all; warm up longer or check the data and priors"
                ));
            }
            if p.rhat > 1.0105 {
                faults.push(format!(
                    "R-hat of {name} is {:.3} (should be at most 1.01): the chains disagree; draw or warm up longer",
                    p.rhat
                ));
            }
            if p.ess_bulk < 100.0 * f64::from(self.chains) {
                faults.push(format!(
                    "effective sample size of {name} is {:.0} (should be at least {}): its mean is rough; draw longer",
                    p.ess_bulk,
                    100 * self.chains
                ));
            }
        }
        faults.extend(self.torus_fault(fit));
        if several && self.field.rhat_max.is_none() {
            faults.push("the latents have no R-hat: a chain did not move or is not finite; warm up longer or check the data".into());
        }
        if self.field.rhat_max.is_some_and(|r| r > 1.05) {
            faults.push("R-hat of some latents is above 1.05: the chains disagree about parts of the field; draw longer".into());
        }
        if self.sampler.ebfmi.iter().flatten().any(|&e| e < 0.3) {
            faults.push("the energy moves slowly (E-BFMI below 0.3): heavy tails are explored poorly; draw longer or give tighter priors".into());
        }
        faults
    }

    /// Whether a torus smaller than usual has turned out too small for the ranges that were found.
    fn torus_fault(&self, fit: &Fit) -> Option<String> {
        let Structure::Spectral(spectral) = fit.model.structure() else { return None };
        let torus = spectral.torus();
        let range = self.parameters.get("range")?.q95;
        let usual = torus == Torus::around(torus.rows, torus.columns);
        let error = if usual { 0.0 } else { spectral.window_error(range) };
        (error > 0.01).then(|| {
            format!(
                "the {} x {} torus is small for the ranges found: at {range:.3} correlations differ from the plane's by up to \
                 {error:.3}; run again with the full torus (--torus full)",
                torus.p1, torus.p2
            )
        })
    }
}

fn parameters(fit: &Fit) -> BTreeMap<String, ParameterSummary> {
    let mut diagnoser = Diagnoser::new();
    let names = fit.model.hyperparameters().names();
    let series = |k: usize| fit.chains.iter().map(move |c| &c.parameters[k][..]);
    let mut all: BTreeMap<String, ParameterSummary> = names
        .iter()
        .enumerate()
        .map(|(k, name)| {
            let draws: Vec<&[f64]> = series(k).collect();
            (name.to_string(), diagnoser.summarise(&draws))
        })
        .collect();
    for second in fit.model.derived() {
        if let Some(first) = all.get(names[second.hyperparameter]) {
            let scaled = first.scaled(second.factor);
            all.insert(second.name.clone(), scaled);
        }
    }
    all
}

/// Effective sizes and R-hats of every kept site.
fn field(chains: &[ChainDraws]) -> FieldSummary {
    let kept = chains.first().map_or(0, |c| c.field.kept().len());
    let figures: Vec<(f64, f64)> = (0..kept)
        .into_par_iter()
        .map_init(Diagnoser::new, |diagnoser, k| {
            let series: Vec<Vec<f64>> =
                chains.iter().map(|c| c.field.series(k).collect()).collect();
            let draws: Vec<&[f64]> = series.iter().map(Vec::as_slice).collect();
            (diagnoser.ess_bulk(&draws), diagnoser.rhat(&draws))
        })
        .collect();
    let ess: Vec<f64> = figures.iter().map(|f| f.0).collect();
    let rhat: Vec<f64> = figures.iter().map(|f| f.1).collect();
    FieldSummary {
        n: chains.first().map_or(0, |c| c.field.mean().len()),
        diagnosed: kept,
        ess_bulk: Spread::of(&ess),
        rhat_max: Spread::of(&rhat).max,
    }
}

fn sampler(
    fit: &Fit,
    parameters: &BTreeMap<String, ParameterSummary>,
    field: &FieldSummary,
) -> SamplerSummary {
    let chains = &fit.chains;
    let gradients: u64 = chains.iter().map(|c| c.gradients).sum();
    let seconds: f64 = chains.iter().map(|c| c.seconds).sum();
    let count = chains.iter().map(|c| c.acceptance.len()).sum::<usize>().max(1) as f64;
    let min_ess = parameters
        .values()
        .map(|p| p.ess_bulk)
        .chain(field.ess_bulk.min)
        .filter(|e| !e.is_nan())
        .reduce(f64::min);
    let finite = |x: f64| x.is_finite().then_some(x);
    SamplerSummary {
        gradients,
        warmup_gradients: chains.iter().map(|c| c.warmup_gradients).sum(),
        seconds,
        warmup_seconds: chains.iter().map(|c| c.warmup_seconds).sum(),
        accept: chains.iter().flat_map(|c| &c.acceptance).sum::<f64>() / count,
        divergences: chains.iter().flat_map(|c| &c.divergent).filter(|&&d| d).count() as u64,
        energy_audit: fit.audit.map(|audit| audit.worst),
        step_size: chains.iter().map(|c| c.step_size).sum::<f64>() / chains.len().max(1) as f64,
        steps: chains.iter().flat_map(|c| &c.steps).map(|&s| f64::from(s)).sum::<f64>() / count,
        ebfmi: chains.iter().map(|c| finite(ebfmi(&c.energy))).collect(),
        min_ess,
        min_ess_per_1000_gradients: min_ess.map(|e| 1000.0 * e / gradients.max(1) as f64),
        min_ess_per_second: min_ess.and_then(|e| finite(e / seconds)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Truth;
    use crate::sample::{Settings, run};
    use std::sync::Arc;

    /// Warnings about energies, and what the screen shows.
    fn audited(fit: &Fit, worst: f64) -> (Vec<String>, String) {
        let audit = Some(EnergyAudit { transitions: 8, worst });
        let summary = Summary::new(&Fit { audit, device: "a GPU".into(), ..fit.clone() });
        assert_eq!(summary.sampler.energy_audit, Some(worst));
        let mut screen = Vec::new();
        summary.write_text(&Truth::new(), &mut screen).unwrap();
        let about = |warning: &&String| warning.contains("energies on");
        let warnings = summary.warnings.iter().filter(about).cloned().collect();
        (warnings, String::from_utf8(screen).unwrap())
    }

    #[test]
    fn energies_that_are_off_mark_a_run_as_suspect_on_the_screen_too() {
        let model = Arc::new(crate::model::funnel(3, &[]).unwrap());
        let settings = Settings { chains: 2, warmup: 40, draws: 20, ..Settings::default() };
        let fit = run(&model, &settings, &()).unwrap();
        for worst in [0.06, f64::INFINITY] {
            let (warnings, screen) = audited(&fit, worst);
            assert_eq!(warnings.len(), 1, "{warnings:?}");
            assert!(warnings[0].starts_with("suspect: ") && warnings[0].contains("a GPU"));
            let line = format!("warning: {}\n", warnings[0]);
            assert!(screen.contains(&line) && screen.contains("not to be trusted yet"), "{screen}");
        }
        assert!(audited(&fit, 0.06).0[0].contains("off by 0.06"), "the error is named");
        let (warnings, screen) = audited(&fit, 0.04);
        assert!(warnings.is_empty() && !screen.contains("suspect"), "{screen}");
    }
}
