//! Holds the latents' mass, in every model and every kind of coordinates, against dense algebra and differences.
//!
//! With T of the coordinates and P = Σ⁻¹ + K of the mass, M = T'PT; everything a mass does follows from that matrix.

#![allow(clippy::unwrap_used, reason = "a panic is how a test fails, in its helpers too")]

mod common;

use common::{
    Case, STEP, cases, close, condition, difference, difference_bound, log_det, matrix, normals,
    root,
};
use nalgebra::{DMatrix, DVector};
use sshmc::coordinates::Coordinates;
use sshmc::hamiltonian::{LatentMass, MassKind};
use sshmc::structure::Information;

/// M by dense algebra, and the condition of what it was made from.
fn dense_mass(
    case: &Case,
    kind: &MassKind,
    coordinates: &Coordinates,
    w: &[f64],
) -> (DMatrix<f64>, f64) {
    let structure = case.model.structure();
    let n = structure.dim();
    let MassKind::Precision(information) = kind else { return (DMatrix::identity(n, n), 1.0) };
    let prior = root(structure, &Information::NONE, w);
    let sigma = &prior * prior.transpose();
    let k = common::information_matrix(structure, information, w);
    let precision = sigma.clone().try_inverse().unwrap() + k;
    let t = match coordinates {
        Coordinates::Centred => DMatrix::identity(n, n),
        Coordinates::Informed { information, .. } => root(structure, information, w),
        Coordinates::Block(_) => unreachable!("tests/blocks.rs is about these"),
    };
    (t.transpose() * precision * t, condition(&sigma))
}

fn check(
    case: &Case,
    kind: &MassKind,
    coordinates: &Coordinates,
    spoil: f64,
) -> Result<(), String> {
    let name = format!("{}, {}, {kind:?}", case.name, coordinates.name());
    let w = case.working(&case.point(8).1);
    let n = case.model.structure().dim();
    let (want, condition) = dense_mass(case, kind, coordinates, &w);
    let want = want * (1.0 + spoil);
    let mut mass = LatentMass::new(case.model.structure(), kind, coordinates).unwrap();
    assert!(mass.set(&w));
    let rounding = 64.0 * n as f64 * f64::EPSILON * condition;
    // Draws are linear in their normals: their covariance is D D' for the matrix D of that map.
    let draws = matrix(n, |v, out| {
        out.copy_from_slice(v);
        mass.draw(out);
    });
    let covariance = &draws * draws.transpose();
    close(
        &format!("{name}: draws"),
        covariance.as_slice(),
        want.as_slice(),
        rounding * want.amax(),
    )?;
    let inverse = want.clone().try_inverse().unwrap();
    let velocity = matrix(n, |v, out| mass.velocity(v, out));
    let bound = rounding * inverse.amax();
    close(&format!("{name}: velocity"), velocity.as_slice(), inverse.as_slice(), bound)?;
    let r = DVector::from_vec(normals(n, 40));
    let logs = log_det(&want);
    let kinetic = 0.5 * (r.dot(&(&inverse * &r)) + logs);
    let size = n as f64 + r.norm_squared() * inverse.amax() + logs.abs();
    let got = mass.kinetic(r.as_slice());
    close(&format!("{name}: kinetic energy"), &[got], &[kinetic], rounding * size)?;
    let mut gradient = vec![f64::NAN; w.len()];
    mass.kinetic_gradient(r.as_slice(), &mut gradient);
    let differences: Vec<f64> = (0..w.len())
        .map(|k| {
            difference(&w, k, STEP, |w| {
                assert!(mass.set(w));
                mass.kinetic(r.as_slice())
            })
        })
        .collect();
    let bound = difference_bound(size, condition * (n as f64).sqrt());
    close(&format!("{name}: gradient"), &gradient, &differences, bound)
}

#[test]
fn masses_match_dense_algebra() {
    for case in cases() {
        for coordinates in case.coordinates() {
            for kind in case.masses() {
                check(&case, &kind, &coordinates, 0.0).unwrap();
            }
        }
    }
}

#[test]
fn a_slightly_different_mass_is_noticed() {
    for case in cases() {
        for coordinates in case.coordinates() {
            for kind in case.masses() {
                assert!(check(&case, &kind, &coordinates, 1e-8).is_err(), "{}", case.name);
            }
        }
    }
}

/// Where the mass is the inverse of V itself, in V's own coordinates, nothing depends on φ.
#[test]
fn a_mass_in_its_own_coordinates_is_the_identity() {
    for case in cases() {
        for kind in case.masses() {
            let MassKind::Precision(information) = &kind else { continue };
            let coordinates =
                Coordinates::Informed { information: information.clone(), shift: None };
            let mass = LatentMass::new(case.model.structure(), &kind, &coordinates).unwrap();
            assert!(mass.is_identity());
        }
    }
}
