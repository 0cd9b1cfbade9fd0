//! Checks any factor against dense algebra built from it column by column: one suite for every structure.
//!
//! Nothing is trusted but the covariance Σ(w), which each case gives by a formula of its own. A check returns what is
//! wrong instead of panicking, so that its must-fail twin can demand that it is.

use nalgebra::{DMatrix, DVector};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand_distr::{Distribution, StandardNormal};
use sshmc::structure::Factor;

/// Step of the five-point differences: their error is h⁴ f⁽⁵⁾/30 and their noise 1.5 ε f/h, about 1e-12 each.
const STEP: f64 = 1e-3;
/// How much larger than the function its fifth derivative in any w may be (exponentials and powers up to φ⁶⁴).
pub(crate) const FIFTH_DERIVATIVE: f64 = 300.0;

/// A factor, the place to look at it, and the truth.
pub(crate) struct Case<'a> {
    pub(crate) factor: Box<dyn Factor>,
    pub(crate) w: Vec<f64>,
    pub(crate) sigma: &'a dyn Fn(&[f64]) -> DMatrix<f64>,
    /// Whether T comes from a factorisation of Σ, which multiplies rounding errors by Σ's condition.
    pub(crate) factorised: bool,
    /// How much larger than the function its fifth derivative may be: [`FIFTH_DERIVATIVE`] unless it is steeper than most.
    pub(crate) fifth_derivative: f64,
}

fn close(what: &str, got: &DMatrix<f64>, want: &DMatrix<f64>, bound: f64) -> Result<(), String> {
    for i in 0..want.nrows() {
        for j in 0..want.ncols() {
            let (got, want) = (got[(i, j)], want[(i, j)]);
            let fine = (got - want).abs() <= bound;
            if !fine {
                return Err(format!(
                    "{what} at ({i}, {j}): got {got:e}, want {want:e}, bound {bound:e}"
                ));
            }
        }
    }
    Ok(())
}

/// The matrix of a linear map, from unit vectors and into dirty buffers.
fn columns(n: usize, mut map: impl FnMut(&[f64], &mut [f64])) -> DMatrix<f64> {
    let mut matrix = DMatrix::from_element(n, n, f64::NAN);
    for j in 0..n {
        let unit = DVector::from_fn(n, |i, _| f64::from(u8::from(i == j)));
        map(unit.as_slice(), matrix.column_mut(j).as_mut_slice());
    }
    matrix
}

/// A vector without symmetry or zero.
fn probe(n: usize, seed: f64) -> Vec<f64> {
    (0..n).map(|i| (1.3 * i as f64 + seed).sin() + 0.4).collect()
}

fn condition(sigma: &DMatrix<f64>) -> f64 {
    let values = sigma.symmetric_eigenvalues();
    values.max() / values.min().max(f64::MIN_POSITIVE)
}

/// Five-point derivative in coordinate k.
fn difference(w: &[f64], k: usize, mut f: impl FnMut(&[f64]) -> f64) -> f64 {
    let mut at = |steps: f64| {
        let mut moved = w.to_vec();
        moved[k] += steps * STEP;
        f(&moved)
    };
    (8.0 * (at(1.0) - at(-1.0)) - (at(2.0) - at(-2.0))) / (12.0 * STEP)
}

/// Runs every check.
pub(crate) fn check_factor(case: &mut Case) -> Result<(), String> {
    let n = case.factor.dim();
    let sigma = (case.sigma)(&case.w);
    if sigma.nrows() != n || case.factor.parameters() != case.w.len() || !case.factor.set(&case.w) {
        return Err("wrong dimensions, or w refused".into());
    }
    let amplification = if case.factorised { condition(&sigma) } else { 1.0 };
    let t = check_matrices(case.factor.as_mut(), &sigma, amplification)?;
    check_log_det(case, &t, amplification)?;
    check_sensitivity(case, &t, amplification)?;
    check_memory(case)
}

/// T', T⁻¹, T⁻ᵀ are what they are called, and (I + ΣK) T T' = Σ: which says V = (Σ⁻¹+K)⁻¹ without an inverse.
fn check_matrices(
    factor: &mut dyn Factor,
    sigma: &DMatrix<f64>,
    amplification: f64,
) -> Result<DMatrix<f64>, String> {
    let n = factor.dim();
    let t = columns(n, |v, out| factor.apply(v, out));
    let transposed = columns(n, |v, out| factor.apply_transposed(v, out));
    let inverse = columns(n, |v, out| factor.solve(v, out));
    let inverse_transposed = columns(n, |v, out| factor.solve_transposed(v, out));
    let information = columns(n, |v, out| factor.information(v, out));
    let rounding = 8.0 * n as f64 * f64::EPSILON;
    close("T'", &transposed, &t.transpose(), rounding * t.amax())?;
    close(
        "T⁻ᵀ",
        &inverse_transposed,
        &inverse.transpose(),
        rounding * amplification * inverse.amax(),
    )?;
    let exactness = rounding * (t.abs() * inverse.abs()).amax();
    close("T T⁻¹", &(&t * &inverse), &DMatrix::identity(n, n), exactness * amplification.sqrt())?;
    close("K", &information, &information.transpose(), rounding * information.amax())?;
    let v = &t * t.transpose();
    let (product, size) = (sigma * &information * &v, sigma.abs() * information.abs() * v.abs());
    let inner = if amplification > 1.0 { 1.0 + (sigma * &information).norm() } else { 1.0 };
    close("(I+ΣK)V", &(&v + product), sigma, rounding * inner * (sigma.amax() + size.amax()))?;
    Ok(t)
}

/// log|V| against the determinant of T, and its gradient against differences.
fn check_log_det(case: &mut Case, t: &DMatrix<f64>, amplification: f64) -> Result<(), String> {
    let n = case.factor.dim() as f64;
    let logs = t.clone().lu().u().diagonal().map(|d| d.abs().ln());
    let (got, want) = (case.factor.log_det(), 2.0 * logs.sum());
    // Each logarithm is rounded, and carries the rounding of its argument.
    let size = n + logs.abs().sum();
    let bound = 16.0 * n.sqrt() * f64::EPSILON * size;
    let scalar = |x| DMatrix::from_element(1, 1, x);
    close("log|V|", &scalar(got), &scalar(want), bound)?;
    let mut gradient = vec![f64::NAN; case.w.len()];
    case.factor.log_det_gradient(&mut gradient);
    let w = case.w.clone();
    for (k, got) in gradient.into_iter().enumerate() {
        let want = difference(&w, k, |w| {
            assert!(case.factor.set(w));
            case.factor.log_det()
        });
        let noise = 16.0 * f64::EPSILON * amplification * (1.0 + w[k].abs()) / STEP;
        let bound = size * (case.fifth_derivative * STEP.powi(4) / 30.0 + noise);
        close(&format!("∂ log|V| / ∂w_{k}"), &scalar(got), &scalar(want), bound)?;
    }
    assert!(case.factor.set(&w));
    Ok(())
}

/// a' ∂T z against differences of a' T z.
fn check_sensitivity(case: &mut Case, t: &DMatrix<f64>, amplification: f64) -> Result<(), String> {
    let n = case.factor.dim();
    let w = case.w.clone();
    for seed in [0.0, 2.0] {
        let (a, z) = (probe(n, seed), probe(n, seed + 1.0));
        let mut got = vec![f64::NAN; w.len()];
        case.factor.sensitivity(&a, &z, &mut got);
        let size = (0..n).flat_map(|i| (0..n).map(move |j| (i, j)));
        let size: f64 = size.map(|(i, j)| (a[i] * t[(i, j)] * z[j]).abs()).sum();
        for (k, got) in got.into_iter().enumerate() {
            let want = difference(&w, k, |w| {
                assert!(case.factor.set(w));
                let mut u = vec![f64::NAN; n];
                case.factor.apply(&z, &mut u);
                a.iter().zip(&u).map(|(a, u)| a * u).sum()
            });
            let noise = 16.0 * f64::EPSILON * amplification * (1.0 + w[k].abs()) / STEP;
            let bound = size * (case.fifth_derivative * STEP.powi(4) / 30.0 + noise);
            let scalar = |x| DMatrix::from_element(1, 1, x);
            close(&format!("a' ∂T/∂w_{k} z"), &scalar(got), &scalar(want), bound)?;
        }
        assert!(case.factor.set(&w));
    }
    Ok(())
}

/// A visit elsewhere, even to where w is refused, leaves no trace: the same bits come back.
fn check_memory(case: &mut Case) -> Result<(), String> {
    let n = case.factor.dim();
    let report = |factor: &mut dyn Factor| {
        assert!(factor.set(&case.w));
        let (a, z) = (probe(n, 0.5), probe(n, 1.5));
        let mut all = vec![f64::NAN; 5 * n + 2 * case.w.len() + 1];
        let (values, rest) = all.split_at_mut(5 * n);
        let mut parts = values.chunks_exact_mut(n);
        let mut next = || parts.next().unwrap();
        factor.apply(&z, next());
        factor.apply_transposed(&a, next());
        factor.solve(&a, next());
        factor.solve_transposed(&z, next());
        factor.information(&a, next());
        let (gradient, rest) = rest.split_at_mut(case.w.len());
        factor.log_det_gradient(gradient);
        factor.sensitivity(&a, &z, &mut rest[1..]);
        rest[0] = factor.log_det();
        all.into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    let before = report(case.factor.as_mut());
    let elsewhere: Vec<f64> = case.w.iter().map(|w| 0.3 - 0.5 * w).collect();
    case.factor.set(&elsewhere);
    case.factor.set(&vec![f64::NAN; case.w.len()]);
    let after = report(case.factor.as_mut());
    if before == after { Ok(()) } else { Err("results depend on an earlier w".into()) }
}

/// Compares the covariance of draws T z with V, at a false-alarm rate of 1e-6 in all.
///
/// Whitened by the true factor, draws y are N(0, I), so for every pair the sums over draws of (y_i ± y_j)²/2 and of y_i²
/// are χ² with as many degrees of freedom as draws. Laurent & Massart (2000) bound its tails: beyond N + 2√(Nx) + 2x
/// and below N − 2√(Nx) lies less than e^{−x} each.
pub(crate) fn check_draws(
    factor: &mut dyn Factor,
    v: &DMatrix<f64>,
    draws: usize,
    seed: u64,
) -> Result<(), String> {
    let n = factor.dim();
    let whiten = v.clone().cholesky().ok_or("V is not positive definite")?;
    let mut generator = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut sums = DMatrix::<f64>::zeros(n, n);
    let mut u = DVector::from_element(n, f64::NAN);
    for _ in 0..draws {
        let z = DVector::from_fn(n, |_, _| StandardNormal.sample(&mut generator));
        factor.apply(z.as_slice(), u.as_mut_slice());
        let y = whiten.l_dirty().solve_lower_triangular(&u).ok_or("singular")?;
        sums.ger(1.0, &y, &y, 1.0);
    }
    let x = (2.0 * (n * n) as f64 / 1e-6).ln();
    let total = draws as f64;
    let (low, high) =
        (total - 2.0 * (total * x).sqrt(), total + 2.0 * (total * x).sqrt() + 2.0 * x);
    for i in 0..n {
        for j in 0..n {
            // Above the diagonal the sum, below it the difference, on it the value itself.
            let sign = if i < j { 1.0 } else { -1.0 };
            let mixed = 0.5 * (sums[(i, i)] + sums[(j, j)]) + sign * sums[(i, j)];
            let statistic = if i == j { sums[(i, i)] } else { mixed };
            let fine = low <= statistic && statistic <= high;
            if !fine {
                return Err(format!(
                    "draws of ({i}, {j}): χ² {statistic:.0}, allowed {low:.0} to {high:.0}"
                ));
            }
        }
    }
    Ok(())
}
