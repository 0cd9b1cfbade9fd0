//! Compares momenta drawn on the device with the CPU's: the same integers, so the same normals but for rounding.

use crate::worlds::{cox, device};
use sshmc::check::{NORMAL_TOLERANCE, normals_error};

#[test]
fn momenta_are_the_normals_of_their_address() {
    let bound = NORMAL_TOLERANCE;
    let model = cox(30, 21, None);
    let worst = normals_error(&device(), &model, 0).unwrap();
    assert!(worst <= bound, "off by {worst:e}, bound {bound:e}");
    let other = normals_error(&device(), &model, 1).unwrap();
    assert!(other > bound, "another transition's normals must not pass");
}
