//! Holds the paper's claims against our runs.

use super::measure::Row;
use super::runs::Kind;
use super::table::{number, published};

/// A sentence for each claim that the rows of a table can speak to.
pub(crate) fn claims(table: usize, rows: &[Row]) -> Vec<String> {
    let mut all = Vec::new();
    let (sshmc, rmhmc) = (published(rows, "SSHMC"), published(rows, "RMHMC (Gibbs)"));
    if let (Some(sshmc), Some(rmhmc)) = (sshmc, rmhmc) {
        let claim = match table {
            1 => "13 times as many effective samples a second as RMHMC (Gibbs), from its table",
            2 => "10 times as many effective samples a second as RMHMC (Gibbs), from its table",
            3 => "almost two times as many effective samples a second as RMHMC (Gibbs)",
            _ => "about six times as many effective samples an hour as RMHMC (Gibbs)",
        };
        let ratio = sshmc.rate() / rmhmc.rate();
        let gradients = |f: &super::measure::Figures| f.summary.sampler.gradients.max(1) as f64;
        let each = sshmc.least() / gradients(sshmc) / (rmhmc.least() / gradients(rmhmc));
        all.push(format!(
            "The paper: SSHMC has {claim}. Here: {} times a second, {} times a gradient.",
            number(ratio),
            number(each)
        ));
    }
    if table == 1 {
        all.extend(funnel(rows));
    }
    if let Some(best) = rows.iter().max_by(|a, b| a.figures.rate().total_cmp(&b.figures.rate()))
        && let Some(sshmc) = sshmc
    {
        all.push(format!(
            "Best of all here: {} in {} coordinates, {} times SSHMC as published.",
            best.method,
            best.coordinates,
            number(best.figures.rate() / sshmc.rate())
        ));
    }
    all
}

/// What is claimed about bias and about SoftAbs.
fn funnel(rows: &[Row]) -> Vec<String> {
    let mut all = Vec::new();
    let errors = ["HMC", "RMHMC (Gibbs)", "SSHMC"].map(|name| {
        let errors = published(rows, name).and_then(|f| f.errors);
        format!("{name} {}", errors.map_or("–".into(), |e| e.map(number).join(" and ")))
    });
    all.push(format!(
        "The paper: only SSHMC estimates E v and E v² nearly without bias. Here the squared errors are: {}. The variance of v is 9, so a \
         perfect sampler's squared errors after n effective draws are 9/n and 162/n.",
        errors.join("; ")
    ));
    let soft = rows.iter().find(|r| r.kind == Kind::Costly);
    if let (Some(soft), Some(sshmc)) = (soft, published(rows, "SSHMC")) {
        let step = |f: &super::measure::Figures| f.seconds / f.steps.max(1.0);
        all.push(format!(
            "The paper: an ABLA step is about 100 times cheaper than a generalized leapfrog step under SoftAbs, and SSHMC has 2.5 times as \
             many effective samples a second. Here: a step is {} times cheaper, and SSHMC has {} times as many.",
            number(step(&soft.figures) / step(sshmc)),
            number(sshmc.rate() / soft.figures.rate())
        ));
    }
    all
}
