//! Lays the figures of a table out in cells: the paper's rows, ours beside them, and what better coordinates do.

use super::measure::{Figures, Row};
use super::printed::{Printed, printed};
use super::runs::Kind;

/// A table of text.
#[derive(Clone, Debug)]
pub(crate) struct Cells {
    /// Headings of the columns.
    pub(crate) head: Vec<String>,
    /// Rows of as many cells.
    pub(crate) rows: Vec<Vec<String>>,
}

/// Above this R-hat chains count as not having mixed.
pub(crate) const MIXED: f64 = 1.05;

/// The cells of a table, from 1.
pub(crate) fn cells(table: usize, rows: &[Row]) -> Cells {
    let names: Vec<&str> = printed(table)[0].parameters.iter().map(|p| p.0).collect();
    let mut head: Vec<String> =
        ["", "method", "coordinates", "time, s", "ESS latents (min, median, max)"]
            .map(String::from)
            .to_vec();
    head.push(format!("ESS ({})", names.join(", ")));
    head.extend(["min ESS/s", "× RMHMC (Gibbs)", "× HMC"].map(String::from));
    if table == 1 {
        head.push("squared error (E v, E v²)".into());
    }
    head.extend(
        ["min bulk ESS", "per 1000 gradients", "R-hat", "accepts", "divergent"].map(String::from),
    );
    let mut all: Vec<Vec<String>> = printed(table).iter().map(|row| theirs(table, row)).collect();
    all.extend(rows.iter().map(|row| ours(table, row, rows, &names)));
    Cells { head, rows: all }
}

fn theirs(table: usize, row: &Printed) -> Vec<String> {
    let of = |name: &str| printed(table).iter().find(|r| r.method == name).map(|r| r.rate);
    let sizes: Vec<String> = row.parameters.iter().map(|p| number(p.1)).collect();
    let mut cells = vec![
        "paper".into(),
        row.method.into(),
        "centred".into(),
        number(row.seconds),
        join(row.latents),
        sizes.join(", "),
        number(row.rate),
        ratio(row.rate, of("RMHMC (Gibbs)")),
        ratio(row.rate, of("HMC")),
    ];
    if table == 1 {
        cells.push(errors(row.errors));
    }
    cells.extend(std::iter::repeat_n("–".to_owned(), 5));
    cells
}

fn ours(table: usize, row: &Row, rows: &[Row], names: &[&str]) -> Vec<String> {
    let figures = &row.figures;
    let of = |name: &str| published(rows, name).map(Figures::rate);
    let sizes: Vec<String> = names
        .iter()
        .map(|name| figures.parameters.get(*name).map_or("–".into(), |size| number(*size)))
        .collect();
    let spread = figures.latents;
    let sampler = &figures.summary.sampler;
    let chains = f64::from(figures.summary.chains);
    let rhat = figures.rhat();
    let mut cells = vec![
        match row.kind {
            Kind::Published => "here",
            Kind::Dense => "here, window with dense Σ",
            Kind::Costly => "here, short run",
            Kind::Alternative => "here, besides",
        }
        .into(),
        row.method.into(),
        row.coordinates.into(),
        number(figures.seconds),
        join([spread.min, spread.median, spread.max]),
        sizes.join(", "),
        number(figures.rate()),
        ratio(figures.rate(), of("RMHMC (Gibbs)")),
        ratio(figures.rate(), of("HMC")),
    ];
    if table == 1 {
        cells.push(errors(figures.errors));
    }
    cells.extend([
        sampler.min_ess.map_or("–".into(), |ess| number(ess / chains)),
        sampler.min_ess_per_1000_gradients.map_or("–".into(), number),
        if rhat.is_finite() { format!("{rhat:.3}") } else { "–".into() },
        format!("{:.0} %", 100.0 * sampler.accept),
        sampler.divergences.to_string(),
    ]);
    cells
}

/// The figures of the run that stands beside the paper's row of a name.
pub(crate) fn published<'a>(rows: &'a [Row], name: &str) -> Option<&'a Figures> {
    rows.iter().find(|r| r.kind == Kind::Published && r.method == name).map(|r| &r.figures)
}

fn join(values: [Option<f64>; 3]) -> String {
    values.map(|v| v.map_or("–".into(), number)).join(", ")
}

fn errors(errors: Option<[f64; 2]>) -> String {
    errors.map_or("–".into(), |e| e.map(number).join(", "))
}

fn ratio(rate: f64, of: Option<f64>) -> String {
    of.filter(|of| *of > 0.0).map_or("–".into(), |of| number(rate / of))
}

/// Three digits or so.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => "–".into(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        0.0 => "0".into(),
        size if size >= 0.001 => format!("{value:.4}"),
        _ => format!("{value:.1e}"),
    }
}

/// How the medians of the hyperparameters compare with those of our own method, in combined Monte Carlo errors: the runs that have mixed
/// with their largest |z|, and those that have not with their R-hat.
pub(crate) fn agreement(rows: &[Row]) -> Option<String> {
    let best = rows.iter().rfind(|r| r.method == "SSHMC" && r.kind == Kind::Alternative)?;
    let label = |row: &Row| {
        let dense = if row.kind == Kind::Dense { ", dense Σ" } else { "" };
        format!("{}, {}{dense}", row.method, row.coordinates)
    };
    let (mut agree, mut apart) = (Vec::new(), Vec::new());
    for row in rows.iter().filter(|row| !std::ptr::eq(*row, best)) {
        let rhat = row.figures.rhat();
        if rhat > MIXED {
            let shown = if rhat.is_finite() { format!("{rhat:.2}") } else { "none".into() };
            apart.push(format!("{} (R-hat {shown})", label(row)));
            continue;
        }
        let z = row.figures.summary.parameters.iter().filter_map(|(name, p)| {
            let other = best.figures.summary.parameters.get(name)?;
            Some(((p.q50 - other.q50) / p.mcse_q50.hypot(other.mcse_q50)).abs())
        });
        agree.push((z.fold(0.0, f64::max), label(row)));
    }
    let worst = agree.iter().map(|a| a.0).fold(0.0, f64::max);
    let listed: Vec<String> = agree.iter().map(|(z, name)| format!("{name} ({z:.1})")).collect();
    let mut text = format!(
        "Against SSHMC in {} coordinates the posterior medians of the hyperparameters differ by at most {worst:.1} combined Monte Carlo \
         errors in runs whose R-hat is at most {MIXED}: {}.",
        best.coordinates,
        if listed.is_empty() { "none".into() } else { listed.join("; ") }
    );
    if !apart.is_empty() {
        text.push_str(&format!(
            " These have not mixed, as their R-hat tells: {}.",
            apart.join("; ")
        ));
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_as_many_cells_as_there_are_headings() {
        for table in 1..=4 {
            let cells = cells(table, &[]);
            assert!(cells.rows.iter().all(|row| row.len() == cells.head.len()), "table {table}");
            assert_eq!(cells.rows.len(), printed(table).len());
        }
        // The paper's own claim for the Cox process.
        let six = &cells(4, &[]).rows[0][7];
        assert!(six.starts_with("6."), "{six}");
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.00012, 0.0123, 0.5, 12.34, 1234.5, f64::NAN].map(number);
        assert_eq!(shown, ["0", "1.2e-4", "0.0123", "0.50", "12.3", "1234", "–"]);
    }
}
