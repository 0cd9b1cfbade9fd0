//! Finds what is wrong with a run, says it in sentences, and names the cheapest remedy.

use super::Summary;
use crate::sample::{EnergyAudit, Fit, Until};
use crate::structure::{Structure, Torus};
use serde::{Deserialize, Serialize};

/// What to do about a run that cannot be trusted yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Remedy {
    /// Go on drawing from where its chains are: `sshmc extend`.
    Extend,
    /// Fit again in another way, because more draws of these chains would not help.
    FitAgain,
}

impl Summary {
    /// Writes down what is wrong with a fit and what to do about it.
    pub(super) fn judge(&mut self, fit: &Fit) {
        let faults = self.find_faults(fit);
        let draws = self.faults_of_length(fit);
        // Draws alone do not help where something else is wrong.
        self.remedy = match (faults.is_empty(), draws.is_empty()) {
            (true, true) => None,
            (true, false) => Some(Remedy::Extend),
            (false, _) => Some(Remedy::FitAgain),
        };
        self.warnings = faults.into_iter().chain(draws).collect();
    }

    /// Sentences about what more draws would not cure.
    fn find_faults(&self, fit: &Fit) -> Vec<String> {
        let mut faults = self.energy_faults(fit);
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
        if self.chains > 1 && self.draws >= 4 {
            let still = self.judged(fit).filter(|(_, p)| !p.rhat.is_finite());
            faults.extend(still.map(|(name, _)| {
                format!("{name} has no R-hat: a chain did not move at all; warm up longer or check the data and priors")
            }));
            if self.field.rhat_max.is_none() {
                faults.push("the latents have no R-hat: a chain did not move or is not finite; warm up longer or check the data".into());
            }
        }
        faults.extend(self.torus_fault(fit));
        faults
    }

    /// Whether energies were good enough.
    fn energy_faults(&self, fit: &Fit) -> Vec<String> {
        let mut faults = Vec::new();
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
        faults
    }

    /// Hyperparameters, without second scales of them: those have the faults of the first.
    fn judged<'a>(
        &'a self,
        fit: &'a Fit,
    ) -> impl Iterator<Item = (&'a String, &'a crate::diagnose::ParameterSummary)> {
        let second = |name: &str| fit.model.derived().iter().any(|derived| derived.name == name);
        self.parameters.iter().filter(move |(name, _)| !second(name))
    }

    /// Sentences about what more draws would cure.
    fn faults_of_length(&self, fit: &Fit) -> Vec<String> {
        let Until { ess, rhat, .. } = fit.settings.until.unwrap_or_default();
        let mut faults = Vec::new();
        let mut look = |what: &str, [bulk, tail, most]: [f64; 3], means: &str| {
            if most > rhat && most.is_finite() {
                faults.push(format!(
                    "R-hat of {what} is {most:.4} (should be at most {rhat}): the chains disagree{means}; draw on"
                ));
            }
            if bulk < ess || tail < ess {
                faults.push(format!(
                    "effective sample size of {what} is {bulk:.0} in the bulk and {tail:.0} in the tails (should be at least {ess}): \
                     mean and interval are rough; draw on"
                ));
            }
        };
        for (name, p) in self.judged(fit) {
            look(name, [p.ess_bulk, p.ess_tail, p.rhat], "");
        }
        let known = |x: Option<f64>| x.unwrap_or(f64::NAN);
        let field = &self.field;
        let figures = [field.ess_bulk.min, field.ess_tail.min, field.rhat_max].map(known);
        look("some latents", figures, " about parts of the field");
        if self.sampler.ebfmi.iter().flatten().any(|&e| e < 0.3) {
            faults.push("the energy moves slowly (E-BFMI below 0.3): heavy tails are explored poorly; draw on or give tighter priors".into());
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

    /// What to type next about a fit in a directory, if it cannot be trusted yet.
    pub fn advice(&self, directory: &str) -> Option<String> {
        match self.remedy? {
            Remedy::Extend => Some(format!(
                "`sshmc extend {directory}` draws on until the results can be trusted"
            )),
            Remedy::FitAgain => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{Settings, run};
    use std::sync::Arc;

    #[test]
    fn more_draws_are_the_remedy_only_where_they_help() {
        let model = Arc::new(crate::model::funnel(3, &[]).unwrap());
        let settings = Settings { chains: 2, warmup: 100, draws: 60, ..Settings::default() };
        let mut fit = run(&model, &settings, &()).unwrap();
        // Whatever this seed did, nothing diverged in what is judged.
        fit.chains.iter_mut().for_each(|chain| chain.divergent.fill(false));
        let short = Summary::new(&fit);
        assert_eq!(short.remedy, Some(Remedy::Extend), "{:?}", short.warnings);
        assert!(short.warnings.iter().all(|w| w.contains("draw on")), "{:?}", short.warnings);
        assert!(short.advice("there").unwrap().contains("sshmc extend there"));
        let mut lost = fit.clone();
        lost.chains[0].divergent.fill(true);
        let lost = Summary::new(&lost);
        assert_eq!((lost.remedy, lost.advice("there")), (Some(Remedy::FitAgain), None));
        // And what is asked for decides.
        let until = Until { ess: 1.0, rhat: 50.0, ..Until::default() };
        fit.settings.until = Some(until);
        let easy = Summary::new(&fit);
        assert!(easy.warnings.iter().all(|w| w.contains("E-BFMI")), "{:?}", easy.warnings);
    }
}
