//! Compares every likelihood's gradient and curvature with differences at points without symmetry.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

use nalgebra::DMatrix;
use sshmc::likelihood::{
    BernoulliLogit, Curvature, GaussianNoise, LearntNoise, Likelihood, NegativeBinomialLog,
    Nothing, PoissonLog, StochasticVolatility,
};

/// Step of the five-point differences, whose error is h⁴ f⁽⁵⁾/30; exponentials make f⁽⁵⁾ about as large as f.
const STEP: f64 = 1e-3;

fn difference(eta: &[f64], i: usize, mut f: impl FnMut(&[f64]) -> f64) -> f64 {
    let mut at = |steps: f64| {
        let mut moved = eta.to_vec();
        moved[i] += steps * STEP;
        f(&moved)
    };
    (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * STEP)
}

/// Bound on a difference of a function whose terms are at most this large.
fn bound(size: f64) -> f64 {
    size * (STEP.powi(4) + 16.0 * f64::EPSILON / STEP)
}

/// Working values of a likelihood's own hyperparameters, without symmetry.
fn own(likelihood: &dyn Likelihood) -> Vec<f64> {
    (0..likelihood.parameters()).map(|k| 0.6 - 0.9 * k as f64).collect()
}

fn evaluate(likelihood: &dyn Likelihood, eta: &[f64]) -> (f64, Vec<f64>) {
    let mut gradient = vec![f64::NAN; eta.len()];
    let own = own(likelihood);
    let value = likelihood.evaluate(eta, &own, &mut gradient, &mut vec![0.0; own.len()]);
    (value, gradient)
}

fn check_gradient(likelihood: &dyn Likelihood, eta: &[f64]) -> Result<(), String> {
    assert_eq!(likelihood.sites(), eta.len());
    let (value, gradient) = evaluate(likelihood, eta);
    let size = 1.0 + value.abs() + gradient.iter().map(|g| g.abs()).sum::<f64>();
    for (i, got) in gradient.into_iter().enumerate() {
        let want = difference(eta, i, |eta| evaluate(likelihood, eta).0);
        let fine = (got - want).abs() <= bound(size);
        if !fine {
            return Err(format!(
                "site {i}: gradient {got:e}, difference {want:e}, bound {:e}",
                bound(size)
            ));
        }
    }
    Ok(())
}

/// A function of own hyperparameters that writes its gradient.
type Part<'a> = dyn Fn(&[f64], &mut [f64]) -> f64 + 'a;

/// The derivatives in a likelihood's own hyperparameters, of all of it and of what does not depend on the predictor.
fn check_own(likelihood: &dyn Likelihood, eta: &[f64]) -> Result<(), String> {
    let own = own(likelihood);
    let whole = |own: &[f64], by_own: &mut [f64]| {
        likelihood.evaluate(eta, own, &mut vec![f64::NAN; eta.len()], by_own)
    };
    let aside = |own: &[f64], by_own: &mut [f64]| likelihood.aside(own, by_own);
    let parts: [(&str, &Part<'_>); 2] = [("whole", &whole), ("aside", &aside)];
    for (name, part) in parts {
        let mut gradient = vec![f64::NAN; own.len()];
        let size =
            1.0 + part(&own, &mut gradient).abs() + gradient.iter().map(|g| g.abs()).sum::<f64>();
        for (k, got) in gradient.into_iter().enumerate() {
            let want = difference(&own, k, |own| part(own, &mut vec![0.0; own.len()]));
            let fine = (got - want).abs() <= bound(size);
            if !fine {
                return Err(format!(
                    "{name} {k}: {got:e}, difference {want:e}, bound {:e}",
                    bound(size)
                ));
            }
        }
    }
    Ok(())
}

fn dense(curvature: Curvature) -> DMatrix<f64> {
    let blocks = match curvature {
        Curvature::Sites(sites) => {
            sites.into_iter().map(|x| DMatrix::from_element(1, 1, x)).collect()
        }
        Curvature::Blocks(blocks) => blocks,
    };
    let n = blocks.iter().map(|b| b.nrows()).sum();
    let (mut all, mut at) = (DMatrix::zeros(n, n), 0);
    for block in blocks {
        all.view_mut((at, at), block.shape()).copy_from(&block);
        at += block.nrows();
    }
    all
}

/// The whole Hessian, so that what couples different sites or groups must be zero.
fn check_curvature(likelihood: &dyn Likelihood, eta: &[f64]) {
    let curvature = dense(likelihood.curvature(eta, &own(likelihood)));
    let size = 1.0
        + curvature.amax()
        + evaluate(likelihood, eta).1.iter().map(|g| g.abs()).fold(0.0, f64::max);
    for i in 0..eta.len() {
        for j in 0..eta.len() {
            let (got, want) =
                (curvature[(j, i)], difference(eta, i, |eta| evaluate(likelihood, eta).1[j]));
            assert!(
                (got - want).abs() <= bound(4.0 * size),
                "({j}, {i}): {got:e}, difference {want:e}"
            );
        }
    }
}

fn eta(n: usize) -> Vec<f64> {
    (0..n).map(|i| 1.5 * (1.7 * i as f64 + 0.4).sin() - 0.3).collect()
}

fn regression() -> BernoulliLogit {
    let labels: Vec<f64> = (0..150).map(|i| if (i * i) % 7 < 3 { 1.0 } else { -1.0 }).collect();
    let design: Vec<f64> = (0..750).map(|i| (0.9 * i as f64).sin() + 0.2).collect();
    BernoulliLogit::new(&labels, &design, vec![0..100, 100..100, 100..150], 5).unwrap()
}

fn counts() -> PoissonLog {
    let exposure = vec![0.5, 0.0, 2.0, 1.0, 0.0, 0.1];
    PoissonLog::new(vec![3.0, 0.0, 0.0, 7.0, 0.0, 1.0], exposure).unwrap()
}

#[test]
fn gradients_match_differences() {
    check_gradient(&counts(), &eta(6)).unwrap();
    check_gradient(&StochasticVolatility::new(&[0.3, -1.2, 0.0, 2.5, -0.1]).unwrap(), &eta(5))
        .unwrap();
    check_gradient(&regression(), &eta(15)).unwrap();
    let noise =
        GaussianNoise::new(vec![1.0, -0.5, f64::NAN, 2.0], vec![0.4, 3.0, 0.0, 10.0]).unwrap();
    check_gradient(&noise, &eta(4)).unwrap();
    check_gradient(&Nothing { sites: 3 }, &eta(3)).unwrap();
    check_gradient(&scattered(), &eta(6)).unwrap();
    check_gradient(&noise_to_learn(), &eta(4)).unwrap();
}

#[test]
fn gradients_in_own_hyperparameters_match_differences() {
    check_own(&scattered(), &eta(6)).unwrap();
    check_own(&noise_to_learn(), &eta(4)).unwrap();
}

/// Counts of every kind: none, few, many, and some that nobody looked for.
fn scattered() -> NegativeBinomialLog {
    let exposure = vec![0.5, 0.0, 2.0, 1.0, 30.0, 0.1];
    NegativeBinomialLog::new(vec![3.0, 0.0, 0.0, 7.0, 90.0, 1.0], exposure).unwrap()
}

fn noise_to_learn() -> LearntNoise {
    LearntNoise::new(vec![1.0, -0.5, f64::NAN, 2.0], vec![0.4, 3.0, 0.0, 10.0]).unwrap()
}

/// The gradient is linear in y, so that with counts at their means its derivative is the expected curvature. Counts are whole numbers,
/// so it is the exposure that is chosen.
#[test]
fn negative_binomial_curvature_is_the_expected_one() {
    let (eta, counts) = (eta(4), vec![1.0, 2.0, 7.0, 3.0]);
    let exposure = counts.iter().zip(&eta).map(|(y, eta)| y / eta.exp()).collect();
    check_curvature(&NegativeBinomialLog::new(counts, exposure).unwrap(), &eta);
    check_curvature(&noise_to_learn(), &self::eta(4));
}

#[test]
fn curvatures_match_differences_of_gradients() {
    check_curvature(&counts(), &eta(6));
    check_curvature(&regression(), &eta(15));
    check_curvature(
        &GaussianNoise::new(vec![1.0, -0.5, 0.0], vec![0.4, 3.0, 0.0]).unwrap(),
        &eta(3),
    );
    check_curvature(&Nothing { sites: 3 }, &eta(3));
}

/// With y² at its expectation e^η the observed curvature is the expected one.
#[test]
fn stochastic_volatility_curvature_is_the_expected_one() {
    let eta = eta(5);
    let y: Vec<f64> = eta.iter().map(|eta| (0.5 * eta).exp()).collect();
    check_curvature(&StochasticVolatility::new(&y).unwrap(), &eta);
}

/// −log p itself, where a gradient cannot tell: from the densities as written in textbooks.
#[test]
fn values_match_densities() {
    let eta = eta(3);
    let close = |got: f64, want: f64| {
        assert!((got - want).abs() <= 64.0 * f64::EPSILON * (1.0 + want.abs()), "{got} {want}")
    };
    let y = [0.3, -1.2, 2.5];
    let log_normal = |y: f64, variance: f64| -0.5 * (y * y / variance + variance.ln());
    let want: f64 = y.iter().zip(&eta).map(|(y, eta)| -log_normal(*y, eta.exp())).sum();
    close(evaluate(&StochasticVolatility::new(&y).unwrap(), &eta).0, want);
    let labels = [1.0, -1.0, 1.0];
    let logit = BernoulliLogit::new(&labels, &[1.0; 3], vec![0..1, 1..2, 2..3], 1).unwrap();
    let want: f64 =
        labels.iter().zip(&eta).map(|(y, eta)| -(1.0 / (1.0 + (-y * eta).exp())).ln()).sum();
    close(evaluate(&logit, &eta).0, want);
}

/// −log p of negative binomial counts as textbooks have it, less log y! and what the exposure gives, with Γ(y + k)/Γ(k) as a product.
#[test]
fn negative_binomial_values_match_densities() {
    let (eta, likelihood) = (eta(6), scattered());
    let k = own(&likelihood)[0].exp();
    let (mut want, mut size) = (0.0, 0.0f64);
    for ((&y, &a), eta) in likelihood.counts().iter().zip(likelihood.exposure()).zip(&eta) {
        let m = a * eta.exp();
        let gamma: f64 = (0..y as u32).map(|j| (k + f64::from(j)).ln()).sum();
        let of_count = |x: f64| if y > 0.0 { y * x.ln() } else { 0.0 };
        for term in [-gamma, -k * (k / (k + m)).ln(), -of_count(m / (k + m)), of_count(a)] {
            want += term;
            size += term.abs();
        }
    }
    let got = evaluate(&likelihood, &eta).0;
    // What large counts leave out of their sums, and four roundings of each term.
    let bound = 1e-12 + 4.0 * f64::EPSILON * size;
    assert!((got - want).abs() <= bound, "{got} {want}, bound {bound:e}");
}

/// A derivative in the size that is off by a millionth.
#[derive(Debug)]
struct SpoiltSize(NegativeBinomialLog);

impl Likelihood for SpoiltSize {
    fn sites(&self) -> usize {
        self.0.sites()
    }
    fn parameters(&self) -> usize {
        self.0.parameters()
    }
    fn evaluate(&self, eta: &[f64], own: &[f64], gradient: &mut [f64], by_own: &mut [f64]) -> f64 {
        let value = self.0.evaluate(eta, own, gradient, by_own);
        by_own[0] *= 1.0 + 1e-6;
        value
    }
    fn curvature(&self, eta: &[f64], own: &[f64]) -> Curvature {
        self.0.curvature(eta, own)
    }
}

#[test]
fn a_wrong_derivative_in_the_size_is_noticed() {
    assert!(check_own(&SpoiltSize(scattered()), &eta(6)).is_err());
}

/// A gradient that is off by a millionth.
#[derive(Debug)]
struct Spoilt(PoissonLog);

impl Likelihood for Spoilt {
    fn sites(&self) -> usize {
        self.0.sites()
    }
    fn evaluate(&self, eta: &[f64], own: &[f64], gradient: &mut [f64], by_own: &mut [f64]) -> f64 {
        let value = self.0.evaluate(eta, own, gradient, by_own);
        gradient[0] *= 1.0 + 1e-6;
        value
    }
    fn curvature(&self, eta: &[f64], own: &[f64]) -> Curvature {
        self.0.curvature(eta, own)
    }
}

#[test]
fn a_wrong_gradient_is_noticed() {
    assert!(check_gradient(&Spoilt(counts()), &eta(6)).is_err());
}
