//! Compares momenta drawn on the device with the CPU's: the same integers, so the same normals but for rounding.

use crate::worlds::{cox, device};
use sshmc::check::normals_error;

#[test]
fn momenta_are_the_normals_of_their_address() {
    // A radius below 7 and an angle below 2 pi, each good to a few units of single precision.
    let bound = 7.0 * 8.0 * 2f64.powi(-24);
    let model = cox(30, 21, None);
    let worst = normals_error(&device(), &model, 0).unwrap();
    assert!(worst <= bound, "off by {worst:e}, bound {bound:e}");
    let other = normals_error(&device(), &model, 1).unwrap();
    assert!(other > bound, "another transition's normals must not pass");
}
