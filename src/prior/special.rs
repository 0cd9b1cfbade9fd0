//! Computes the few special functions that priors need: log Γ, the two tails of gamma, beta and normal laws, and logits.
//!
//! Tails come in pairs (P, Q) with P + Q = 1 so that whichever is small keeps its relative precision. Gamma and beta
//! functions: Abramowitz & Stegun 6.1.40, 6.5.29, 6.5.31, 26.5.8; continued fractions by Lentz's method.

use std::f64::consts::{LN_2, PI};

/// More terms than any shape below 10¹⁰ needs; a longer sum would only hide a mistake.
const MOST_TERMS: usize = 1_000_000;

/// Stands in for a zero denominator in Lentz's method.
const TINY: f64 = 1e-300;

/// 1 / (1 + e^{-y}).
pub(super) fn sigmoid(y: f64) -> f64 {
    if y >= 0.0 {
        1.0 / (1.0 + (-y).exp())
    } else {
        let e = y.exp();
        e / (1.0 + e)
    }
}

/// log sigmoid(y), exact where sigmoid itself would underflow.
pub(super) fn log_sigmoid(y: f64) -> f64 {
    if y >= 0.0 { -(-y).exp().ln_1p() } else { y - y.exp().ln_1p() }
}

/// log(offset + width · sigmoid(y)) and its derivative in y. With offset 0 neither ever overflows.
pub(super) fn log_affine_sigmoid(offset: f64, width: f64, y: f64) -> (f64, f64) {
    if offset == 0.0 {
        return (width.ln() + log_sigmoid(y), sigmoid(-y));
    }
    let part = width * sigmoid(y);
    ((offset + part).ln(), part * sigmoid(-y) / (offset + part))
}

/// log Γ(x) for x > 0: the recurrence lifts x above 10, where Stirling's series to x⁻¹¹ is good to 10⁻¹⁵.
pub(super) fn log_gamma(x: f64) -> f64 {
    let (mut x, mut lifted) = (x, 1.0);
    while x < 10.0 {
        lifted *= x;
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let series = (1.0 / 12.0
        - r * (1.0 / 360.0
            - r * (1.0 / 1260.0
                - r * (1.0 / 1680.0 - r * (1.0 / 1188.0 - r * 691.0 / 360_360.0)))))
        / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series - lifted.ln()
}

/// log B(a, b).
pub(super) fn log_beta(a: f64, b: f64) -> f64 {
    log_gamma(a) + log_gamma(b) - log_gamma(a + b)
}

/// Both tails at x of a gamma law with rate 1, from log x so that a tiny shape does not underflow.
pub(super) fn gamma_tails(shape: f64, log_x: f64) -> (f64, f64) {
    let x = log_x.exp();
    if x.is_infinite() {
        return (1.0, 0.0);
    }
    let front = (shape * log_x - x - log_gamma(shape)).exp();
    if x < shape + 1.0 {
        let p = (front * gamma_series(shape, x)).min(1.0);
        (p, 1.0 - p)
    } else {
        let q = front * gamma_fraction(shape, x);
        (1.0 - q, q)
    }
}

fn gamma_series(shape: f64, x: f64) -> f64 {
    let mut term = 1.0 / shape;
    let mut sum = term;
    for n in 1..MOST_TERMS {
        term *= x / (shape + n as f64);
        sum += term;
        if term < sum * 1e-17 {
            break;
        }
    }
    sum
}

fn gamma_fraction(shape: f64, x: f64) -> f64 {
    let mut b = x + 1.0 - shape;
    let (mut c, mut d) = (1.0 / TINY, 1.0 / b);
    let mut h = d;
    for n in 1..MOST_TERMS {
        let n = n as f64;
        let a = -n * (n - shape);
        b += 2.0;
        let step = lentz(a, b, &mut c, &mut d);
        h *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h
}

/// One step of Lentz's method for a fraction … + a / (b + …): returns the factor by which the value changes.
fn lentz(a: f64, b: f64, c: &mut f64, d: &mut f64) -> f64 {
    let keep = |v: f64| if v.abs() < TINY { TINY } else { v };
    *d = 1.0 / keep(b + a * *d);
    *c = keep(b + a / *c);
    *c * *d
}

/// Both tails of the standard normal law at z.
pub(super) fn normal_tails(z: f64) -> (f64, f64) {
    let (near, far) = gamma_tails(0.5, 2.0 * z.abs().ln() - LN_2);
    let (small, large) = (0.5 * far, 0.5 + 0.5 * near);
    if z < 0.0 { (small, large) } else { (large, small) }
}

/// Both tails of a beta law at sigmoid(y).
pub(super) fn beta_tails(a: f64, b: f64, y: f64) -> (f64, f64) {
    let front = (a * log_sigmoid(y) + b * log_sigmoid(-y) - log_beta(a, b)).exp();
    let (u, v) = (sigmoid(y), sigmoid(-y));
    if u < (a + 1.0) / (a + b + 2.0) {
        let p = (front * beta_fraction(a, b, u) / a).min(1.0);
        (p, 1.0 - p)
    } else {
        let q = (front * beta_fraction(b, a, v) / b).min(1.0);
        (1.0 - q, q)
    }
}

fn beta_fraction(a: f64, b: f64, u: f64) -> f64 {
    let mut d = 1.0 / (1.0 - (a + b) * u / (a + 1.0));
    let (mut c, mut h) = (1.0, d);
    for m in 1..MOST_TERMS {
        let m = m as f64;
        let even = m * (b - m) * u / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        h *= lentz(even, 1.0, &mut c, &mut d);
        let odd = -(a + m) * (a + b + m) * u / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let step = lentz(odd, 1.0, &mut c, &mut d);
        h *= step;
        if (step - 1.0).abs() < 1e-16 {
            break;
        }
    }
    h
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, expected: f64, bound: f64) {
        assert!(
            (got - expected).abs() <= bound * (1.0 + expected.abs()),
            "got {got}, expected {expected}"
        );
    }

    #[test]
    fn log_gamma_matches_factorials_and_halves() {
        close(log_gamma(1.0), 0.0, 1e-14);
        close(log_gamma(0.5), 0.5 * PI.ln(), 1e-14);
        close(log_gamma(11.0), 3_628_800f64.ln(), 1e-15);
        // Γ(x) = 1/x − 0.5772… + O(x) near zero.
        close(log_gamma(1e-9), (1e9 - 0.577_215_664_901_532_9_f64).ln(), 1e-14);
    }

    #[test]
    fn normal_tails_match_tables_far_out() {
        close(normal_tails(0.0).0, 0.5, 1e-15);
        close(normal_tails(1.959_963_984_540_054).1, 0.025, 1e-14);
        let (_, q) = normal_tails(10.0);
        assert!((q / 7.619_853_024_160_527e-24 - 1.0).abs() < 1e-12, "{q}");
        let (p, q) = normal_tails(-3.0);
        close(p, 1.349_898_031_630_094_6e-3, 1e-14);
        close(p + q, 1.0, 1e-15);
    }

    #[test]
    fn gamma_tails_match_the_erlang_sum() {
        for x in [0.01_f64, 0.7, 3.0, 9.0, 40.0] {
            let q = (-x).exp() * (1.0 + x + x * x / 2.0);
            let (got_p, got_q) = gamma_tails(3.0, x.ln());
            close(got_q, q, 1e-14);
            close(got_p, 1.0 - q, 1e-14);
        }
        assert_eq!(gamma_tails(2.0, 1e6), (1.0, 0.0));
        assert_eq!(gamma_tails(2.0, -1e6), (0.0, 1.0));
    }

    #[test]
    fn beta_tails_match_powers() {
        for y in [-8.0, -0.4, 0.3, 2.0, 30.0] {
            // Beta(a, 1) has cdf u^a, and Beta(1, b) has upper tail (1 − u)^b.
            close(beta_tails(3.5, 1.0, y).0, sigmoid(y).powf(3.5), 1e-14);
            let upper = beta_tails(1.0, 2.5, y).1;
            assert!((upper / sigmoid(-y).powf(2.5) - 1.0).abs() < 1e-10, "{y}: {upper}");
        }
    }

    #[test]
    fn log_affine_sigmoid_is_finite_everywhere() {
        let (value, slope) = log_affine_sigmoid(0.0, 3.0, -1e4);
        close(value, 3f64.ln() - 1e4, 1e-15);
        close(slope, 1.0, 1e-15);
        let (value, slope) = log_affine_sigmoid(2.0, 3.0, 1e4);
        close(value, 5f64.ln(), 1e-15);
        assert_eq!(slope, 0.0);
    }
}
