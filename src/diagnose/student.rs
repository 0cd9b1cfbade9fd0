//! Inverts Student's distribution function, for errors that are estimated from few numbers.

use super::beta::beta_quantile;

/// The t below which Student's distribution with `freedom` degrees of freedom has probability p. NaN unless 0 < p < 1 and the degrees
/// are positive. Digits are kept however small p is.
pub fn student_quantile(p: f64, freedom: f64) -> f64 {
    if p > 0.5 {
        return -student_quantile(1.0 - p, freedom);
    }
    // The chance of |T| > t is that of a beta variable with freedom/2 and 1/2 below freedom/(freedom + t²).
    let x = beta_quantile(2.0 * p, 0.5 * freedom, 0.5);
    -(freedom * (1.0 - x) / x).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::normal_quantile;

    fn close(got: f64, want: f64) {
        assert!((got - want).abs() < 1e-9 * want.abs().max(1.0), "{got} {want}");
    }

    #[test]
    fn closed_forms_of_one_and_two_degrees_are_met_far_into_the_tails() {
        for p in [0.4, 0.025, 1e-3, 1e-6, 1e-9, 1e-12] {
            close(student_quantile(p, 1.0), -1.0 / (std::f64::consts::PI * p).tan());
            let two = (2.0 * p - 1.0) / (2.0 * p * (1.0 - p)).sqrt();
            close(student_quantile(p, 2.0), two);
            close(student_quantile(1.0 - 0.25, 2.0), -student_quantile(0.25, 2.0));
        }
    }

    #[test]
    fn many_degrees_are_normal_and_few_are_not() {
        let (p, normal) = (1e-6, normal_quantile(1e-6));
        assert!((student_quantile(p, 1e7) - normal).abs() < 1e-5);
        assert!(student_quantile(p, 31.0) < normal - 0.9);
        assert!(student_quantile(0.3, -1.0).is_nan());
    }
}
