//! Small problems for GPUs, and the device they run on.

use sshmc::coordinates::Coordinates;
use sshmc::data::Counts;
use sshmc::device::Device;
use sshmc::model::{LgcpOptions, Model, lgcp};
use sshmc::random::{Purpose, Stream};
use sshmc::structure::{Information, Sides};
use std::sync::{Arc, LazyLock};

/// The adapter under test: the best, or the one whose name contains `SSHMC_TEST_ADAPTER`.
pub(crate) fn device() -> Device {
    static DEVICE: LazyLock<Device> = LazyLock::new(|| {
        let opened = match std::env::var("SSHMC_TEST_ADAPTER") {
            Ok(part) => Device::gpu_named(&part),
            Err(_) => Device::gpu(),
        };
        opened.unwrap_or_else(|error| panic!("these tests need an adapter: {error}"))
    });
    DEVICE.clone()
}

/// Standard normal numbers that depend on nothing but the seed.
pub(crate) fn normals(n: usize, seed: u32) -> Vec<f64> {
    let mut out = vec![0.0; n];
    Stream::new(20_140_811, 0, seed, Purpose::Other).fill_normals(&mut out);
    out
}

/// Counts on a grid, a tenth of the cells unobserved.
pub(crate) fn cox(rows: usize, columns: usize, mu: Option<f64>) -> Arc<Model> {
    let noise = normals(rows * columns, 77);
    let counts =
        noise.iter().map(|e| if *e > 1.3 { f64::NAN } else { (2.0 * e.exp()).round() }).collect();
    let counts = Counts::from_vec(rows, columns, counts).unwrap();
    let options = LgcpOptions { mu, sides: Sides::PowersOfTwo, ..LgcpOptions::default() };
    Arc::new(lgcp(&counts, &options).unwrap())
}

/// Informed coordinates with a shift in every latent.
pub(crate) fn informed(model: &Model, kappa: f64) -> Coordinates {
    let shift = normals(model.structure().dim(), 5).iter().map(|q| 0.3 * q).collect();
    Coordinates::Informed { information: Information::Scalar(kappa), shift: Some(Arc::new(shift)) }
}
