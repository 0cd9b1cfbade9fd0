//! Writes one page that says what was run, what came out, and whether to trust it; it needs nothing but itself.

mod chart;
mod checks;
mod html;
mod posterior;

use super::map::{MOST_SPECKS, area_unit, file_unit};
use super::numbers::{counted, number};
use super::{FieldMoments, LgcpRun, Remedy, Run, RunRecord, Summary, draw_volatility};
use crate::data::Table;
use crate::error::{Error, Result};
use html::{drawing, escape, picture, section, table};
use std::fs;

const STYLE: &str = include_str!("page.css");

/// Maps on the page, in order; those of levels follow the first two.
const FIRST: [&str; 2] = ["intensity_mean", "intensity_sd"];

/// The page of a run as HTML.
pub fn page(run: &Run) -> Result<String> {
    let mut body = verdict(run);
    match run.summary.model.as_str() {
        "lgcp" => {
            let data = run.lgcp()?;
            body += &section("Maps", &maps(run, &data)?);
            body += &section("Hyperparameters", &hyperparameters(run));
            body += &section("Does the model fit the data?", &checks::lgcp(run, &data)?);
        }
        "sv" => {
            body += &section("Volatility", &volatility(run)?);
            body += &section("Hyperparameters", &hyperparameters(run));
            body += &section("Does the model fit the data?", &checks::volatility(run)?);
        }
        _ => body += &section("Hyperparameters", &hyperparameters(run)),
    }
    body += &section("Posterior, prior and chains", &posterior::charts(run));
    body += &section("How it was sampled", &sampling(run));
    body += &section("What was asked", &asked(run));
    let title = format!("{} fit", run.summary.model);
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<link rel=\"icon\" href=\"data:,\">\n\
         <title>{}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<header><h1>{}</h1>\n<p>{}</p></header>\n{body}\
         </main>\n</body>\n</html>\n",
        escape(&title),
        escape(&format!("Fit of {}", run.record.subject)),
        escape(&format!("{}; seed {}", run.record.program, run.summary.seed)),
    ))
}

/// Whether to trust the results, why not, and what to do.
fn verdict(run: &Run) -> String {
    let summary = &run.summary;
    let judged = summary.parameters.values().all(|p| p.rhat.is_finite());
    if summary.warnings.is_empty() && judged {
        return "<section class=\"verdict\"><h2>You can trust these results</h2><p>The chains agree (R-hat at most 1.01), their \
                effective sample sizes are large enough for means and intervals, and no trajectory was lost in numbers that \
                matter.</p></section>\n"
            .into();
    }
    let mut reasons: Vec<String> = summary.warnings.clone();
    if !judged && reasons.is_empty() {
        reasons.push("it cannot be told whether the chains agree: run at least 2 chains with at least 4 draws".into());
    }
    let items: String = reasons.iter().map(|text| format!("<li>{}</li>", escape(text))).collect();
    let (what, command) = remedy(run);
    format!(
        "<section class=\"verdict bad\"><h2>Do not trust these results yet</h2><p>Because:</p><ul>{items}</ul><p>{what}:</p><pre>{}\
         </pre></section>\n",
        escape(&command)
    )
}

/// What to do about results that cannot be trusted, and the command that does it.
fn remedy(run: &Run) -> (&'static str, String) {
    let RunRecord { command, directory, .. } = &run.record;
    let summary = &run.summary;
    if summary.remedy == Some(Remedy::Extend) && !directory.is_empty() {
        let extend = format!("sshmc extend {directory}");
        return ("Draw on, from where the chains are, until they can be trusted", extend);
    }
    let again = with_option(command, "--warmup", 2 * summary.warmup.max(250));
    match summary.method.as_str() {
        "sshmc" => ("Try a longer warm-up", again),
        _ => ("Try a longer run", with_option(&again, "--draws", 4 * summary.draws.max(250))),
    }
}

/// A command line with an option set to a value, in place of the value it may have.
fn with_option(command: &str, option: &str, value: u32) -> String {
    let mut words: Vec<&str> = command.split(' ').collect();
    if let Some(place) = words.iter().position(|word| *word == option) {
        words.drain(place..(place + 2).min(words.len()));
    }
    words.retain(|word| !word.starts_with(&format!("{option}=")));
    format!("{} {option} {value}", words.join(" "))
}

fn maps(run: &Run, data: &LgcpRun) -> Result<String> {
    let mut out = String::from("<div class=\"grid\">\n");
    for name in map_names(run)? {
        let path = run.directory.join(format!("maps/{name}.png"));
        out += &picture(&fs::read(&path).map_err(Error::io("read", &path))?, &name);
    }
    out += "</div>\n";
    let points = match &data.places {
        Some(places) if places.len() > MOST_SPECKS => {
            format!("White dots: {MOST_SPECKS} of the {} points, chosen by chance.", places.len())
        }
        Some(places) => format!("White dots: the {} points.", places.len()),
        None => "White dots: cells with points.".to_owned(),
    };
    let crs = data.window.crs().map_or(String::new(), |crs| format!(" Coordinates: {crs}."));
    let text = format!(
        "{points} Intensities are expected points per unit of area and exposure; their mean over the data is {}.{crs} The \
         same maps are in the folder maps as GeoTIFF for any geographic information system, with the 5, 50 and 95 % quantiles.",
        mean_intensity(data)
    );
    Ok(out + &format!("<p>{}</p>\n", escape(&text)))
}

/// The mean intensity of the data in the unit of the maps' legends, and in that of levels and files if it is another.
fn mean_intensity(data: &LgcpRun) -> String {
    let (crs, mean) = (data.window.crs(), data.mean_intensity);
    let ((factor, unit), other) = (area_unit(crs), file_unit(crs));
    let shown = format!("{} {unit}", number(factor * mean));
    match unit == other {
        true => shown,
        false => {
            format!("{shown}, which is {} {other}, the unit of files and levels", number(mean))
        }
    }
}

/// The maps to show: mean, sd, then exceedances in order.
fn map_names(run: &Run) -> Result<Vec<String>> {
    let folder = run.directory.join("maps");
    let mut names = Vec::new();
    for entry in fs::read_dir(&folder).map_err(Error::io("read", &folder))? {
        let entry = entry.map_err(Error::io("read", &folder))?;
        let name = entry.file_name().to_string_lossy().into_owned();
        names.extend(name.strip_suffix(".png").map(str::to_owned));
    }
    names.retain(|name| name.starts_with("exceedance_"));
    names.sort();
    Ok(FIRST.iter().map(|name| name.to_string()).chain(names).collect())
}

fn hyperparameters(run: &Run) -> String {
    let heading =
        ["", "mean", "± mcse", "sd", "5 %", "median", "95 %", "ESS bulk", "ESS tail", "R-hat"];
    let rows = run.summary.parameters.iter().map(|(name, parameter)| {
        std::iter::once(name.clone()).chain(parameter.cells()).collect::<Vec<_>>()
    });
    let notes: String =
        run.summary.notes.iter().map(|note| format!("<li>{}</li>", escape(note))).collect();
    format!("{}<ul>{notes}</ul>\n", table(&heading, &rows.collect::<Vec<_>>()))
}

fn volatility(run: &Run) -> Result<String> {
    let returns = run.returns()?;
    let mut columns = Table::open(&run.directory.join("field.csv"))?;
    let (mean, sd) = (columns.column("mean")?, columns.column("sd")?);
    let mut field = FieldMoments { mean: Vec::new(), sd: Vec::new() };
    while let Some(row) = columns.next_row()? {
        field.mean.push(row.number_or_missing(&mean)?.unwrap_or(f64::NAN));
        field.sd.push(row.number_or_missing(&sd)?.unwrap_or(f64::NAN));
    }
    let beta = run.summary.parameters.get("beta").map_or(1.0, |beta| beta.q50);
    let svg = draw_volatility(returns.y(), &field, beta)?;
    Ok(drawing(&svg, "Volatility is the standard deviation of a return, beta e^(x/2)."))
}

fn sampling(run: &Run) -> String {
    let Summary { sampler, chains, warmup, draws, coordinates, device, field, .. } = &run.summary;
    let count = |x: Option<f64>| x.map_or("unknown".to_owned(), |x| format!("{x:.0}"));
    let ebfmi: Vec<String> =
        sampler.ebfmi.iter().map(|e| e.map_or("-".into(), |e| format!("{e:.2}"))).collect();
    let rows = [
        (
            "chains",
            format!(
                "{} of {warmup} warm-up transitions and {draws} draws",
                counted(*chains, "chain")
            ),
        ),
        ("device", format!("{device}, {}", counted(run.record.threads, "thread"))),
        ("elapsed time", format!("{:.1} s", sampler.elapsed_seconds)),
        (
            "CPU time",
            match (sampler.warmup_cpu_seconds, sampler.cpu_seconds) {
                (Some(warmup), Some(drawing)) => {
                    format!("{warmup:.1} s warm-up and {drawing:.1} s drawing, over all chains")
                }
                _ => "not counted on a GPU".to_owned(),
            },
        ),
        (
            "gradients",
            format!("{} after {} of warm-up", sampler.gradients, sampler.warmup_gradients),
        ),
        ("smallest effective sample size", count(sampler.min_ess)),
        (
            "field",
            format!(
                "{} latents, smallest ESS {}, largest R-hat {}",
                field.n,
                count(field.ess_bulk.min),
                field.rhat_max.map_or("unknown".into(), |r| format!("{r:.3}"))
            ),
        ),
        (
            "acceptance",
            format!(
                "{:.0} % of proposals, {:.1} steps each",
                100.0 * sampler.accept,
                sampler.steps
            ),
        ),
        ("divergent transitions", sampler.divergences.to_string()),
        ("E-BFMI by chain", ebfmi.join(", ")),
        ("coordinates", coordinates.clone()),
    ];
    let rows: Vec<Vec<String>> = rows.into_iter().map(|(a, b)| vec![a.to_owned(), b]).collect();
    format!("<div class=\"plain\">{}</div>", table(&["", ""], &rows))
}

fn asked(run: &Run) -> String {
    let priors: String = run
        .record
        .priors
        .iter()
        .map(|prior| format!("<li>prior of {}</li>", escape(&prior.words)))
        .collect();
    format!(
        "<p>A fit of {}.</p><ul>{priors}</ul><p>To repeat it, with the same numbers on the same kind of machine (seed {}):</p>\
         <pre>{}</pre>\n",
        escape(&run.record.subject),
        run.summary.seed,
        escape(&run.record.command)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_replaced_and_never_given_twice() {
        let command = "sshmc fit sv --returns a.csv --draws 100 --warmup=50";
        let longer = with_option(&with_option(command, "--draws", 400), "--warmup", 500);
        assert_eq!(longer, "sshmc fit sv --returns a.csv --draws 400 --warmup 500");
    }
}
