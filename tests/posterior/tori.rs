//! Compares a fit in the small torus that a pilot run chooses with one in the full torus: as models they differ by correlations of at most
//! 0.001, which nobody may see.
//!
//! The false-alarm rate is 1e-6; the must-fail twin is the second fit moved by 0.3 posterior standard deviations.

use crate::compare::{Score, judge, mean_score, moved};
use sshmc::model::{LgcpOptions, lgcp};
use sshmc::sample::{Fit, Settings, run};
use sshmc::simulate::{self, PatternTruth};
use sshmc::structure::{Anisotropy, Kernel};
use std::sync::Arc;

/// Draws of every hyperparameter and of the field at some sites.
fn draws(fit: &Fit) -> Vec<Vec<Vec<f64>>> {
    let names = fit.model.hyperparameters().len();
    let values = (0..names).map(|k| fit.chains.iter().map(|c| c.parameters[k].clone()).collect());
    let sites = (0..fit.model.structure().sites()).step_by(37);
    let field =
        sites.map(|site| fit.chains.iter().map(|c| c.field.series(site).collect()).collect());
    values.chain(field).collect()
}

#[test]
#[ignore = "a minute; run with --ignored"]
fn a_smaller_torus_changes_nothing_that_is_seen() {
    let truth = PatternTruth {
        rows: 64,
        columns: 64,
        sigma: 1.2,
        range: 0.02,
        total: 2000.0,
        kernel: Kernel::Exponential,
        anisotropy: Anisotropy::NONE,
    };
    let priors = ["sigma=lognormal(0.2,0.3)", "range=lognormal(-3.9,0.3)"];
    let options =
        LgcpOptions { priors: priors.map(String::from).to_vec(), ..LgcpOptions::default() };
    let model = Arc::new(lgcp(&simulate::lgcp(&truth, 5).unwrap().counts, &options).unwrap());
    let fit = |small_torus, seed| {
        run(&model, &Settings { small_torus, seed, ..Settings::default() }, &()).unwrap()
    };
    let (small, full) = (fit(true, 1), fit(false, 2));
    assert!(small.model.structure().dim() < full.model.structure().dim(), "no smaller torus");
    let (mut scores, mut sds): (Vec<Score>, Vec<f64>) = Default::default();
    for (k, (ours, theirs)) in draws(&small).iter().zip(&draws(&full)).enumerate() {
        let own = mean_score(format!("{k}"), theirs, 0.0, 0.0);
        scores.push(mean_score(format!("{k}"), ours, own.got, own.error));
        let all = || theirs.iter().flatten();
        let count = all().count() as f64;
        sds.push((all().map(|x| (x - own.got).powi(2)).sum::<f64>() / count).sqrt());
    }
    let worst = judge("small and full torus", &scores).unwrap();
    println!(
        "{} and {} latents: largest |z| {worst:.2} of {}",
        small.model.structure().dim(),
        full.model.structure().dim(),
        scores.len()
    );
    let away = moved(&scores, |i| 0.3 * sds[i]);
    assert!(judge("small and full torus", &away).is_err(), "0.3 sd away passes");
}
