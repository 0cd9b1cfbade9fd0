//! Puts the ranks of a calibration into a table, a figure and a verdict.

use super::once_in;
use sshmc::Result;
use sshmc::check::{Replicate, Uniformity};
use sshmc::report::{Curve, Panel, draw_figure_in_rows};
use std::fmt::Write;

/// Share of fits that may be too short: ranks of the others are then uneven by so little that no bound is near.
const MOST_SHORT: f64 = 0.05;

/// The ranks of each quantity, and the chance of ranks as far from uniform.
pub(super) struct Table {
    rows: Vec<(String, Uniformity, f64)>,
    /// Chance below which a quantity is called wrong, and of any such quantity of a right sampler.
    each: f64,
    false_alarm: f64,
    among: u32,
}

impl Table {
    pub(super) fn new(names: &[String], done: &[Replicate], among: u32, false_alarm: f64) -> Self {
        let row = |(k, name): (usize, &String)| {
            let mut counts = vec![0u32; among as usize + 1];
            done.iter().for_each(|replicate| counts[replicate.ranks[k] as usize] += 1);
            let ranks = Uniformity::new(&counts);
            let p = ranks.p_value();
            (name.clone(), ranks, p)
        };
        let rows: Vec<_> = names.iter().enumerate().map(row).collect();
        let each = false_alarm / rows.len().max(1) as f64;
        Self { rows, each, among, false_alarm }
    }

    /// Quantities whose ranks are not uniform.
    pub(super) fn wrong(&self) -> Vec<&str> {
        let wrong = self.rows.iter().filter(|row| row.2 < self.each);
        wrong.map(|row| row.0.as_str()).collect()
    }

    /// Whether so few fits are too short that chances are what they are said to be.
    pub(super) fn is_exact(&self, done: &[Replicate]) -> bool {
        self.short(done) as f64 <= MOST_SHORT * done.len() as f64
    }

    fn short(&self, done: &[Replicate]) -> usize {
        done.iter().filter(|replicate| replicate.is_short(self.among)).count()
    }

    /// The figures and the verdict.
    pub(super) fn body(&self, done: &[Replicate]) -> String {
        let mut text =
            String::from("\n| quantity | p | largest ECDF difference | |\n|---|---:|---:|---|\n");
        for (name, ranks, p) in &self.rows {
            let largest = ranks.difference().iter().fold(0.0f64, |m, d| m.max(d.1.abs()));
            let verdict = if *p < self.each { "**not uniform**" } else { "uniform" };
            let _ = writeln!(text, "| {name} | {p:.3} | {largest:.3} | {verdict} |");
        }
        let count = done.len().max(1) as f64;
        let short = self.short(done);
        let divergent: u64 = done.iter().map(|r| u64::from(r.divergent)).sum();
        let seconds = done.iter().map(|r| r.seconds).sum::<f64>() / count;
        let mut ess: Vec<f64> = done.iter().map(|r| r.ess).collect();
        ess.sort_by(f64::total_cmp);
        let median = ess.get(ess.len() / 2).copied().unwrap_or(f64::NAN);
        let _ = writeln!(
            text,
            "\n{} fits of {seconds:.1} s each; smallest effective sample size of a fit: median {median:.0}, too short with less than {} in \
             {short}; {divergent} divergent transitions.\np is the chance that a right sampler has ranks as far from uniform; the bound of each is {:.1e}, so that \
             a right sampler fails the whole check {}.",
            done.len(),
            self.among,
            self.each,
            once_in(self.false_alarm)
        );
        text += match (self.wrong().is_empty(), self.is_exact(done)) {
            (true, true) => "verdict: ranks are uniform: nothing wrong was found\n",
            (true, false) => "verdict: NOT EXACT: too many fits are too short for these chances\n",
            (false, _) => "verdict: ranks are NOT uniform\n",
        };
        text
    }

    /// The whole report.
    pub(super) fn text(&self, introduction: &str, done: &[Replicate]) -> String {
        format!(
            "# Calibration by sshmc {}\n\n{introduction}{}\n![ECDF differences](calibration.png)\n",
            env!("CARGO_PKG_VERSION"),
            self.body(done)
        )
    }

    /// Differences of ECDFs, in a band for the eye and the verdict's.
    pub(super) fn figure(&self) -> Result<String> {
        let Some((_, first, _)) = self.rows.first() else { return draw_figure_in_rows(&[], 1) };
        let eye = first.edges(&first.band(0.05));
        let verdict = first.edges(&first.band(self.each));
        let panel = |(name, ranks, p): &(String, Uniformity, f64)| {
            let curve = |name: &str, colour, points: &[(f64, f64)]| Curve {
                name: name.into(),
                colour,
                points: points.to_vec(),
            };
            let curves = vec![
                curve("ranks", 0, &ranks.difference()),
                curve("95 % band", 4, &eye[0]),
                curve("verdict", 1, &verdict[0]),
                curve("", 4, &eye[1]),
                curve("", 1, &verdict[1]),
            ];
            Panel::Curves {
                title: format!("{name}: p = {p:.3} (wrong below {:.1e})", self.each),
                axes: ["rank / (draws + 1)".into(), "ECDF difference".into()],
                curves,
            }
        };
        draw_figure_in_rows(&self.rows.iter().map(panel).collect::<Vec<_>>(), 3)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_fits_and_uneven_ranks_have_verdicts_of_their_own() {
        let one = |number: u32, rank: u32, ess: f64| Replicate {
            number,
            ranks: vec![rank],
            draws: 10,
            ess,
            divergent: 0,
            seconds: 1.0,
        };
        let verdict = |rank: &dyn Fn(u32) -> u32, short: u32| {
            let ess = |n| if n < short { 6.9 } else { 7.0 };
            let done: Vec<_> = (0..80).map(|n| one(n, rank(n), ess(n))).collect();
            let table = Table::new(&["sigma".to_owned()], &done, 7, 1e-3);
            let body = table.body(&done);
            assert!(body.contains(&format!("too short with less than 7 in {short};")), "{body}");
            (table.wrong().len(), table.is_exact(&done), body)
        };
        let (wrong, exact, body) = verdict(&|n| n % 8, 4);
        assert!(wrong == 0 && exact && body.contains("verdict: ranks are uniform"), "{body}");
        let (wrong, exact, body) = verdict(&|n| n % 8, 5);
        assert!(wrong == 0 && !exact && body.contains("verdict: NOT EXACT"), "{body}");
        let (wrong, _, body) = verdict(&|n| n % 4, 5);
        assert!(wrong == 1 && body.contains("verdict: ranks are NOT uniform"), "{body}");
    }
}
