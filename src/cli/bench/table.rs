//! Lays figures out as a Markdown table whose rows can be printed one by one.

use super::measure::Figures;

/// Headings and least widths of the columns after problem and variant.
const COLUMNS: [(&str, usize); 10] = [
    ("ESS / 1000 gradients", 20),
    ("ESS / CPU s", 20),
    ("with warm-up", 20),
    ("slowest", 12),
    ("R-hat", 6),
    ("accept", 6),
    ("steps", 6),
    ("divergent", 9),
    ("warm-up as draws", 16),
    ("us / gradient", 13),
];

/// What the columns mean, for under the table.
pub(crate) const LEGEND: &str = "\
ESS is the smallest bulk effective sample size of any hyperparameter or site, and `slowest` is what had it; the three rates are
given as smallest / median / largest over the seeds. R-hat is the largest of any quantity and seed, `divergent` the number over
all seeds, and the other columns are means over the seeds. Gradients are those of the latents, hyperparameters included. Times
are on one core and after warm-up; only `with warm-up` is ESS for each CPU second of everything: set-up, warm-up and draws. `warm-up as draws` is how many draws the gradients of a warm-up would have paid for.";

/// The layout of a table.
pub(crate) struct Table {
    problem: usize,
    variant: usize,
}

impl Table {
    /// Wide enough for these names.
    pub(crate) fn new<'a>(
        problems: impl Iterator<Item = &'a str>,
        variants: impl Iterator<Item = &'a str>,
    ) -> Self {
        Self {
            problem: problems.map(str::len).chain(["problem".len()]).max().unwrap_or(0),
            variant: variants.map(str::len).chain(["variant".len()]).max().unwrap_or(0),
        }
    }

    /// The two lines before the first row.
    pub(crate) fn head(&self) -> String {
        let names = COLUMNS.map(|(name, _)| name.to_owned());
        let rules =
            COLUMNS.map(|(name, width)| format!("{}:", "-".repeat(width.max(name.len()) - 1)));
        let rule = |width: usize| "-".repeat(width);
        let head = self.line("problem", "variant", &names);
        head + &self.line(&rule(self.problem), &rule(self.variant), &rules)
    }

    /// The row of a problem and variant over all seeds.
    pub(crate) fn row(&self, problem: &str, variant: &str, all: &[Figures]) -> String {
        let mean =
            |f: fn(&Figures) -> f64| all.iter().map(f).sum::<f64>() / all.len().max(1) as f64;
        let cells = [
            spread(all.iter().map(|f| f.per_1000_gradients).collect()),
            spread(all.iter().map(|f| f.per_second).collect()),
            spread(all.iter().map(|f| f.per_second_of_all).collect()),
            slowest(all),
            format!("{:.3}", all.iter().map(|f| f.rhat).fold(0.0, f64::max)),
            format!("{:.2}", mean(|f| f.acceptance)),
            format!("{:.1}", mean(|f| f.steps)),
            all.iter().map(|f| f.divergences).sum::<u64>().to_string(),
            format!("{:.0}", mean(|f| f.warmup_draws)),
            number(mean(|f| f.microseconds)),
        ];
        self.line(problem, variant, &cells)
    }

    fn line(&self, problem: &str, variant: &str, cells: &[String; COLUMNS.len()]) -> String {
        let (first, second) = (self.problem, self.variant);
        let mut line = format!("| {problem:first$} | {variant:second$} |");
        for (cell, (name, width)) in cells.iter().zip(COLUMNS) {
            let width = width.max(name.len());
            line.push_str(&format!(" {cell:>width$} |"));
        }
        line.push('\n');
        line
    }
}

/// What was slowest in the runs, each once.
fn slowest(all: &[Figures]) -> String {
    let mut names: Vec<&str> = all.iter().map(|f| f.slowest.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// Smallest, median and largest; only the one value if there is one.
fn spread(mut values: Vec<f64>) -> String {
    values.sort_by(f64::total_cmp);
    match values[..] {
        [] => "-".into(),
        [only] => number(only),
        [least, .., most] => {
            let half = values.len() / 2;
            let median = 0.5 * (values[half] + values[(values.len() - 1) / 2]);
            format!("{} / {} / {}", number(least), number(median), number(most))
        }
    }
}

/// Three digits or so.
pub(crate) fn number(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 || size.is_nan() => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 || size == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(rate: f64, slowest: &str) -> Figures {
        Figures {
            per_1000_gradients: rate,
            per_second: 100.0 * rate,
            per_second_of_all: 60.0 * rate,
            slowest: slowest.into(),
            rhat: 1.0 + 0.001 * rate,
            acceptance: 0.8,
            steps: 5.0,
            divergences: 1,
            warmup_draws: 600.0,
            microseconds: 10.0,
        }
    }

    #[test]
    fn every_line_has_the_same_columns_and_width() {
        let table = Table::new(["lgcp32"].into_iter(), ["informed-leapfrog"].into_iter());
        let row = table.row("lgcp32", "auto", &[figures(3.0, "range"), figures(1.0, "field")]);
        let text = table.head() + &row;
        let widths: Vec<(usize, usize)> =
            text.lines().map(|line| (line.matches('|').count(), line.len())).collect();
        assert_eq!(widths.len(), 3);
        assert!(widths.iter().all(|w| *w == widths[0]), "{text}");
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells[3..5], ["1.00 / 2.00 / 3.00", "100 / 200 / 300"]);
        assert_eq!(cells[5..8], ["60.0 / 120 / 180", "field, range", "1.003"]);
        assert_eq!(cells[10..12], ["2", "600"]);
    }

    #[test]
    fn medians_lie_in_the_middle() {
        assert_eq!(spread(vec![]), "-");
        assert_eq!(spread(vec![4.0]), "4.00");
        assert_eq!(spread(vec![9.0, 1.0, 4.0]), "1.00 / 4.00 / 9.00");
        assert_eq!(spread(vec![9.0, 1.0, 4.0, 2.0]), "1.00 / 3.00 / 9.00");
        assert_eq!(number(f64::NAN), "NaN");
        assert_eq!(number(0.0123), "1.2e-2");
    }
}
