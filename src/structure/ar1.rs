//! Factors the precision of a first-order autoregression, with or without κ added, by first-order recursions.
//!
//! The prior is stationary: x_1 ~ N(0, σ²/(1−φ²)), x_{t+1} = φ x_t + N(0, σ²), with w = (atanh φ, log σ).
//! Σ⁻¹ + κI is again the precision of such a process, up to its two end entries, for the (ρ, s) with
//!
//! > ρ/s² = φ/σ²,  (1+ρ²)/s² = (1+φ²)/σ² + κ,  |ρ| < 1.
//!
//! Adding and subtracting twice the first from the second leaves two squares. With k = κσ²,
//! α² = (1−φ)² + k and β² = (1+φ)² + k,
//!
//! > m = (α+β)/2,  s = σ/m,  ρ = φ/m²,  1−ρ² = αβ/m²,  sd of x_1: g = s/√(1−ρ²) = σ/√(αβ).
//!
//! The process with (ρ, s) *is* the factor, u_1 = g z_1, u_{t+1} = ρ u_t + s z_{t+1}, so the information K is what its
//! precision exceeds Σ⁻¹ by: κ inside and (m²−1)/σ² at both ends. Every difference of nearly equal numbers above is
//! rewritten as a sum before it is computed, so φ → ±1 and any κσ² keep full precision.

use super::{Factor, Information};
use crate::error::{Error, Result};
use crate::numeric::scale_into;

/// A first-order autoregression on a line of equally spaced sites; w = (atanh φ, log σ).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ar1 {
    n: usize,
}

impl Ar1 {
    /// A stationary process of n sites, n at least one.
    pub fn new(n: usize) -> Result<Self> {
        if n == 0 {
            return Err(Error::input(
                "autoregression",
                "at least one site",
                "none",
                "give it the length of the series",
            ));
        }
        Ok(Ar1 { n })
    }

    /// Number of sites.
    pub fn dim(&self) -> usize {
        self.n
    }

    pub(super) fn factor(&self, information: &Information) -> Result<Ar1Factor> {
        let kappa = information.scalar("an autoregression")?;
        Ok(Ar1Factor { kappa, process: Process::at(kappa, 0.0, 0.0), path: vec![0.0; self.n] })
    }
}

/// The process (ρ, s, g) whose square root is the factor, at one w.
#[derive(Clone, Debug)]
pub(crate) struct Process {
    /// 1−φ² is not zero even in floating point: without it the prior has no variance, whatever κ is.
    proper: bool,
    /// ρ, ρ², ρ³, ρ⁴: the recursion is advanced by four.
    powers: [f64; 4],
    /// Innovation scale s.
    pub(crate) scale: f64,
    /// Scale g of the first value.
    pub(crate) first: f64,
    pub(crate) log_scale: f64,
    pub(crate) log_first: f64,
    /// Information at both ends, and of a process of one site.
    pub(crate) end: f64,
    pub(crate) lone: f64,
    /// ∂ρ/∂w, ∂log s/∂w, ∂log g/∂w.
    pub(crate) rho_gradient: [f64; 2],
    pub(crate) log_scale_gradient: [f64; 2],
    pub(crate) log_first_gradient: [f64; 2],
}

impl Process {
    /// Solves the two equations of the file's head, without cancellation, and differentiates the solution.
    pub(crate) fn at(kappa: f64, atanh_phi: f64, log_sigma: f64) -> Self {
        let phi = atanh_phi.tanh();
        // 1∓φ from exponentials: subtracting φ from one would lose every digit of a persistent process.
        let (below, above) =
            (2.0 / (1.0 + (2.0 * atanh_phi).exp()), 2.0 / (1.0 + (-2.0 * atanh_phi).exp()));
        let stationary = below * above; // 1−φ² = 1/cosh²
        let sigma = log_sigma.exp();
        let root = kappa.sqrt() * sigma;
        let k = root * root;
        let (alpha, beta) = (below.hypot(root), above.hypot(root));
        let product = alpha * beta;
        let squares = 1.0 + phi * phi;

        // m − 1 = k·half: exactly zero for κ = 0, which gives ρ = φ and s = σ to the last bit.
        let half = 0.5 / (alpha + below) + 0.5 / (beta + above);
        let excess = k * half;
        let m = 1.0 + excess;
        let rho = phi / (m * m);

        let (h, r) = (stationary / product, k / product);
        let slope = 2.0 * phi * h * (k / (m * (above * alpha + below * beta)));
        Process {
            proper: stationary > 0.0,
            powers: [rho, rho * rho, rho * rho * rho, (rho * rho) * (rho * rho)],
            scale: sigma / m,
            first: sigma / product.sqrt(),
            log_scale: log_sigma - excess.ln_1p(),
            log_first: log_sigma - 0.5 * (alpha.ln() + beta.ln()),
            end: kappa * half * (2.0 + excess),
            lone: kappa * ((k + 2.0 * squares) / (product + stationary)),
            rho_gradient: [
                0.5 * stationary / (m * m) * (above * (alpha / beta) + below * (beta / alpha)),
                -2.0 * rho * r,
            ],
            log_scale_gradient: [-slope, (h * stationary + 2.0 * r * squares) / (product + k)],
            log_first_gradient: [phi * h * (h - r), h * h + r * (squares / product)],
        }
    }

    /// ρ.
    pub(crate) fn rho(&self) -> f64 {
        self.powers[0]
    }

    /// s.
    pub(crate) fn scale(&self) -> f64 {
        self.scale
    }

    /// g.
    pub(crate) fn first(&self) -> f64 {
        self.first
    }

    /// log|V| of n sites.
    pub(crate) fn log_det(&self, n: usize) -> f64 {
        2.0 * ((n - 1) as f64 * self.log_scale + self.log_first)
    }

    /// Writes derivatives in w, given those in ρ, log s and log g.
    pub(crate) fn chain_rule(&self, [rho, log_scale, log_first]: [f64; 3], out: &mut [f64]) {
        for (k, out) in out.iter_mut().enumerate() {
            *out = self.rho_gradient[k] * rho
                + self.log_scale_gradient[k] * log_scale
                + self.log_first_gradient[k] * log_first;
        }
    }

    /// Whether all of it is finite and the variances are positive.
    pub(crate) fn usable(&self) -> bool {
        let positive = self.proper && self.scale > 0.0 && self.first > 0.0;
        let gradients = [self.rho_gradient, self.log_scale_gradient, self.log_first_gradient];
        let finite = [
            self.rho(),
            self.scale,
            self.first,
            self.log_scale,
            self.log_first,
            self.end,
            self.lone,
        ];
        positive && finite.iter().chain(gradients.iter().flatten()).all(|x| x.is_finite())
    }

    /// Runs c ← ρ c + input(i) for i < count, calls `visit(i, lane, c)` with each and returns the last.
    ///
    /// Four values at a time: their own part does not wait for the carry, so the chain of dependent operations that
    /// bounds a recursion's speed is a quarter as long.
    #[inline(always)]
    pub(crate) fn scan(
        &self,
        mut carry: f64,
        count: usize,
        input: impl Fn(usize) -> f64,
        mut visit: impl FnMut(usize, usize, f64),
    ) -> f64 {
        let [rho, square, cube, fourth] = self.powers;
        let mut i = 0;
        while i + 4 <= count {
            let a = input(i);
            let b = input(i + 1) + rho * a;
            let c = input(i + 2) + rho * b;
            let d = input(i + 3) + rho * c;
            visit(i, 0, a + rho * carry);
            visit(i + 1, 1, b + square * carry);
            visit(i + 2, 2, c + cube * carry);
            carry = d + fourth * carry;
            visit(i + 3, 3, carry);
            i += 4;
        }
        while i < count {
            carry = input(i) + rho * carry;
            visit(i, 0, carry);
            i += 1;
        }
        carry
    }
}

/// The factor of an autoregression's precision plus κ.
#[derive(Clone, Debug)]
pub(super) struct Ar1Factor {
    kappa: f64,
    process: Process,
    /// The path T z, kept between the two passes of `sensitivity`.
    path: Vec<f64>,
}

fn forward(process: &Process, z: &[f64], out: &mut [f64]) {
    let (z, out) = (&z[..out.len()], out);
    out[0] = process.first * z[0];
    let (start, scale) = (out[0], process.scale);
    let (innovations, rest) = (&z[1..], &mut out[1..]);
    process.scan(start, rest.len(), |i| scale * innovations[i], |i, _, u| rest[i] = u);
}

impl Factor for Ar1Factor {
    fn dim(&self) -> usize {
        self.path.len()
    }

    fn parameters(&self) -> usize {
        2
    }

    fn set(&mut self, w: &[f64]) -> bool {
        self.process = Process::at(self.kappa, w[0], w[1]);
        self.process.usable()
    }

    fn log_det(&self) -> f64 {
        self.process.log_det(self.dim())
    }

    fn log_det_gradient(&self, out: &mut [f64]) {
        self.process.chain_rule([0.0, 2.0 * (self.dim() - 1) as f64, 2.0], out);
    }

    fn apply(&mut self, z: &[f64], out: &mut [f64]) {
        forward(&self.process, z, out);
    }

    fn apply_transposed(&mut self, y: &[f64], out: &mut [f64]) {
        let (n, scale) = (self.dim(), self.process.scale);
        let (y, out) = (&y[..n], &mut out[..n]);
        let adjoint =
            self.process.scan(0.0, n, |i| y[n - 1 - i], |i, _, c| out[n - 1 - i] = scale * c);
        out[0] = self.process.first * adjoint;
    }

    fn solve(&mut self, u: &[f64], out: &mut [f64]) {
        let (rho, inverse) = (self.process.rho(), 1.0 / self.process.scale);
        out[0] = u[0] / self.process.first;
        for (pair, out) in u.windows(2).zip(&mut out[1..]) {
            *out = (pair[1] - rho * pair[0]) * inverse;
        }
    }

    fn solve_transposed(&mut self, r: &[f64], out: &mut [f64]) {
        let (last, rho, inverse) = (self.dim() - 1, self.process.rho(), 1.0 / self.process.scale);
        for (pair, out) in r.windows(2).zip(out.iter_mut()) {
            *out = (pair[0] - rho * pair[1]) * inverse;
        }
        out[last] = r[last] * inverse;
        // The first value has a scale of its own.
        out[0] = r[0] / self.process.first - if last == 0 { 0.0 } else { rho * r[1] * inverse };
    }

    /// Runs the recursion's adjoint λ_t = a_t + ρ λ_{t+1} backwards: ∂/∂ρ = Σ λ_{t+1} u_t, ∂/∂s = Σ λ_{t+1} z_{t+1},
    /// ∂/∂g = λ_1 z_1.
    fn sensitivity(&mut self, a: &[f64], z: &[f64], out: &mut [f64]) {
        let n = self.dim();
        let process = &self.process;
        forward(process, z, &mut self.path);
        let (a, z, path) = (&a[..n], &z[..n], &self.path[..n]);
        // Four partial sums each, so that an addition need not wait for the one before it.
        let (mut by_rho, mut by_scale) = ([0.0; 4], [0.0; 4]);
        let adjoint = process.scan(
            0.0,
            n - 1,
            |i| a[n - 1 - i],
            |i, lane, lambda| {
                by_rho[lane] += lambda * path[n - 2 - i];
                by_scale[lane] += lambda * z[n - 1 - i];
            },
        );
        let rho = by_rho.iter().sum::<f64>();
        let log_scale = process.scale * by_scale.iter().sum::<f64>();
        let log_first = (a[0] + process.rho() * adjoint) * path[0];
        process.chain_rule([rho, log_scale, log_first], out);
    }

    fn information(&self, v: &[f64], out: &mut [f64]) {
        let last = self.dim() - 1;
        scale_into(self.kappa, v, out);
        let end = if last == 0 { self.process.lone } else { self.process.end };
        out[0] = end * v[0];
        out[last] = end * v[last];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// w, κ, then (ρ, log s, log g, end, lone), then the gradients of the first three: by 700-digit arithmetic from the
    /// textbook formulas, differentiated by central differences.
    type Row = ([f64; 2], f64, [f64; 5], [[f64; 2]; 3]);
    #[rustfmt::skip]
    const REFERENCE: [Row; 7] = [
        ([1.3, -0.7], 0.5, [0.6677855361111288, -0.8274834949645222, -0.5322445835384758, 1.1777072138449676, 1.855414427689935],
            [[0.10623394513250307, -0.23032190127207097], [-0.06982920888124197, 0.8275480009544994], [0.0582095861120895, 0.5499518083000077]]),
        ([-2.1, 0.4], 3.0, [-0.11406744718899922, -0.6704859807877724, -0.6639375947652939, 3.3734283093192277, 3.746856618638455],
            [[0.005488905633675806, 0.18139449594830073], [0.005937986527212412, 0.20488053156941963], [0.005303627181624593, 0.1839165541534084]]),
        ([12.0, -1.0], 1e-12, [0.9999996321206187, -1.0000001839019732, 6.061181678190414, 2.7177244919883115e-6, 5.435447983976624e-6],
            [[3.101974485121486e-14, -3.678792981020707e-7], [-7.548718100745058e-11, 0.9999998160602833], [4.208471630570099e-8, 0.5000000210612169]]),
        ([-15.0, 2.0], 1e9, [-1.8315638888059826e-11, -10.361632918491521, -10.361632918491521, 1000000000.0183156, 1000000000.0366313],
            [[6.855633725664508e-24, 3.6631277774777804e-11], [6.85563372578879e-24, 3.663127777544873e-11], [6.855633725663224e-24, 3.6631277774777804e-11]]),
        ([25.0, -3.0], 0.5, [0.9654094608139248, -3.0176014779568203, -1.6733642441475707, 14.454819490101505, 28.40963898020301],
            [[1.3108461899606157e-23, -0.03398175744108052], [-3.7896090110336015e-22, 0.982400339534465], [-1.9281524214624621e-22, 0.4998451259757489]]),
        ([0.8, -30.0], 1.0, [0.664036770267849, -30.0, -29.709246439671606, 1.7887322355974427, 2.5774644711948853],
            [[0.559055167732244, -2.0801686349714757e-26], [-1.0400843174857379e-26, 1.0], [0.664036770267849, 1.0]]),
        ([0.5, 150.0], 2.0, [1.189535825893195e-131, -0.34657359027997264, -0.34657359027997264, 2.0, 2.0],
            [[2.0243951968853058e-131, -2.37907165178639e-131], [-9.355077535554552e-132, 3.123805025526708e-131], [-9.355077535554552e-132, 3.123805025526708e-131]]),
    ];

    #[test]
    fn parameters_match_long_arithmetic() {
        for (w, kappa, values, gradients) in REFERENCE {
            let p = Process::at(kappa, w[0], w[1]);
            assert!(p.usable());
            let got = [p.rho(), p.log_scale, p.log_first, p.end, p.lone];
            let slopes = [p.rho_gradient, p.log_scale_gradient, p.log_first_gradient];
            let slopes = slopes.iter().flatten().zip(gradients.iter().flatten());
            let pairs = got.iter().zip(&values).chain(slopes);
            // exp(2x) turns a rounding of x into |x| roundings, and α, β, m add a few more.
            let bound = 16.0 * (1.0 + w[0].abs() + w[1].abs()) * f64::EPSILON;
            for (i, (&got, &want)) in pairs.enumerate() {
                let error = (got - want).abs();
                assert!(
                    error <= bound * want.abs(),
                    "w {w:?} κ {kappa} entry {i}: got {got:e}, want {want:e}"
                );
            }
        }
    }

    #[test]
    fn no_information_is_the_prior_to_the_last_bit() {
        for w in [[0.0, 0.0], [1.7, -3.0], [-4.0, 2.5], [18.0, 0.1], [1e-9, 0.3]] {
            let p = Process::at(0.0, w[0], w[1]);
            assert_eq!((p.rho(), p.scale), (w[0].tanh(), w[1].exp()));
            assert_eq!((p.end, p.lone), (0.0, 0.0));
        }
    }

    #[test]
    fn independent_sites_and_mirror_images() {
        let p = Process::at(0.2, 0.0, 0.3);
        assert_eq!(p.rho(), 0.0);
        assert!((p.scale - p.first).abs() <= 4.0 * f64::EPSILON);
        let (plus, minus) = (Process::at(0.7, 1.1, 0.2), Process::at(0.7, -1.1, 0.2));
        assert_eq!((plus.rho(), plus.scale, plus.first), (-minus.rho(), minus.scale, minus.first));
    }

    #[test]
    fn hopeless_parameters_are_refused() {
        let mut factor = Ar1::new(3).unwrap().factor(&Information::Scalar(0.5)).unwrap();
        for w in [
            [400.0, 0.0],
            [-400.0, 0.0],
            [0.0, 800.0],
            [0.0, -800.0],
            [f64::NAN, 0.0],
            [0.0, f64::NAN],
        ] {
            assert!(!factor.set(&w), "accepted {w:?}");
        }
        assert!(factor.set(&[0.3, -0.2]));
    }

    #[test]
    fn bad_input_is_an_error() {
        assert!(Ar1::new(0).is_err());
        let series = Ar1::new(4).unwrap();
        for kappa in [-1.0, f64::NAN, f64::INFINITY] {
            assert!(series.factor(&Information::Scalar(kappa)).is_err());
        }
        assert!(series.factor(&Information::Blocks(Default::default())).is_err());
    }

    #[test]
    fn a_million_sites_round_trip() {
        let n = 1_000_003;
        let mut factor = Ar1::new(n).unwrap().factor(&Information::Scalar(0.5)).unwrap();
        assert!(factor.set(&[2.3, -1.8]));
        let z: Vec<f64> = (0..n).map(|i| (0.37 * i as f64).sin()).collect();
        let (mut u, mut back) = (vec![f64::NAN; n], vec![f64::NAN; n]);
        factor.apply(&z, &mut u);
        factor.solve(&u, &mut back);
        let worst = z.iter().zip(&back).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        // Rounding of u, at most a few standard deviations g, over the innovation scale.
        let bound = 16.0 * f64::EPSILON * factor.process.first / factor.process.scale;
        assert!(worst <= bound, "worst {worst:e}, bound {bound:e}");
    }
}
