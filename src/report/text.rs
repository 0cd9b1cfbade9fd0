//! Prints a summary as a table and a few sentences that a person can read.

use super::Summary;
use super::numbers::counted;
use crate::diagnose::ParameterSummary;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

/// True values by hyperparameter, where they are known.
pub type Truth = BTreeMap<String, f64>;

/// Headings of the table's columns after the name.
const HEADINGS: [&str; 9] =
    ["mean", "± mcse", "sd", "5 %", "median", "95 %", "ESS bulk", "ESS tail", "R-hat"];

/// Decimals beyond which a number is written with its exponent.
const MOST_PLACES: usize = 12;

impl Summary {
    /// Writes the table of hyperparameters, the field, the cost, warnings and a verdict. True values, if any are known,
    /// stand beside the posterior.
    pub fn write_text(&self, truth: &Truth, out: &mut impl Write) -> io::Result<()> {
        self.write_table(truth, out)?;
        writeln!(out)?;
        self.write_field(out)?;
        self.write_cost(out)?;
        match self.ended.as_str() {
            "most-draws" => writeln!(out, "ended:   after the most draws that were allowed")?,
            "out-of-time" => writeln!(out, "ended:   because its time was up")?,
            "stopped" => writeln!(out, "ended:   because it was asked to stop")?,
            _ => {}
        }
        for warning in &self.warnings {
            writeln!(out, "warning: {warning}")?;
        }
        writeln!(out, "verdict: {}", self.verdict())
    }

    /// One sentence on whether to trust the draws.
    pub fn verdict(&self) -> String {
        let judged = self.parameters.values().all(|p| p.rhat.is_finite());
        match (self.warnings.len(), judged) {
            (0, true) => "the chains agree and nothing looks wrong".into(),
            (0, false) => {
                "cannot tell whether the chains agree: run at least 2 chains with at least 4 draws that move".into()
            }
            (1, _) => "not to be trusted yet: see the warning above".into(),
            (n, _) => format!("not to be trusted yet: see the {n} warnings above"),
        }
    }

    fn write_table(&self, truth: &Truth, out: &mut impl Write) -> io::Result<()> {
        let mut rows: Vec<Vec<String>> = vec![
            std::iter::once("")
                .chain(HEADINGS)
                .chain((!truth.is_empty()).then_some("truth"))
                .map(String::from)
                .collect(),
        ];
        for (name, p) in &self.parameters {
            let mut row = vec![name.clone()];
            row.extend(p.cells());
            if !truth.is_empty() {
                row.push(truth.get(name).map_or("-".into(), |&t| significant(t, 4)));
            }
            rows.push(row);
        }
        write_aligned(&rows, out)
    }

    fn write_field(&self, out: &mut impl Write) -> io::Result<()> {
        let field = &self.field;
        let of = if field.diagnosed < field.n {
            format!(" (at {} of them)", field.diagnosed)
        } else {
            String::new()
        };
        writeln!(
            out,
            "field:   {} latents, ESS bulk{of}: smallest {}, median {}; ESS tail: smallest {}; largest R-hat {}",
            field.n,
            whole(field.ess_bulk.min),
            whole(field.ess_bulk.median),
            whole(field.ess_tail.min),
            decimals(field.rhat_max.unwrap_or(f64::NAN), 3),
        )
    }

    fn write_cost(&self, out: &mut impl Write) -> io::Result<()> {
        let s = &self.sampler;
        writeln!(
            out,
            "cost:    {} gradients{}, after a warm-up of {}{}; {} s elapsed in all; smallest ESS {}: {} per 1000 gradients, {} per \
             second{}",
            s.gradients,
            seconds(s.cpu_seconds, " of CPU time"),
            s.warmup_gradients,
            seconds(s.warmup_cpu_seconds, ""),
            significant(s.elapsed_seconds, 3),
            whole(s.min_ess),
            optional(s.min_ess_per_1000_gradients),
            optional(s.min_ess_per_second),
            if s.cpu_seconds.is_some() { " of CPU time" } else { "" },
        )?;
        writeln!(
            out,
            "sampler: {}, {} x {} draws in {} coordinates on {}; accepts {} % of proposals, {} steps each, {} divergent",
            self.method,
            counted(self.chains, "chain"),
            self.draws,
            self.coordinates,
            placed(&self.device),
            decimals(100.0 * s.accept, 0),
            decimals(s.steps, 1),
            s.divergences,
        )
    }
}

/// A device as the place of something: a GPU has a name of its own.
fn placed(device: &str) -> String {
    match device {
        "cpu" => "the cpu".to_owned(),
        name => name.to_owned(),
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.write_text(&Truth::new(), &mut text).map_err(|_| fmt::Error)?;
        f.write_str(String::from_utf8_lossy(&text).trim_end())
    }
}

impl ParameterSummary {
    /// Its figures as text, in the order of the table's headings.
    pub(super) fn cells(&self) -> [String; 9] {
        figures(self)
    }
}

/// The cells of one row. Estimates show as many decimals as their Monte Carlo error leaves meaningful, plus one.
fn figures(p: &ParameterSummary) -> [String; 9] {
    let places = places(p.mcse_mean, p.sd);
    let value = |x: f64| match places < MOST_PLACES || !x.is_finite() {
        true => decimals(x, places),
        false => format!("{x:.3e}"),
    };
    [
        value(p.mean),
        if p.mcse_mean.is_finite() {
            format!("± {}", significant(p.mcse_mean, 2))
        } else {
            "-".into()
        },
        value(p.sd),
        value(p.q05),
        value(p.q50),
        value(p.q95),
        decimals(p.ess_bulk, 0),
        decimals(p.ess_tail, 0),
        decimals(p.rhat, 3),
    ]
}

/// Decimals that show two digits of the error, or three of the spread if there is none.
fn places(error: f64, spread: f64) -> usize {
    let finest = if error > 0.0 && error.is_finite() { error } else { spread / 10.0 };
    if !(finest > 0.0 && finest.is_finite()) {
        return 4;
    }
    (1.0 - finest.log10().floor()).clamp(0.0, MOST_PLACES as f64) as usize
}

/// Writes columns side by side: the first aligned left, the others right.
fn write_aligned(rows: &[Vec<String>], out: &mut impl Write) -> io::Result<()> {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|k| {
            rows.iter().filter_map(|row| row.get(k)).map(|c| c.chars().count()).max().unwrap_or(0)
        })
        .collect();
    for row in rows {
        let mut line = String::new();
        for (k, (cell, &width)) in row.iter().zip(&widths).enumerate() {
            line += &if k == 0 { format!("{cell:<width$}") } else { format!("  {cell:>width$}") };
        }
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

/// A number with fixed decimals; a dash for what is not a number.
fn decimals(x: f64, places: usize) -> String {
    match x {
        x if x.is_nan() => "-".into(),
        x if x.abs() >= 1e7 && x.is_finite() => format!("{x:.3e}"),
        x => format!("{x:.places$}"),
    }
}

/// A number to so many significant digits.
fn significant(x: f64, digits: usize) -> String {
    if x == 0.0 || !x.is_finite() {
        return decimals(x, 0);
    }
    let size = x.abs().log10().floor();
    if !(-5.0..7.0).contains(&size) {
        return format!("{x:.*e}", digits - 1);
    }
    decimals(x, (digits as f64 - 1.0 - size).max(0.0) as usize)
}

fn whole(x: Option<f64>) -> String {
    decimals(x.unwrap_or(f64::NAN), 0)
}

/// How long something took, where that is known.
fn seconds(x: Option<f64>, of: &str) -> String {
    x.map_or(String::new(), |x| format!(" in {} s{of}", significant(x, 3)))
}

fn optional(x: Option<f64>) -> String {
    significant(x.unwrap_or(f64::NAN), 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_long_as_they_deserve() {
        assert_eq!(significant(0.012345, 2), "0.012");
        assert_eq!(significant(1234.5, 2), "1234");
        assert_eq!(significant(1.5e-9, 2), "1.5e-9");
        assert_eq!(significant(f64::NAN, 2), "-");
        assert_eq!(decimals(f64::INFINITY, 3), "inf");
        assert_eq!(places(0.0123, 1.0), 3);
        assert_eq!(places(12.0, 100.0), 0);
        assert_eq!(places(f64::NAN, 0.5), 3);
        assert_eq!(places(f64::NAN, f64::NAN), 4);
        assert_eq!(places(1e-150, 1e-149), MOST_PLACES);
    }

    #[test]
    fn devices_with_names_have_no_article() {
        assert_eq!([placed("cpu"), placed("llvmpipe")], ["the cpu", "llvmpipe"]);
    }

    #[test]
    fn columns_line_up_whatever_their_alphabet() {
        let rows = [["", "± a"], ["sigma", "12"]].map(|row| row.map(String::from).to_vec());
        let mut out = Vec::new();
        write_aligned(&rows, &mut out).unwrap();
        assert_eq!(String::from_utf8(out).unwrap(), "       ± a\nsigma   12\n");
    }
}
