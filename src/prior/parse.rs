//! Reads priors the way a user types them: `sigma=half-normal(2)`.
//!
//! Case and spaces do not matter, nor whether words are joined by `-`, `_` or nothing.

use super::distribution::Distribution;
use crate::error::{Error, Result};

/// A distribution's name, its parameters, and how to build it. `pc` means one thing for sigma, another for range.
type Entry = (&'static str, &'static [&'static str], fn(&[f64]) -> Distribution);

/// The menu, in the order it is printed.
const MENU: [Entry; 12] = [
    ("normal", &["mean", "sd"], |x| Distribution::Normal { mean: x[0], sd: x[1] }),
    ("half-normal", &["scale"], |x| Distribution::HalfNormal { scale: x[0] }),
    ("cauchy", &["location", "scale"], |x| Distribution::Cauchy { location: x[0], scale: x[1] }),
    ("half-cauchy", &["scale"], |x| Distribution::HalfCauchy { scale: x[0] }),
    ("lognormal", &["m", "s"], |x| Distribution::LogNormal { m: x[0], s: x[1] }),
    ("gamma", &["shape", "rate"], |x| Distribution::Gamma { shape: x[0], rate: x[1] }),
    ("inv-gamma", &["shape", "scale"], |x| Distribution::InvGamma { shape: x[0], scale: x[1] }),
    ("exponential", &["rate"], |x| Distribution::Exponential { rate: x[0] }),
    ("beta", &["a", "b"], |x| Distribution::Beta { a: x[0], b: x[1] }),
    ("scaled-inv-chi2", &["nu", "s2"], |x| Distribution::ScaledInvChi2 { nu: x[0], s2: x[1] }),
    ("uniform", &["lower", "upper"], |x| Distribution::Uniform { lower: x[0], upper: x[1] }),
    ("flat-log", &[], |_| Distribution::FlatLog),
];

const PC_SIGMA: Entry = ("pc", &["s0", "p"], |x| Distribution::PcSigma { s0: x[0], p: x[1] });
const PC_RANGE: Entry = ("pc", &["r0", "p"], |x| Distribution::PcRange { r0: x[0], p: x[1] });

/// Reads `NAME=DISTRIBUTION(arguments)` into the name, in lower case, and the distribution with its parameters checked.
/// Whether the distribution suits what the name stands for is checked when the prior is put to use.
pub fn parse(text: &str) -> Result<(String, Distribution)> {
    let place = format!("prior {}", text.trim());
    let shape = |remedy: &str| {
        Error::input(&place, "NAME=DISTRIBUTION(arguments)", format!("`{}`", text.trim()), remedy)
    };
    let (name, law) =
        text.split_once('=').ok_or_else(|| shape("write for instance sigma=half-normal(2)"))?;
    let name = name.trim().to_lowercase();
    if name.is_empty() {
        return Err(shape("put the hyperparameter's name before the ="));
    }
    let (word, arguments) = match law.trim().split_once('(') {
        None => (law.trim(), ""),
        Some((word, rest)) => {
            (word.trim(), rest.strip_suffix(')').ok_or_else(|| shape("close the bracket"))?)
        }
    };
    let entry = find(&place, &name, word, arguments)?;
    let values = numbers(&place, &entry, arguments)?;
    let distribution = entry.2(&values);
    distribution.check(&place)?;
    Ok((name, distribution))
}

fn find(place: &str, name: &str, word: &str, arguments: &str) -> Result<Entry> {
    let wanted = plain(word);
    if wanted == "pc" {
        return pc(place, name, arguments);
    }
    if let Some(entry) = MENU.iter().find(|entry| plain(entry.0) == wanted) {
        return Ok(*entry);
    }
    let names = || MENU.iter().map(|entry| entry.0).chain(["pc"]);
    let closest = names().min_by_key(|known| edits(&plain(known), &wanted)).unwrap_or("normal");
    let remedy = if edits(&plain(closest), &wanted) <= 1 + wanted.len() / 3 {
        format!("did you mean {closest}?")
    } else {
        "choose one of these".to_string()
    };
    let menu = names().collect::<Vec<_>>().join(", ");
    Err(Error::input(place, format!("one of {menu}"), format!("`{word}`"), remedy))
}

fn pc(place: &str, name: &str, arguments: &str) -> Result<Entry> {
    let remedy = match name {
        "sigma" => return Ok(PC_SIGMA),
        "range" => return Ok(PC_RANGE),
        // P(σ² > s) = p says the same as P(σ > √s) = p, so the intended prior can be spelt out.
        "sigma2" => match arguments
            .split_once(',')
            .and_then(|(s, p)| Some((s.trim().parse::<f64>().ok()?, p)))
        {
            Some((s, p)) if s > 0.0 => format!("write sigma=pc({},{})", s.sqrt(), p.trim()),
            _ => "write sigma=pc(s0,p)".to_string(),
        },
        _ => "choose another distribution".to_string(),
    };
    Err(Error::input(place, "pc on sigma or range", format!("pc on {name}"), remedy))
}

fn numbers(place: &str, entry: &Entry, arguments: &str) -> Result<Vec<f64>> {
    let (word, parameters, _) = *entry;
    let usage = match parameters {
        [] => format!("write {word} alone"),
        _ => format!("write {word}({})", parameters.join(",")),
    };
    let given: Vec<&str> = match arguments.trim() {
        "" => vec![],
        some => some.split(',').map(str::trim).collect(),
    };
    if given.len() != parameters.len() {
        let plural = if parameters.len() == 1 { "" } else { "s" };
        let expected = format!("{} argument{plural}", parameters.len());
        return Err(Error::input(place, expected, given.len().to_string(), usage));
    }
    let read = |(text, parameter): (&&str, &&str)| {
        text.parse::<f64>().map_err(|_| {
            Error::input(
                place,
                format!("a number for {parameter}"),
                format!("`{text}`"),
                usage.clone(),
            )
        })
    };
    given.iter().zip(parameters).map(read).collect()
}

/// A word without case, spaces and joints.
fn plain(word: &str) -> String {
    word.to_lowercase().chars().filter(|c| !matches!(c, '-' | '_') && !c.is_whitespace()).collect()
}

/// The number of letters to insert, drop or change to make one word the other.
pub(super) fn edits(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, candidate) in other.iter().enumerate() {
            let change = diagonal + usize::from(letter != *candidate);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_users_type() {
        let cases = [
            ("sigma=half-normal(2)", "sigma", Distribution::HalfNormal { scale: 2.0 }),
            (" Sigma = Half_Normal( 2 ) ", "sigma", Distribution::HalfNormal { scale: 2.0 }),
            (
                "sigma2=scaled-inv-chi2(10,0.05)",
                "sigma2",
                Distribution::ScaledInvChi2 { nu: 10.0, s2: 0.05 },
            ),
            ("range=lognormal(-3,1)", "range", Distribution::LogNormal { m: -3.0, s: 1.0 }),
            ("range=log-normal(-3, 1e0)", "range", Distribution::LogNormal { m: -3.0, s: 1.0 }),
            ("range=pc(0.05,0.01)", "range", Distribution::PcRange { r0: 0.05, p: 0.01 }),
            ("sigma=PC(3,0.05)", "sigma", Distribution::PcSigma { s0: 3.0, p: 0.05 }),
            ("phi=beta(20,1.5)", "phi", Distribution::Beta { a: 20.0, b: 1.5 }),
            ("beta=flat-log", "beta", Distribution::FlatLog),
            ("beta=flat_log()", "beta", Distribution::FlatLog),
            ("v=exponential(0.01)", "v", Distribution::Exponential { rate: 0.01 }),
        ];
        for (text, name, distribution) in cases {
            assert_eq!(parse(text).unwrap(), (name.to_string(), distribution), "{text}");
        }
    }

    #[test]
    fn what_is_printed_can_be_read_again() {
        let values = [[0.3, 0.7], [1e-9, 2.5e7], [20.0, 123.456]];
        for (word, parameters, build) in MENU {
            for value in values {
                let distribution = build(&value);
                let text = format!("sigma={distribution}");
                assert_eq!(
                    parse(&text).unwrap().1,
                    distribution,
                    "{word} {parameters:?} as {text}"
                );
            }
        }
        for (name, entry) in [("sigma", PC_SIGMA), ("range", PC_RANGE)] {
            let distribution = entry.2(&[0.1, 0.05]);
            assert_eq!(parse(&format!("{name}={distribution}")).unwrap().1, distribution);
        }
    }

    #[test]
    fn mistakes_are_named_with_their_remedy() {
        let cases = [
            ("sigma", "write for instance sigma=half-normal(2)"),
            ("=normal(0,1)", "put the hyperparameter's name before the ="),
            ("sigma=half-normal(2", "close the bracket"),
            ("sigma=half-normal(2) x", "close the bracket"),
            ("sigma=halfnormla(2)", "did you mean half-normal?"),
            (
                "sigma=student(2)",
                "normal, half-normal, cauchy, half-cauchy, lognormal, gamma, inv-gamma",
            ),
            ("sigma=", "got ``"),
            ("sigma=half-normal", "expected 1 argument, got 0; write half-normal(scale)"),
            ("sigma=normal(1)", "expected 2 arguments, got 1; write normal(mean,sd)"),
            ("sigma=normal(1,2,3)", "expected 2 arguments, got 3; write normal(mean,sd)"),
            ("beta=flat-log(1)", "expected 0 arguments, got 1; write flat-log alone"),
            ("sigma=normal(a,2)", "expected a number for mean, got `a`"),
            ("sigma=normal(1,)", "expected a number for sd, got ``"),
            ("sigma=normal(0,-1)", "expected a positive finite sd, got -1"),
            ("sigma=normal(inf,1)", "expected a finite mean, got inf"),
            ("sigma=gamma(nan,1)", "expected a positive finite shape, got NaN"),
            ("sigma=uniform(2,2)", "expected lower < upper, got 2 and 2"),
            ("mu=uniform(-1e308,1)", "expected a lower of size 0 to 1e100, got -1e308"),
            ("sigma=gamma(1e9,1)", "expected a shape of size 1e-100 to 1e8, got 1e9"),
            ("sigma=pc(3,1)", "expected p between 0 and 1, got 1"),
            ("sigma=pc(3,0)", "expected a positive finite p, got 0"),
            ("sigma2=pc(9,0.05)", "write sigma=pc(3,0.05)"),
            ("mu=pc(1,0.05)", "expected pc on sigma or range, got pc on mu"),
        ];
        for (text, part) in cases {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(part), "{text}: {error}");
            assert!(error.starts_with(&format!("prior {text}")), "{error}");
            assert!(!error.contains('\n'), "{error}");
        }
    }

    #[test]
    fn edits_are_counted() {
        assert_eq!(edits("gamma", "gamma"), 0);
        assert_eq!(edits("gama", "gamma"), 1);
        assert_eq!(edits("", "beta"), 4);
        assert_eq!(edits("kitten", "sitting"), 3);
    }
}
