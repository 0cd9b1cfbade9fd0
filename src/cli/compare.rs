//! Prints two runs side by side.

use super::failure::Failure;
use super::screen::Screen;
use clap::Args;
use sshmc::Error;
use sshmc::report::{Run, compare_posteriors, compare_scores};
use std::io::Write;
use std::path::PathBuf;

/// Options of a comparison.
#[derive(Args, Debug)]
#[command(after_help = "Example: which kernel predicts better?
  sshmc fit lgcp --points trees.csv --hold-out 0.2 --out rough
  sshmc fit lgcp --points trees.csv --hold-out 0.2 --kernel matern32 --out smooth
  sshmc compare rough smooth")]
pub(crate) struct Compare {
    /// Directory that a fit wrote
    #[arg(value_name = "A")]
    first: PathBuf,
    /// Directory that another fit of the same model wrote
    #[arg(value_name = "B")]
    second: PathBuf,
}

impl Compare {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        let a = Run::open(&self.first).map_err(Failure::preparing)?;
        let b = Run::open(&self.second).map_err(Failure::preparing)?;
        if a.summary.model != b.summary.model {
            return Err(Failure::preparing(Error::input(
                self.second.display().to_string(),
                format!("a fit of {}, as {}", a.summary.model, self.first.display()),
                format!("one of {}", b.summary.model),
                "compare fits of one model",
            )));
        }
        let scores = compare_scores(&a, &b).map_err(Failure::preparing)?;
        let mut screen = Screen::open(false);
        self.write(&a, &b, scores, &mut screen).map_err(Failure::printing)?;
        screen.tell("")
    }

    fn write(
        &self,
        a: &Run,
        b: &Run,
        scores: Option<sshmc::report::Scores>,
        out: &mut impl Write,
    ) -> std::io::Result<()> {
        writeln!(out, "A: {}\nB: {}\n", a.record.command, b.record.command)?;
        writeln!(
            out,
            "{:<24} {:>14} {:>12} {:>14} {:>12} {:>22}",
            "", "mean A", "sd A", "mean B", "sd B", "difference / MC error"
        )?;
        for pair in compare_posteriors(a, b) {
            writeln!(
                out,
                "{:<24} {:>14.5} {:>12.5} {:>14.5} {:>12.5} {:>22.1}",
                pair.name, pair.first.0, pair.first.1, pair.second.0, pair.second.1, pair.errors
            )?;
        }
        for (name, run) in [("A", a), ("B", b)] {
            writeln!(out, "verdict of {name}: {}", run.summary.verdict())?;
        }
        let Some(scores) = scores else {
            let hint = "no points were held out; fit both with --hold-out 0.2 to see which predicts better";
            return if a.summary.model == "lgcp" { writeln!(out, "{hint}") } else { Ok(()) };
        };
        writeln!(
            out,
            "log score of the points held out: A {:.2}, B {:.2}; B minus A {:.2} ± {:.2}",
            scores.first, scores.second, scores.difference, scores.error
        )?;
        let sentence = match scores.difference / scores.error {
            z if z > 2.0 => "B predicts better",
            z if z < -2.0 => "A predicts better",
            _ => "neither predicts clearly better",
        };
        writeln!(out, "{sentence}")
    }
}
