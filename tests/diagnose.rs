//! Holds the diagnostics against ArviZ, closed forms and odd input.
//!
//! Series are generated here and in `tests/data/arviz/make.py` by the same arithmetic, to the last
//! bit, so that only ArviZ's figures are stored.

use serde_json::Value;
use sshmc::diagnose;

/// Both sides sum the same doubles in other orders and by other transforms: thousands of roundings
/// of 1e-16, magnified by at most some hundreds where the mean is a million standard deviations.
const TOLERANCE: f64 = 1e-10;

/// Knuth's 64-bit congruential generator; the top 53 bits make a uniform in (0, 1).
struct Lcg(u64);

impl Lcg {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64 + 0.5) * 0.5_f64.powi(53)
    }

    /// Nearly normal, unit variance: twelve uniforms less six.
    fn bell(&mut self) -> f64 {
        let mut total = 0.0;
        for _ in 0..12 {
            total += self.uniform();
        }
        total - 6.0
    }
}

/// The next draw of a case from the generator, the previous draw and the number of the chain.
fn draw(case: &str, rng: &mut Lcg, previous: f64, chain: u64) -> f64 {
    match case {
        "iid" | "shortest" => 0.0 * previous + rng.bell(),
        "ar_positive" => 0.9 * previous + rng.bell(),
        "ar_negative" => -0.5 * previous + rng.bell(),
        "ar_antithetic" => -0.95 * previous + rng.bell(),
        "odd" => 0.4 * previous + rng.bell(),
        "one_chain" => 0.6 * previous + rng.bell(),
        "short" => 0.3 * previous + rng.bell(),
        "shifted" => rng.bell() + if chain == 3 { 0.5 } else { 0.0 },
        "wider" => rng.bell() * if chain == 0 { 2.0 } else { 1.0 },
        "heavy" => rng.bell() / rng.bell(),
        "ties" => (rng.uniform() * 40.0).floor() * 0.1,
        "coarse" => (rng.uniform() * 3.0).floor(),
        "offset" => 1.0e6 + rng.bell(),
        _ => panic!("make.py knows a case that this test does not: {case}"),
    }
}

fn generate(case: &str, chains: u64, draws: u64, seed: u64) -> Vec<Vec<f64>> {
    let chain = |chain| {
        let mut rng = Lcg(seed * 1000 + chain);
        let mut previous = 0.0;
        let mut next = || {
            previous = draw(case, &mut rng, previous, chain);
            previous
        };
        (0..draws).map(|_| next()).collect()
    };
    (0..chains).map(chain).collect()
}

fn slices(chains: &[Vec<f64>]) -> Vec<&[f64]> {
    chains.iter().map(Vec::as_slice).collect()
}

/// Each case of the stored file with its series.
fn cases() -> Vec<(String, Value, Vec<Vec<f64>>)> {
    let file: Value = serde_json::from_str(include_str!("data/arviz/expected.json"))
        .expect("make.py writes JSON");
    let load = |(name, case): (&String, &Value)| {
        let whole = |key: &str| case[key].as_u64().expect("a whole number");
        let series = generate(name, whole("chains"), whole("draws"), whole("seed"));
        (name.clone(), case.clone(), series)
    };
    file["cases"].as_object().expect("cases by name").iter().map(load).collect()
}

fn number(value: &Value) -> f64 {
    value.as_f64().expect("a number")
}

/// Relative distance of a figure from ArviZ's; none where both have no value.
fn distance(got: f64, want: &Value) -> f64 {
    match want.as_f64() {
        None => f64::from(u8::from(!got.is_nan())),
        Some(want) if got == want => 0.0,
        Some(want) if got.is_finite() => (got - want).abs() / want.abs(),
        Some(_) => f64::INFINITY,
    }
}

fn figures(draws: &[&[f64]]) -> Vec<(&'static str, f64)> {
    let summary = diagnose::summarise(draws);
    vec![
        ("mean", summary.mean),
        ("sd", summary.sd),
        ("q05", summary.q05),
        ("q50", summary.q50),
        ("q95", summary.q95),
        ("mcse_mean", summary.mcse_mean),
        ("mcse_sd", summary.mcse_sd),
        ("mcse_q05", summary.mcse_q05),
        ("mcse_q50", summary.mcse_q50),
        ("mcse_q95", summary.mcse_q95),
        ("ess_bulk", summary.ess_bulk),
        ("ess_tail", summary.ess_tail),
        ("rhat", summary.rhat),
        ("ess_mean", diagnose::ess_mean(draws)),
    ]
}

#[test]
fn series_are_those_arviz_saw() {
    let cases = cases();
    assert_eq!(cases.len(), 14);
    for (name, case, series) in cases {
        let sum = series.iter().flatten().fold(0.0, |sum, value| sum + value);
        assert_eq!(Some(sum.to_bits()), case["sum_bits"].as_u64(), "{name}");
    }
}

#[test]
fn every_figure_agrees_with_arviz() {
    for (name, case, series) in cases() {
        for (key, got) in figures(&slices(&series)) {
            let want = &case[key];
            // The mean of nearly centred draws is a small difference: their spread is its scale.
            let far = match key {
                "mean" => (got - number(want)).abs() / got.abs().max(number(&case["sd"])),
                _ => distance(got, want),
            };
            assert!(far <= TOLERANCE, "{name} {key}: got {got}, want {want}, off by {far:e}");
        }
    }
}

#[test]
fn single_functions_are_the_summary() {
    for (name, _, series) in cases() {
        let draws = slices(&series);
        let alone = [
            diagnose::quantile(&draws, 0.05),
            diagnose::mcse_mean(&draws),
            diagnose::mcse_sd(&draws),
            diagnose::mcse_quantile(&draws, 0.95),
            diagnose::ess_bulk(&draws),
            diagnose::ess_tail(&draws),
            diagnose::rhat(&draws),
        ];
        let s = diagnose::summarise(&draws);
        let together = [s.q05, s.mcse_mean, s.mcse_sd, s.mcse_q95, s.ess_bulk, s.ess_tail, s.rhat];
        // Bits, because NaN must equal NaN.
        assert_eq!(alone.map(f64::to_bits), together.map(f64::to_bits), "{name}");
    }
}

#[test]
fn plain_rhat_and_energy_agree_with_arviz() {
    for (name, case, series) in cases() {
        if series.len() > 1 {
            let got = diagnose::split_rhat_plain(&slices(&series));
            let want = &case["split_rhat_plain"];
            assert!(distance(got, want) <= TOLERANCE, "{name}: {got} {want}");
        }
        for (chain, want) in series.iter().zip(case["ebfmi"].as_array().unwrap()) {
            let got = diagnose::ebfmi(chain);
            assert!(distance(got, want) <= TOLERANCE, "{name}: {got} {want}");
        }
    }
}

/// The must-fail twin: figures of chains left whole are not what the comparison accepts.
#[test]
fn forgetting_to_split_is_noticed() {
    for (name, case, series) in cases() {
        let draws = slices(&series);
        let pairs = [
            ("unsplit_rhat", diagnose::rhat(&draws)),
            ("unsplit_ess_bulk", diagnose::ess_bulk(&draws)),
            ("unsplit_ess_mean", diagnose::ess_mean(&draws)),
        ];
        for (key, got) in pairs {
            // Antithetic chains meet the bound S log10 S split or not, and one chain has no R̂.
            let bounded = matches!(name.as_str(), "ar_antithetic" | "ar_negative" | "shortest");
            if (bounded && key != "unsplit_rhat") || (name == "one_chain" && got.is_nan()) {
                continue;
            }
            let far = distance(got, &case[key]);
            assert!(far > 1e4 * TOLERANCE, "{name} {key} passes for split: {far:e}");
        }
    }
}

/// Effective size of an AR(1) chain is S (1-φ)/(1+φ). The estimate sums about M lags before the
/// correlation, φ^M, sinks below 1/S at the latest, and then has relative variance 2(2M+1)/S
/// (Madras and Sokal 1988). Independent draws are φ = 0 with the few lags noise lets through.
#[test]
fn autoregressions_have_the_closed_form_size() {
    let total = 800_000.0_f64;
    for (case, phi) in [("iid", 0.0_f64), ("ar_positive", 0.9), ("ar_negative", -0.5)] {
        let series = generate(case, 4, 200_000, 77);
        let draws = slices(&series);
        let lags = (total.ln() / -phi.abs().ln()).max(4.0);
        let bound = 4.0 * (2.0 * (2.0 * lags + 1.0) / total).sqrt();
        let want = total * (1.0 - phi) / (1.0 + phi);
        let alone: f64 = draws.iter().map(|chain| diagnose::geyer_ess(chain)).sum();
        for got in [diagnose::ess_mean(&draws), diagnose::ess_bulk(&draws)] {
            assert!((got / want - 1.0).abs() < bound, "{case}: {got} {want} bound {bound}");
        }
        // Four chains taken singly have the same lags and a quarter of the draws each; with other
        // signs of noise at the cut they average to about the same.
        assert!((alone / want - 1.0).abs() < 2.0 * bound, "{case}: {alone} {want} bound {bound}");
    }
}

#[test]
fn single_precision_draws_are_taken_as_they_are() {
    let series = generate("ar_negative", 4, 250, 5);
    let single: Vec<Vec<f32>> =
        series.iter().map(|chain| chain.iter().map(|value| *value as f32).collect()).collect();
    let widened: Vec<Vec<f64>> =
        single.iter().map(|chain| chain.iter().map(|value| f64::from(*value)).collect()).collect();
    let single: Vec<&[f32]> = single.iter().map(Vec::as_slice).collect();
    let got = diagnose::Diagnoser::new().ess_bulk(&single);
    assert_eq!(got, diagnose::ess_bulk(&slices(&widened)));
}

#[test]
fn odd_input_gives_nan_and_never_panics() {
    let nan_inside = [1.0, 2.0, f64::NAN, 4.0, 5.0];
    let infinite = [1.0, f64::NEG_INFINITY, 3.0, 4.0];
    let shapes: [&[&[f64]]; 8] = [
        &[],
        &[&[]],
        &[&[1.0, 2.0, 3.0], &[3.0, 1.0, 2.0]],
        &[&[1.0, 2.0, 3.0, 4.0], &[1.0, 2.0, 3.0, 4.0, 5.0]],
        &[&[7.0; 50], &[7.0; 50]],
        &[&nan_inside, &nan_inside],
        &[&infinite, &infinite],
        &[&[2.0, 2.0, 9.0, 2.0, 2.0], &[2.0, 2.0, 8.0, 2.0, 2.0]],
    ];
    for draws in shapes {
        let figures = [diagnose::rhat(draws), diagnose::ess_bulk(draws), diagnose::ess_mean(draws)];
        assert!(figures.iter().all(|figure| figure.is_nan()), "{draws:?}: {figures:?}");
        diagnose::summarise(draws);
    }
    for draws in &shapes[..7] {
        let figures = [diagnose::ess_tail(draws), diagnose::mcse_mean(draws)];
        assert!(figures.iter().all(|figure| figure.is_nan()), "{draws:?}: {figures:?}");
    }
    let huge = [1e308, -1e308, 1e308, 1e-320, -1e308, 0.0];
    diagnose::summarise(&[&huge, &huge]);
    diagnose::summarise(&[&[1e-320, 0.0, 1e-320, 5e-324, 0.0, 1e-310]]);
    assert!(diagnose::mcse_quantile(&[&[1.0, 2.0, 3.0, 4.0]], f64::NAN).is_nan());
    for p in [0.0, 1.0] {
        assert!(diagnose::mcse_quantile(&[&[1.0, 2.0, 3.0, 4.0]], p).is_finite());
    }
}
