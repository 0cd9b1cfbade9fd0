//! Holds the paper's printed figures: Zhang and Sutton (2014), tables 1 to 4.

/// A printed row.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Printed {
    /// The method.
    pub(crate) method: &'static str,
    /// Running time in seconds.
    pub(crate) seconds: f64,
    /// Effective size of the latents: smallest, median, largest; the funnel has only the smallest.
    pub(crate) latents: [Option<f64>; 3],
    /// Effective sizes of the hyperparameters, by the names used here.
    pub(crate) parameters: &'static [(&'static str, f64)],
    /// Smallest effective size a second.
    pub(crate) rate: f64,
    /// Mean squared errors of E v and E v².
    pub(crate) errors: Option<[f64; 2]>,
}

const fn row(
    method: &'static str,
    seconds: f64,
    latents: [Option<f64>; 3],
    parameters: &'static [(&'static str, f64)],
    rate: f64,
    errors: Option<[f64; 2]>,
) -> Printed {
    Printed { method, seconds, latents, parameters, rate, errors }
}

const fn all(low: f64, middle: f64, high: f64) -> [Option<f64>; 3] {
    [Some(low), Some(middle), Some(high)]
}

const fn least(low: f64) -> [Option<f64>; 3] {
    [Some(low), None, None]
}

const FUNNEL: [Printed; 3] = [
    row("HMC", 5.16, least(302.97), &[("v", 26.30)], 5.09, Some([2.28, 1.34])),
    row("RMHMC (Gibbs)", 2.7, least(2490.98), &[("v", 8.93)], 3.21, Some([1.95, 1.33])),
    row("SSHMC", 37.35, least(3868.79), &[("v", 1541.67)], 41.27, Some([0.04, 0.02])),
];

const LOGISTIC: [Printed; 3] = [
    row("HMC", 378.0, all(2050.0, 3680.0, 4790.0), &[("gamma", 815.0)], 2.15, None),
    row("RMHMC (Gibbs)", 411.0, all(800.0, 4080.0, 4990.0), &[("gamma", 271.0)], 0.6, None),
    row("SSHMC", 385.82, all(2500.0, 3420.0, 4270.0), &[("gamma", 2266.0)], 5.83, None),
];

const VOLATILITY: [Printed; 3] = [
    row(
        "HMC",
        162.0,
        all(160.0, 220.0, 520.0),
        &[("beta", 50.0), ("sigma", 50.0), ("phi", 128.0)],
        0.31,
        None,
    ),
    row(
        "RMHMC (Gibbs)",
        183.0,
        all(1210.0, 1840.0, 3350.0),
        &[("beta", 385.0), ("sigma", 163.0), ("phi", 411.0)],
        0.89,
        None,
    ),
    row(
        "SSHMC",
        883.0,
        all(7840.0, 9890.0, 12070.0),
        &[("beta", 4434.0), ("sigma", 1706.0), ("phi", 1390.0)],
        1.57,
        None,
    ),
];

/// Times are printed in hours.
const HOUR: f64 = 3600.0;

const COX: [Printed; 2] = [
    row(
        "SSHMC",
        2.6 * HOUR,
        all(780.0, 3000.0, 3900.0),
        &[("sigma", 2101.0), ("range", 270.0)],
        103.8 / HOUR,
        None,
    ),
    row(
        "RMHMC (Gibbs)",
        2.64 * HOUR,
        all(100.0, 2900.0, 3830.0),
        &[("sigma", 200.0), ("range", 46.0)],
        16.0 / HOUR,
        None,
    ),
];

/// The printed rows of a table, from 1.
pub(crate) fn printed(table: usize) -> &'static [Printed] {
    match table {
        1 => &FUNNEL,
        2 => &LOGISTIC,
        3 => &VOLATILITY,
        _ => &COX,
    }
}

/// The caption of a table.
pub(crate) fn caption(table: usize) -> &'static str {
    match table {
        1 => "Gaussian funnel",
        2 => "Hierarchical Bayesian logistic regression",
        3 => "Stochastic volatility",
        _ => "Log-Gaussian Cox process",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The printed rates follow from the printed sizes and times, up to the paper's rounding.
    #[test]
    fn rates_are_sizes_over_times() {
        for table in 1..=4 {
            for row in printed(table) {
                let parameters = row.parameters.iter().map(|p| p.1);
                let least = parameters.chain(row.latents[0]).fold(f64::INFINITY, f64::min);
                let rate = least / row.seconds;
                assert!(
                    (rate / row.rate - 1.0).abs() < 0.12,
                    "table {table}, {}: {rate} {}",
                    row.method,
                    row.rate
                );
            }
        }
    }
}
