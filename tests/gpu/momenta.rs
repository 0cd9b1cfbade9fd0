//! Compares momenta drawn on the device with the CPU's: the same integers, so the same normals but for rounding.

use crate::common::normals;
use crate::worlds::{cox, device};
use sshmc::coordinates::Coordinates;
use sshmc::hamiltonian::MassKind;
use sshmc::random::{Purpose, Stream};

/// The largest difference of a momentum from the normals of a transition, for two chains.
fn difference(transition: u32, compared: u32) -> f64 {
    let seed = 0xFEDC_BA98_7654_3210;
    let model = cox(30, 21, None);
    let n = model.structure().dim();
    let chains = vec![(3, normals(n, 1)), (u32::MAX, normals(n, 2))];
    let phi = [model.start(), model.start()].concat();
    let mut gpu = device()
        .latents(&model, &Coordinates::whitened(), &MassKind::Identity, seed, chains)
        .unwrap();
    gpu.refresh(transition, &phi);
    let (mut z, mut r, mut want) = (vec![0.0; n], vec![0.0; n], vec![0.0; n]);
    let mut worst = 0.0f64;
    for (chain, id) in [3, u32::MAX].into_iter().enumerate() {
        gpu.point(chain, &mut z, &mut r).unwrap();
        Stream::new(seed, id, compared, Purpose::Momentum).fill_normals(&mut want);
        worst = r.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(worst, f64::max);
    }
    worst
}

#[test]
fn momenta_are_the_normals_of_their_address() {
    // A radius below 7 and an angle below 2 pi, each good to a few units of single precision.
    let bound = 7.0 * 8.0 * 2f64.powi(-24);
    for transition in [0, 1, 123_456_789] {
        let worst = difference(transition, transition);
        assert!(worst <= bound, "transition {transition}: off by {worst:e}, bound {bound:e}");
    }
    assert!(difference(5, 6) > bound, "another transition's normals must not pass");
}
