//! Inverts the beta distribution function, which gives the spread of an order statistic.
//!
//! The distribution function is the continued fraction of the incomplete beta function times
//! x^a (1-x)^b / B(a, b). That prefix is computed in Loader's saddle-point form, because the
//! difference of log-gamma functions would lose digits in proportion to a + b.

use std::f64::consts::TAU;

/// Above this, five terms of Stirling's series leave less than 1e-16.
const STIRLING_START: f64 = 16.0;

/// The fraction needs about sqrt(max(a, b)) terms, so this serves sizes far beyond any run.
const FRACTION_TERMS: usize = 100_000;

/// Each term of the deviance's series adds two digits or more; this is ample.
const DEVIANCE_TERMS: u32 = 50;

/// Newton doubles the digits each round and bisection adds one bit; this is ample for both.
const ROOT_ROUNDS: usize = 100;

/// The x in [0, 1] with I_x(a, b) = p. NaN unless 0 <= p <= 1 and a, b are positive and finite.
pub(crate) fn beta_quantile(p: f64, a: f64, b: f64) -> f64 {
    let usable = (0.0..=1.0).contains(&p) && a > 0.0 && b > 0.0 && (a + b).is_finite();
    if !usable {
        return f64::NAN;
    }
    let (mut low, mut high) = (0.0, 1.0);
    let mut x = a / (a + b);
    for _ in 0..ROOT_ROUNDS {
        let excess = beta_cdf(x, a, b) - p;
        if excess > 0.0 {
            high = x;
        } else {
            low = x;
        }
        let density = prefix(x, a, b) / (x * (1.0 - x));
        let newton = x - excess / density;
        let next = if newton > low && newton < high { newton } else { 0.5 * (low + high) };
        if (next - x).abs() <= f64::EPSILON * x {
            return next;
        }
        x = next;
    }
    x
}

/// The regularised incomplete beta function I_x(a, b).
fn beta_cdf(x: f64, a: f64, b: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    // The fraction converges fast only to the left of about the mean; the rest is by symmetry.
    if x < (a + 1.0) / (a + b + 2.0) {
        prefix(x, a, b) * fraction(x, a, b) / a
    } else {
        1.0 - prefix(x, a, b) * fraction(1.0 - x, b, a) / b
    }
}

/// The continued fraction of I_x(a, b) by the modified Lentz method.
fn fraction(x: f64, a: f64, b: f64) -> f64 {
    // Stands in for an exact zero, which the recurrence would divide by.
    let nonzero = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let mut c = 1.0;
    let mut d = 1.0 / nonzero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = d;
    for term in 1..FRACTION_TERMS {
        let m = term as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut last = 1.0;
        for step in [even, odd] {
            d = 1.0 / nonzero(1.0 + step * d);
            c = nonzero(1.0 + step / c);
            last = c * d;
            value *= last;
        }
        if (last - 1.0).abs() <= f64::EPSILON {
            break;
        }
    }
    value
}

/// x^a (1-x)^b / B(a, b), as ab/(a+b) times a binomial probability of non-integer counts.
fn prefix(x: f64, a: f64, b: f64) -> f64 {
    let n = a + b;
    let log = stirling_error(n)
        - stirling_error(a)
        - stirling_error(b)
        - deviance(a, n * x)
        - deviance(b, n * (1.0 - x));
    log.exp() * (a * b / (n * TAU)).sqrt()
}

/// ln Γ(z+1) minus Stirling's leading terms (z + 1/2) ln z - z + ln(2π)/2.
pub(crate) fn stirling_error(z: f64) -> f64 {
    let mut shift = 0.0;
    let mut z = z;
    while z < STIRLING_START {
        shift += (z + 0.5) * (1.0 / z).ln_1p() - 1.0;
        z += 1.0;
    }
    let r = 1.0 / (z * z);
    let series = 1.0 / 12.0
        - r * (1.0 / 360.0 - r * (1.0 / 1260.0 - r * (1.0 / 1680.0 - r * (1.0 / 1188.0))));
    shift + series / z
}

/// k ln(k/m) + m - k, without cancellation near k = m.
pub(crate) fn deviance(k: f64, m: f64) -> f64 {
    let d = k - m;
    if d.abs() >= 0.1 * (k + m) {
        return k * (k / m).ln() - d;
    }
    // With v = (k - m)/(k + m): d v + 2k (v³/3 + v⁵/5 + …).
    let v = d / (k + m);
    let (mut sum, mut power) = (d * v, 2.0 * k * v);
    for j in 1..DEVIANCE_TERMS {
        power *= v * v;
        let next = sum + power / f64::from(2 * j + 1);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    fn close(got: f64, want: f64, tolerance: f64, what: &str) {
        assert!((got - want).abs() <= tolerance * want.abs(), "{what}: got {got}, want {want}");
    }

    #[test]
    fn closed_forms() {
        // Beta(a, 1) has x = p^(1/a), Beta(1, b) has x = 1 - (1-p)^(1/b). The root inherits the
        // error of the distribution function divided by the density: tens of roundings.
        for p in [0.01, 0.1586553, 0.5, 0.8413447, 0.99] {
            for size in [1.0, 2.5, 40.0, 3000.0] {
                let power = f64::powf(p, 1.0 / size);
                close(beta_quantile(p, size, 1.0), power, 1e-13, "Beta(a,1)");
                let other = -f64::exp_m1(f64::ln_1p(-p) / size);
                close(beta_quantile(p, 1.0, size), other, 1e-12, "Beta(1,b)");
            }
        }
    }

    #[test]
    fn symmetric_median_is_one_half_at_any_size() {
        for size in [1.0, 7.5, 501.0, 2e4, 1e6] {
            close(beta_quantile(0.5, size, size), 0.5, 1e-12, "median");
        }
    }

    #[test]
    fn quantile_inverts_distribution() {
        for (a, b) in [(2.0, 3.0), (51.3, 950.7), (3801.0, 201.0)] {
            for p in [0.001, 0.1586553, 0.8413447, 0.999] {
                close(beta_cdf(beta_quantile(p, a, b), a, b), p, 1e-11, "round trip");
            }
        }
        // I_{1/2}(2, 3) = 11/16 by counting.
        close(beta_cdf(0.5, 2.0, 3.0), 11.0 / 16.0, 1e-14, "I_1/2(2,3)");
    }

    #[test]
    fn nonsense_gives_nan_and_ends_stay_inside() {
        for (p, a, b) in [(f64::NAN, 1.0, 1.0), (0.5, f64::NAN, 1.0), (0.5, 0.0, 1.0)] {
            assert!(beta_quantile(p, a, b).is_nan());
        }
        assert!(beta_quantile(0.5, f64::INFINITY, 1.0).is_nan());
        assert!(beta_quantile(0.0, 2.0, 3.0) < 1e-10);
        assert!(beta_quantile(1.0, 2.0, 3.0) > 1.0 - 1e-4);
    }
}
