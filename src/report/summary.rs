//! Sums up a run: posterior, diagnostics and cost, as written to `summary.json`.

use super::Remedy;
use crate::diagnose::{Diagnoser, ParameterSummary, Reliability, ebfmi};
use crate::draws::ChainDraws;
use crate::sample::{Fit, field_reliability};
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
    /// Why there are so many: `asked`, `trusted`, `most-draws`, `out-of-time` or `stopped`.
    #[serde(default)]
    pub ended: String,
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
    /// What to do about them.
    #[serde(default)]
    pub remedy: Option<Remedy>,
}

/// Smallest, middle and largest of many values.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
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
    /// Tail effective sample size over the sites.
    #[serde(default)]
    pub ess_tail: Spread,
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
    /// Seconds of CPU time after warm-up, over all chains; none on a GPU.
    #[serde(default)]
    pub cpu_seconds: Option<f64>,
    /// The same during warm-up.
    #[serde(default)]
    pub warmup_cpu_seconds: Option<f64>,
    /// Seconds that passed from the beginning of the run to its end, warm-up included, over interruptions.
    #[serde(default)]
    pub elapsed_seconds: f64,
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
    /// The same per second of CPU time after warm-up; on a GPU per second that passed.
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
            ended: fit.ended.name().into(),
            parameters,
            field,
            sampler,
            notes: fit.model.notes().to_vec(),
            warnings: Vec::new(),
            remedy: None,
        };
        summary.judge(fit);
        summary
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
    let figures = field_reliability(&chains.iter().collect::<Vec<_>>());
    let spread = |figure: fn(&Reliability) -> f64| {
        Spread::of(&figures.iter().map(figure).collect::<Vec<_>>())
    };
    FieldSummary {
        n: chains.first().map_or(0, |c| c.field.mean().len()),
        diagnosed: figures.len(),
        ess_bulk: spread(|site| site.ess_bulk),
        ess_tail: spread(|site| site.ess_tail),
        rhat_max: spread(|site| site.rhat).max,
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
    let on_cpu = !fit.settings.device.is_gpu();
    let warmup_seconds: f64 = chains.iter().map(|c| c.warmup_seconds).sum();
    SamplerSummary {
        gradients,
        warmup_gradients: chains.iter().map(|c| c.warmup_gradients).sum(),
        cpu_seconds: on_cpu.then_some(seconds),
        warmup_cpu_seconds: on_cpu.then_some(warmup_seconds),
        elapsed_seconds: fit.elapsed,
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
    use crate::sample::{EnergyAudit, Settings, run};
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
