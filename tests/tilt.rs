//! Checks that the learnt shear leaves the posterior alone: same latents, same density, exact gradients.

use sshmc::coordinates::Coordinates;
use sshmc::data::Counts;
use sshmc::hamiltonian::Target;
use sshmc::model::{LgcpOptions, lgcp};
use sshmc::random::{Purpose, Stream};
use std::sync::Arc;

const PHI: [f64; 3] = [0.2, -1.3, 2.1];

fn target() -> Target {
    let counts = (0..30).map(|i| f64::from((i * 7) % 4)).collect();
    let counts = Counts::from_vec(5, 6, counts).expect("a good grid");
    let model = Arc::new(lgcp(&counts, &LgcpOptions::default()).expect("a good model"));
    Target::new(model, &Coordinates::whitened()).expect("a good target")
}

fn normals(n: usize, chain: u32) -> Vec<f64> {
    let mut out = vec![0.0; n];
    Stream::new(11, chain, 0, Purpose::Other).fill_normals(&mut out);
    out
}

/// A few draws near φ, as (φ, latents with their mean).
fn draws(target: &mut Target) -> Vec<(Vec<f64>, Vec<f64>)> {
    let n = target.model().structure().dim();
    let (mut by_z, mut by_phi) = (vec![0.0; n], vec![0.0; 3]);
    (0..3)
        .map(|k| {
            let phi: Vec<f64> = PHI.iter().map(|p| p + 0.05 * f64::from(k)).collect();
            let z = normals(n, k as u32);
            target.evaluate(&z, &phi, &mut by_z, &mut by_phi);
            let (mut x, mut g) = (vec![0.0; n], vec![0.0; n]);
            target.latents_and_score(&z, &by_z, &mut x, &mut g);
            (phi, x)
        })
        .collect()
}

#[test]
fn a_shear_keeps_latents_and_density_and_its_gradients_are_exact() {
    let mut target = target();
    let n = target.model().structure().dim();
    let (mut by_z, mut by_phi) = (vec![0.0; n], vec![0.0; 3]);
    let draws = draws(&mut target);
    let mut z = normals(n, 9);
    let before = target.evaluate(&z, &PHI, &mut by_z, &mut by_phi);
    let field = target.reported().to_vec();
    let straight = z.clone();
    let centre = [0.25, -1.25, 2.15];
    assert!(target.lean(&centre, &[0.1, 0.3, 0.3], &draws, &PHI, &mut z));
    assert!(z.iter().zip(&straight).any(|(a, b)| (a - b).abs() > 1e-3), "nothing was learnt");

    let after = target.evaluate(&z, &PHI, &mut by_z, &mut by_phi);
    assert!((before - after).abs() < 1e-10 * before.abs(), "{before} {after}");
    for (a, b) in field.iter().zip(target.reported()) {
        assert!((a - b).abs() < 1e-11, "{a} {b}");
    }

    // Central differences over h = 1e-5: truncation h² times a third derivative of order 10, rounding eps |U| / h.
    let h = 1e-5;
    let bound = 1e-7;
    let mut scratch = (vec![0.0; n], vec![0.0; 3]);
    for k in 0..3 {
        let at = |sign: f64, target: &mut Target, scratch: &mut (Vec<f64>, Vec<f64>)| {
            let mut phi = PHI;
            phi[k] += sign * h;
            target.evaluate(&z, &phi, &mut scratch.0, &mut scratch.1)
        };
        let slope =
            (at(1.0, &mut target, &mut scratch) - at(-1.0, &mut target, &mut scratch)) / (2.0 * h);
        let size = 1.0 + slope.abs();
        assert!((by_phi[k] - slope).abs() < bound * size * 10.0, "φ {k}: {} {slope}", by_phi[k]);
    }
    // Must-fail twin: the gradient without the shear's share is far off.
    let mut straightened = self::target();
    straightened.evaluate(&straight, &PHI, &mut scratch.0, &mut scratch.1);
    let gap = by_phi.iter().zip(&scratch.1).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
    assert!(gap > 0.1, "the shear contributes nothing to the gradient: {gap}");
}

#[test]
fn a_shear_makes_the_conditional_mode_stand_still() {
    let mut target = target();
    let n = target.model().structure().dim();
    let draws = draws(&mut target);
    let mut z = normals(n, 4);
    let (mut up, mut down, mut by_phi) = (vec![0.0; n], vec![0.0; n], vec![0.0; 3]);
    // How fast ∂U/∂z changes with φ at fixed z, averaged over the draws it was learnt from: the cross curvature.
    let cross =
        |target: &mut Target, k: usize, up: &mut [f64], down: &mut [f64], by_phi: &mut [f64]| {
            let mut sum = vec![0.0; n];
            for (phi, x) in &draws {
                let mut u = x.clone();
                let constant = target.model().structure().constant();
                u.iter_mut().zip(&constant).for_each(|(u, c)| *u -= phi[2] * c);
                let mut z = vec![0.0; n];
                assert!(target.place(phi, &u, &mut z));
                let h = 1e-4;
                let mut moved = phi.clone();
                moved[k] += h;
                target.evaluate(&z, &moved, up, by_phi);
                moved[k] -= 2.0 * h;
                target.evaluate(&z, &moved, down, by_phi);
                for i in 0..n {
                    sum[i] += (up[i] - down[i]) / (2.0 * h);
                }
            }
            sum.iter().map(|s| s * s).sum::<f64>().sqrt()
        };
    let before: Vec<f64> =
        (0..3).map(|k| cross(&mut target, k, &mut up, &mut down, &mut by_phi)).collect();
    assert!(target.lean(&PHI, &[0.1, 0.3, 0.3], &draws, &PHI, &mut z));
    for k in 0..3 {
        let after = cross(&mut target, k, &mut up, &mut down, &mut by_phi);
        assert!(after < 0.15 * before[k], "hyperparameter {k}: {} -> {after}", before[k]);
    }
}
