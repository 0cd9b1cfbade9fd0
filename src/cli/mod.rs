//! Reads the command line and hands each subcommand to its file.

mod airports;
mod bench;
mod check;
mod compare;
mod demo;
mod devices;
mod extend;
mod failure;
mod fit;
mod interrupt;
mod length;
mod map;
mod merge;
mod options;
mod paper;
mod predict;
mod progress;
mod report;
mod resume;
mod screen;
mod simulate;
mod summary;

use clap::error::ErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use failure::Failure;
use std::ffi::OsString;
use std::io::Write;
use std::process::ExitCode;

const AFTER_HELP: &str = "\
Examples:
  sshmc demo
  sshmc simulate lgcp --grid 64 --sigma 1.2 --range 0.08 --total 2000 --seed 5 --out forest
  sshmc fit lgcp --counts forest/counts.csv --out forest-fit
  sshmc fit lgcp --points events.csv --window region.geojson --out events-fit
  sshmc map events-fit --exceed 3x
  sshmc summary forest-fit

Exit codes: 0 success; 2 the input or the command line cannot be used; 3 a fit was stopped, by Ctrl-C, SIGTERM, a full disk
or a GPU that failed, and can be continued by `sshmc resume DIR`; 4 a check found something wrong; 1 any other failure.
Errors are one line on standard error.";

/// Samples large latent Gaussian fields with unknown hyperparameters by semi-separable Hamiltonian Monte Carlo.
#[derive(Debug, Parser)]
#[command(name = "sshmc", version, after_help = AFTER_HELP)]
struct CommandLine {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Fit real points and write maps and a report: the whole of the tool in a minute or two
    Demo(demo::Demo),
    /// Fit a model to data
    #[command(subcommand)]
    Fit(fit::Fit),
    /// Continue a fit that was stopped or killed
    Resume(resume::Resume),
    /// Add draws to a fit that has ended
    Extend(extend::Extend),
    /// Join the chains of fits that were run apart
    Merge(merge::Merge),
    /// Draw data from a model at values you choose
    #[command(subcommand)]
    Simulate(simulate::Simulate),
    /// Print the results of an earlier fit
    Summary(summary::Summary),
    /// Write the report of an earlier fit anew
    Report(report::Report),
    /// Map where the intensity of an earlier fit exceeds other levels
    Map(map::Map),
    /// Draw new data from an earlier fit: counts and point patterns, or forecasts of returns
    Predict(predict::Predict),
    /// Compare two fits: their posteriors, and their predictions of held-out points
    Compare(compare::Compare),
    /// Measure ways of sampling on a fixed set of problems
    Bench(bench::Bench),
    /// Reproduce the paper: its tables and figures with ours beside them
    Paper(paper::Paper),
    /// Check that the sampler and your device are right, by tests that say how often they err
    #[command(subcommand)]
    Check(check::Check),
    /// List what a fit can run on
    Devices,
}

/// Runs the command line and tells the shell how it went.
pub(crate) fn main() -> ExitCode {
    let outcome = match parse(std::env::args_os()) {
        Ok(line) => run(&line.command),
        Err(error) => refuse(&error),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // If standard error is gone there is nobody left to tell.
            let _ = writeln!(std::io::stderr(), "{}: {failure}", failure.kind());
            ExitCode::from(failure.code())
        }
    }
}

/// Reads the words that were typed.
fn parse<W: Into<OsString> + Clone>(
    words: impl IntoIterator<Item = W>,
) -> Result<CommandLine, clap::Error> {
    let mut command = taking_negative_numbers(CommandLine::command());
    let matches = command.try_get_matches_from_mut(words)?;
    CommandLine::from_arg_matches(&matches).map_err(|error| error.format(&mut command))
}

/// Gives `-1` after an option to that option, whose complaint then names it, instead of taking it for another option.
fn taking_negative_numbers(command: clap::Command) -> clap::Command {
    let each = |arg: clap::Arg| match !arg.is_positional() && arg.get_action().takes_values() {
        true => arg.allow_negative_numbers(true),
        false => arg,
    };
    command.mut_args(each).mut_subcommands(taking_negative_numbers)
}

fn run(command: &Command) -> Result<(), Failure> {
    match command {
        Command::Demo(demo) => demo.run(),
        Command::Fit(fit) => fit.run(),
        Command::Resume(resume) => resume.run(),
        Command::Extend(extend) => extend.run(),
        Command::Merge(merge) => merge.run(),
        Command::Simulate(simulate) => simulate.run(),
        Command::Summary(summary) => summary.run(),
        Command::Report(report) => report.run(),
        Command::Map(map) => map.run(),
        Command::Predict(predict) => predict.run(),
        Command::Compare(compare) => compare.run(),
        Command::Bench(bench) => bench.run(),
        Command::Paper(paper) => paper.run(),
        Command::Check(check) => check.run(),
        Command::Devices => devices::run(),
    }
}

/// Prints help and version as they are, and puts any complaint on one line.
fn refuse(error: &clap::Error) -> Result<(), Failure> {
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => {
            screen::Screen::open(false).tell(&error.render().to_string())
        }
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(Failure::BadInput("a command is missing; `sshmc --help` lists them all".into()))
        }
        _ => Err(Failure::BadInput(one_line(&error.render().to_string()))),
    }
}

/// The complaint and its tips without the usage that follows.
fn one_line(text: &str) -> String {
    let body = text.split("\n\nUsage:").next().unwrap_or(text);
    let body = body.split("\n\nFor more information").next().unwrap_or(body);
    // What the standard library says of -1 and of words.
    let body = body.replace("invalid digit found in string", "expected a whole number from 0 up");
    let words: Vec<&str> = body.trim_start_matches("error:").split_whitespace().collect();
    format!("{}; `--help` after the command says more", words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        taking_negative_numbers(CommandLine::command()).debug_assert();
    }

    #[test]
    fn complaints_fit_on_one_line() {
        for line in [
            "sshmc fit sv",
            "sshmc fit lgcp --count x",
            "sshmc fit lgcp --counts x --mass heavy",
            "sshmc fit lgcp --counts x --draws many",
            "sshmc fits",
            "sshmc simulate lgcp --grid 0x",
        ] {
            let error = parse(line.split(' ')).unwrap_err();
            let text = one_line(&error.render().to_string());
            assert!(!text.contains('\n') && !text.contains("Usage"), "{text}");
            assert!(!text.starts_with("error") && text.contains("--help"), "{text}");
        }
    }
}
