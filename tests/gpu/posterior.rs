//! Compares posteriors drawn on the GPU with stored references and with the CPU's.
//!
//! The false-alarm rate of each comparison is 1e-6; its must-fail twin is the same reference moved. Hyperparameters of the stored references
//! are also held to 4 combined Monte Carlo errors, which five of them exceed by chance in 3e-4 of seeds; the seed is fixed.

use crate::compare::{Score, judge, mean_score, median_score, moved};
use crate::worlds::device;
use serde_json::Value;
use sshmc::Result;
use sshmc::data::{Counts, Returns};
use sshmc::device::Device;
use sshmc::model::{LgcpOptions, Model, lgcp, stochvol};
use sshmc::report::Summary;
use sshmc::sample::{BatchState, Fit, Keeper, Settings, run, run_kept};
use sshmc::simulate::{self, PatternTruth};
use sshmc::structure::{Anisotropy, Kernel, Sides};
use std::collections::BTreeMap;
use std::fs::read_to_string;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

fn path(folder: &str, file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(folder).join(file)
}

fn json(folder: &str, file: &str) -> Value {
    serde_json::from_str(&read_to_string(path(folder, file)).unwrap()).unwrap()
}

fn settings(warmup: u32, draws: u32) -> Settings {
    Settings { device: device(), warmup, draws, small_torus: false, ..Settings::default() }
}

/// The same with every draw of every site, of which a GPU keeps 1024 otherwise.
fn all_sites(settings: Settings) -> Settings {
    Settings { field_memory: Some(64 << 20), ..settings }
}

fn draws(fit: &Fit, name: &str) -> Vec<Vec<f64>> {
    let k = fit.model.hyperparameters().names().iter().position(|n| *n == name).unwrap();
    fit.chains.iter().map(|c| c.parameters[k].clone()).collect()
}

/// A score and what its reference is moved by in the twin that must fail.
type Scored = (Score, f64);

fn print(what: &str, scores: &[Score]) {
    for s in scores {
        println!("{what}, {}: {:.5}, reference {:.5}, z {:+.2}", s.name, s.got, s.want, s.z());
    }
}

fn check(what: &str, scored: Vec<Scored>) {
    let (scores, by): (Vec<Score>, Vec<f64>) = scored.into_iter().unzip();
    let worst = judge(what, &scores).unwrap();
    let away = judge(what, &moved(&scores, |i| by[i]));
    println!("{what}: largest |z| {worst:.2} of {}; moved: {away:?}", scores.len());
    assert!(away.is_err(), "{what}: a reference that was moved passes");
}

/// How far a stored reference is moved, in posterior standard deviations, as in all tests of posteriors.
const MOVED: f64 = 0.3;

/// Holds a fit against a stored reference: hyperparameters within 4 combined Monte Carlo errors, and every latent's mean.
fn referenced(folder: &str, fit: &Fit, scored: Vec<Scored>, ess: f64) {
    let scores: Vec<Score> = scored.iter().map(|(score, _)| score.clone()).collect();
    print(folder, &scores);
    for score in &scores {
        assert!(score.z().abs() <= 4.0, "{folder}, {}: z {}", score.name, score.z());
    }
    check(folder, scored);
    check(&format!("{folder}, latents"), latents(fit, folder, ess));
}

/// Every latent's mean; the reference's latents are taken to have at least the smallest stated effective size.
fn latents(fit: &Fit, folder: &str, ess: f64) -> Vec<Scored> {
    let text = read_to_string(path(folder, "reference_latents.csv")).unwrap();
    assert!(fit.chains.iter().all(|c| c.field.kept().len() == c.field.mean().len()));
    let one = |(site, line): (usize, &str)| {
        let row: Vec<f64> = line.split(',').map(|cell| cell.parse().unwrap()).collect();
        assert_eq!(row[0], site as f64);
        let draws: Vec<Vec<f64>> =
            fit.chains.iter().map(|c| c.field.series(site).collect()).collect();
        let error = row[2] / ess.sqrt();
        (mean_score(format!("latent {site}"), &draws, row[1], error), MOVED * row[2])
    };
    let all: Vec<Scored> = text.lines().skip(1).enumerate().map(one).collect();
    assert_eq!(all.len(), fit.model.structure().sites());
    all
}

/// Every run here must also pass its own audit.
fn audited(fit: &Fit, bound: f64) {
    let audit = fit.audit.unwrap();
    println!("audit: {audit:?}");
    assert!(audit.transitions >= 4 && audit.worst <= bound, "{audit:?}");
    let summary = Summary::new(fit);
    assert_eq!(summary.sampler.energy_audit, Some(audit.worst));
    assert_eq!(summary.device, device().name());
    assert!(summary.warnings.iter().all(|w| !w.contains("suspect")), "{:?}", summary.warnings);
}

#[test]
fn a_cox_process_matches_its_reference() {
    let mu = json("lgcp32", "truth.json")["mu_fixed"].as_f64();
    let priors = ["sigma=half-normal(2)", "range=lognormal(-2.995732273553991,1)"];
    let options =
        LgcpOptions { mu, priors: priors.map(String::from).to_vec(), ..LgcpOptions::default() };
    let counts = Counts::read(&path("lgcp32", "data.csv")).unwrap();
    let model = Arc::new(lgcp(&counts, &options).unwrap());
    let fit = run(&model, &all_sites(settings(150, 400)), &()).unwrap();
    let reference = &json("lgcp32", "reference.json")["hyper"];
    let score = |ours: &str, theirs: &str| {
        let log = &reference[theirs]["log_mean_sd"];
        let (mean, sd) = (log[0].as_f64().unwrap(), log[1].as_f64().unwrap());
        let ess = reference[theirs]["ess_of_quantile_run"].as_f64().unwrap();
        let logs: Vec<Vec<f64>> =
            draws(&fit, ours).iter().map(|c| c.iter().map(|x| x.ln()).collect()).collect();
        (mean_score(format!("{ours} mean log"), &logs, mean, sd / ess.sqrt()), MOVED * sd)
    };
    let scored = vec![score("sigma", "sigma"), score("range", "beta")];
    let ess = |name: &str| reference[name]["ess_of_quantile_run"].as_f64().unwrap();
    referenced("lgcp32", &fit, scored, ess("sigma").min(ess("beta")));
    audited(&fit, 1e-3);
}

#[test]
fn stochastic_volatility_matches_its_reference() {
    let returns = Returns::read(&path("sv", "data.csv")).unwrap();
    let model = Arc::new(stochvol(&returns, &[]).unwrap());
    let fit = run(&model, &all_sites(settings(150, 250)), &()).unwrap();
    let reference = &json("sv", "reference.json")["hyper"];
    let score = |name: &str| {
        let one = &reference[name];
        let number = |v: &Value| v.as_f64().unwrap();
        let (sd, ess) = (number(&one["sd"]), number(&one["ess_of_quantile_run"]));
        // A median's variance is π/2 times a mean's for a density that is normal near it.
        let error = sd * (0.5 * std::f64::consts::PI / ess).sqrt();
        let median = number(&one["q05_50_95"][1]);
        (median_score(name.into(), &draws(&fit, name), median, error), MOVED * sd)
    };
    let names = ["phi", "sigma", "beta"];
    let ess = names.map(|name| reference[name]["ess_of_quantile_run"].as_f64().unwrap());
    let least = ess.into_iter().fold(f64::INFINITY, f64::min);
    referenced("sv", &fit, names.map(score).into(), least);
    audited(&fit, 1e-3);
}

/// Counts on a grid, a third of a point a cell.
fn pattern(rows: usize, columns: usize, range: f64) -> Arc<Model> {
    let truth = PatternTruth {
        rows,
        columns,
        sigma: 1.0,
        range,
        total: 0.6 * (rows * columns) as f64,
        kernel: Kernel::Exponential,
        anisotropy: Anisotropy::NONE,
    };
    let counts = simulate::lgcp(&truth, 1).unwrap().counts;
    let options = LgcpOptions { sides: Sides::PowersOfTwo, ..LgcpOptions::default() };
    Arc::new(lgcp(&counts, &options).unwrap())
}

/// Compares short runs on both devices, and audits the GPU's.
fn agrees(what: &str, model: &Arc<Model>, on_gpu: Settings, on_cpu: [u32; 2]) {
    let [warmup, draws_there] = on_cpu;
    let cpu = Settings { device: Device::cpu(), warmup, draws: draws_there, ..on_gpu.clone() };
    let gpu = run(model, &on_gpu, &()).unwrap();
    let cpu = run(model, &cpu, &()).unwrap();
    compare(what, model, &gpu, &cpu);
}

/// Every hyperparameter within the combined Monte Carlo error, and the audit.
fn compare(what: &str, model: &Arc<Model>, gpu: &Fit, cpu: &Fit) {
    let names = model.hyperparameters().names();
    let scored = names.iter().map(|name| {
        let values = |fit: &Fit| -> Vec<Vec<f64>> {
            let log = |x: &f64| if ["sigma", "range"].contains(name) { x.ln() } else { *x };
            draws(fit, name).iter().map(|chain| chain.iter().map(log).collect()).collect()
        };
        let reference = values(cpu);
        let own = mean_score((*name).into(), &reference, 0.0, 0.0);
        let all: Vec<f64> = reference.concat();
        let mean = own.got;
        let sd = (all.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / all.len() as f64).sqrt();
        (mean_score((*name).into(), &values(gpu), mean, own.error), 2.0 * sd)
    });
    let scored: Vec<Scored> = scored.collect();
    print(what, &scored.iter().map(|(score, _)| score.clone()).collect::<Vec<_>>());
    check(what, scored);
    audited(gpu, 1e-3);
}

/// Remembers where chains were when their warm-up ended.
struct WarmedUp {
    warmup: u32,
    states: Mutex<BTreeMap<u32, BatchState>>,
}

impl Keeper for WarmedUp {
    fn keeps(&self) -> bool {
        true
    }

    fn keep(&self, state: &BatchState) -> Result<()> {
        if state.transitions == self.warmup {
            self.states.lock().unwrap().insert(state.ids[0], state.clone());
        }
        Ok(())
    }

    fn recall(&self, ids: &[u32], _: u32) -> Result<Option<BatchState>> {
        let states = self.states.lock().unwrap();
        let own = ids.iter().filter_map(|id| states.get(id).cloned());
        Ok(own.reduce(|mut all, one| {
            all.join(one);
            all
        }))
    }
}

/// Warms chains up on the CPU, draws from there on both devices, and compares: on a software adapter most of the time of a large
/// grid would go into a warm-up that says nothing about the device.
fn draws_agree(what: &str, model: &Arc<Model>, warmup: u32, draws: u32, on_cpu: u32) {
    let keeper = WarmedUp { warmup, states: Mutex::default() };
    // Without what a GPU does not do.
    let on_gpu = Settings { chains: 2, tilt: false, ..settings(warmup, draws) };
    let there = Settings { device: Device::cpu(), draws: on_cpu, ..on_gpu.clone() };
    let cpu = run_kept(model, &there, &(), &keeper).unwrap();
    let gpu = run_kept(model, &on_gpu, &(), &keeper).unwrap();
    let warm = |fit: &Fit| fit.chains.iter().map(|c| c.warmup_gradients).collect::<Vec<_>>();
    assert_eq!(warm(&gpu), warm(&cpu), "the GPU's chains do not come from the CPU's warm-up");
    compare(what, model, &gpu, &cpu);
}

#[test]
fn a_grid_that_is_no_square_agrees_with_the_cpu() {
    agrees("40 x 64", &pattern(40, 64, 0.08), settings(100, 60), [400, 500]);
}

#[test]
fn a_grid_with_covariates_agrees_with_the_cpu() {
    let model = crate::worlds::with_covariates(24, 20);
    agrees("24 x 20 with covariates", &model, settings(120, 80), [400, 500]);
}

#[test]
#[ignore = "about three minutes"]
fn a_grid_of_64_agrees_with_the_cpu() {
    agrees("64 x 64", &pattern(64, 64, 0.06), settings(100, 60), [300, 400]);
}

#[test]
#[ignore = "minutes on a software adapter"]
fn a_grid_of_128_agrees_with_the_cpu() {
    draws_agree("128 x 128", &pattern(128, 128, 0.04), 300, 60, 400);
}

#[test]
#[ignore = "many minutes on a software adapter"]
fn a_grid_of_256_agrees_with_the_cpu() {
    draws_agree("256 x 256", &pattern(256, 256, 0.03), 250, 40, 300);
}

#[test]
fn a_run_is_the_same_twice() {
    let model = crate::worlds::cox(8, 8, None);
    let fit = || run(&model, &settings(30, 10), &()).unwrap();
    let (a, b) = (fit(), fit());
    for (a, b) in a.chains.iter().zip(&b.chains) {
        assert_eq!(a.parameters, b.parameters);
        assert_eq!(a.field.mean(), b.field.mean());
    }
    let other = Settings { seed: 2, ..settings(30, 10) };
    let other = run(&model, &other, &()).unwrap();
    assert_ne!(a.chains[0].parameters, other.chains[0].parameters);
}
