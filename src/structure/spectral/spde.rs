//! Gives the eigenvalues of the field x with (κ² − ∇·H∇)x = white noise in the plane, seen at the cells of a torus: Matérn with
//! smoothness one (Whittle 1954).
//!
//! The spectral density of x is (κ² + ω'Hω)⁻². Looking at cells only adds up the densities of all frequencies that look alike there,
//! S(ω) = Σ_m (κ² + (ω + 2πm)'H(ω + 2πm))⁻² over whole m₁ and m₂. Along the first axis the sum has a closed form: with
//! Σ_m 1/(b² + (ω + 2πm)²) = sinh b / (2b (cosh b − cos ω)), and −∂/∂(b²) of it,
//!
//! > Σ_m (b² + (ω + 2πm)²)⁻² = G(b, ω) = (D sinh b + b(cos ω cosh b − 1)) / (4b³D²),   D = cosh b − cos ω.
//!
//! Along the second axis b grows with m₂. From b = 40 on G is 1/(4b³) whatever ω is, and the far end of that sum is taken by the
//! formula of Euler and Maclaurin.

use super::anisotropy::Metric;
use super::layout::Layout;
use super::torus::Torus;
use std::f64::consts::TAU;

/// From here on cosh b swamps a cosine.
const LARGE: f64 = 40.0;
/// From here on the formula of Euler and Maclaurin takes over; its error is 1e-12 of the sum.
const FAR: f64 = 200.0;

/// The eigenvalues at κ² (per squared cell), scaled to variance one.
pub(super) fn eigenvalues(torus: Torus, layout: Layout, metric: Metric, kappa: f64) -> Vec<f64> {
    let form = metric.inverse();
    // With y₁ = ω₁ + 2πm₁ and x = ω₂ + 2πm₂: κ² + ω'Hω = yy ((y₁ + slant x)² + floor + (growth x)²).
    let slant = form.xy / form.yy;
    let growth = (form.xx / form.yy - slant * slant).sqrt();
    let floor = kappa / form.yy;
    let mut s = Vec::with_capacity(layout.len());
    let mut total = 0.0;
    for k2 in 0..torus.half2() {
        let omega2 = TAU * k2 as f64 / torus.p2 as f64;
        let row = Row::new(omega2, (floor, growth, slant));
        for k1 in 0..layout.width() {
            let value = row.at(TAU * k1 as f64 / torus.p1 as f64);
            total += layout.multiplicity(k2, k1) * value;
            s.push(value);
        }
    }
    let scale = torus.dim() as f64 / total;
    s.iter_mut().for_each(|v| *v *= scale);
    s
}

/// What the sums for one ω₂ have in common.
struct Row {
    /// The terms that depend on ω₁.
    near: Vec<Near>,
    /// The sum of the others.
    rest: f64,
}

/// G(b, ·) with everything worked out that depends on b.
struct Near {
    b: f64,
    sinh: f64,
    cosh: f64,
    /// cosh b − 1.
    excess: f64,
    shift: f64,
}

impl Row {
    fn new(omega2: f64, (floor, growth, slant): (f64, f64, f64)) -> Self {
        let mut row = Self { near: Vec::new(), rest: 0.0 };
        let upper = (FAR / (TAU * growth)).ceil() as i64;
        for m in -upper..upper {
            let x = omega2 + TAU * m as f64;
            let b = (floor + (growth * x).powi(2)).sqrt();
            if b < LARGE {
                let (sinh, cosh, half) = (b.sinh(), b.cosh(), (0.5 * b).sinh());
                let (excess, shift) = (2.0 * half * half, slant * x);
                row.near.push(Near { b, sinh, cosh, excess, shift });
            } else {
                row.rest += 0.25 / b.powi(3);
            }
        }
        let end = TAU * upper as f64;
        row.rest += tail(floor, growth, end + omega2) + tail(floor, growth, end + TAU - omega2);
        row
    }

    fn at(&self, omega1: f64) -> f64 {
        self.rest + self.near.iter().map(|near| near.at(omega1 + near.shift)).sum::<f64>()
    }
}

impl Near {
    /// G(b, ω), arranged so that nothing cancels near b = ω = 0.
    fn at(&self, omega: f64) -> f64 {
        let Near { b, sinh, cosh, excess, .. } = *self;
        let dip = 2.0 * (0.5 * omega).sin().powi(2);
        let d = excess + dip;
        (sinh * d + b * (excess - dip * cosh)) / (4.0 * b.powi(3) * d * d)
    }
}

/// Σ of 1/(4b³) over x = start, start + 2π, …
fn tail(floor: f64, growth: f64, start: f64) -> f64 {
    let y = growth * start;
    let r = (floor + y * y).sqrt();
    let step = TAU * growth;
    // h = 1/(4r³), its integral from y on, and its first and third derivatives in y.
    let integral = 0.25 / (r * (r + y));
    let first = -0.75 * y / r.powi(5);
    let third = 0.75 * (15.0 * y / r.powi(7) - 35.0 * y.powi(3) / r.powi(9));
    integral / step + 0.125 / r.powi(3) - step * first / 12.0 + step.powi(3) * third / 720.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::structure::spectral::{Anisotropy, Correlation, Embedding, Kernel, SpectrumTable};

    /// Alias by alias, with nothing for those beyond the 400th, and the largest last.
    fn slow(form: Metric, kappa: f64, omega1: f64, omega2: f64) -> f64 {
        let term = |y: f64, x: f64| {
            (kappa + form.xx * x * x + 2.0 * form.xy * x * y + form.yy * y * y).powi(-2)
        };
        let mut sum = 0.0;
        for m1 in -400..=400 {
            for m2 in -400..=400 {
                let (y, x) = (omega1 + TAU * f64::from(m1), omega2 + TAU * f64::from(m2));
                sum += if (m1, m2) == (0, 0) { 0.0 } else { term(y, x) };
            }
        }
        sum + term(omega1, omega2)
    }

    #[test]
    fn sums_over_one_axis_have_their_closed_form() {
        for (angle, ratio) in [(0.0f64, 1.0f64), (35.0, 2.0), (90.0, 3.0)] {
            let form = Anisotropy::new(angle, ratio).unwrap().metric().inverse();
            let slant = form.xy / form.yy;
            let growth = (form.xx / form.yy - slant * slant).sqrt();
            for kappa in [0.01, 1.0, 50.0] {
                for (omega1, omega2) in [(0.0, 0.0), (0.4, 2.0), (3.0, 3.1)] {
                    let row = Row::new(omega2, (kappa / form.yy, growth, slant));
                    let got = row.at(omega1) / (form.yy * form.yy);
                    let want = slow(form, kappa, omega1, omega2);
                    // What the slow sum leaves out is less than the integral of ratio⁴ |ω|⁻⁴ beyond |ω| = 2π·400.
                    let left = ratio.powi(4) / (2.0 * TAU * (TAU * 400.0).powi(2));
                    assert!(
                        got > want * (1.0 - 1e-12) && got < want + left,
                        "{angle} {ratio} {kappa} ({omega1}, {omega2}): {got} {want} {left}"
                    );
                }
            }
        }
    }

    /// The transform of the plane's correlation r√2 K₁(r√2), summed over images, has the same eigenvalues.
    #[test]
    fn eigenvalues_are_those_of_the_bessel_function() {
        let torus = Torus::around(9, 14);
        for (angle, ratio) in [(0.0, 1.0), (90.0, 2.0), (35.0, 3.0)] {
            let anisotropy = Anisotropy::new(angle, ratio).unwrap();
            let correlation = Correlation { kernel: Kernel::Matern1, anisotropy };
            let table = SpectrumTable::new(torus, correlation, Embedding::Periodised, 64.0);
            for range in [0.05, 0.7, 2.0, 9.0] {
                let (got, want) = (table.eigenvalues(range), table.transformed(range));
                let slack = 1e-12 * want[0].max(1.0);
                for (k, (got, want)) in got.iter().zip(&want).enumerate() {
                    assert!((got - want).abs() < slack, "{angle} {range} {k}: {got} {want}");
                    assert!(*got > 0.0);
                }
            }
        }
    }
}
