//! Asks for what cannot be had: the error says what and what to do, and nothing panics or hangs.

use crate::worlds::{cox, cox_with, device};
use sshmc::coordinates::Coordinates;
use sshmc::data::Counts;
use sshmc::device::{Device, Lane};
use sshmc::hamiltonian::MassKind;
use sshmc::model::{LgcpOptions, funnel, lgcp};
use sshmc::report::Summary;
use sshmc::sample::{CoordinateChoice, Fit, MassChoice, Method, Settings, refused_by_gpus, run};
use sshmc::structure::{Anisotropy, Information};
use sshmc::{DeviceError, Error};
use std::sync::Arc;

fn settings() -> Settings {
    Settings { device: device(), chains: 2, warmup: 0, draws: 1, ..Settings::default() }
}

#[test]
fn an_unknown_adapter_is_refused_by_name() {
    let error = Device::gpu_named("no such adapter").unwrap_err();
    assert!(matches!(error, Error::Device(DeviceError::NoSuchAdapter { .. })), "{error}");
    assert!(error.to_string().contains("no such adapter"));
}

#[test]
fn no_name_is_no_adapter() {
    for part in ["", "  "] {
        let error = Device::gpu_named(part).unwrap_err();
        assert!(matches!(error, Error::Device(DeviceError::NoSuchAdapter { .. })), "{error}");
    }
}

#[test]
fn sums_are_exact_on_this_adapter_and_a_driver_that_rearranges_them_is_found_out() {
    let device = device();
    let gpu = device.as_gpu().unwrap();
    assert!(gpu.sums_exactly() && gpu.test_sums(true).unwrap());
    if gpu.adapter().name.contains("llvmpipe") {
        assert!(!gpu.test_sums(false).unwrap(), "without the guard Mesa drops the second float");
    }
    let model = cox(3, 5, None);
    let mut fit = run(&model, &Settings { draws: 5, ..settings() }, &()).unwrap();
    let rearranged = |fit: &Fit| {
        Summary::new(fit).warnings.iter().any(|warning| warning.contains("rearranges sums"))
    };
    assert!(fit.exact_sums && !rearranged(&fit));
    fit.exact_sums = false;
    assert!(rearranged(&fit), "nobody is told");
}

/// What is said before a run is what its device says.
#[test]
fn what_gpus_refuse_is_known_before() {
    let mut refused = 0;
    for (name, model) in crate::resume::models() {
        for coordinates in [
            CoordinateChoice::Auto,
            CoordinateChoice::Centred,
            CoordinateChoice::Whitened,
            CoordinateChoice::Informed,
        ] {
            for mass in [
                MassChoice::Auto,
                MassChoice::Identity,
                MassChoice::Prior,
                MassChoice::PriorPlusInformation,
            ] {
                let settings = Settings { coordinates, mass, chains: 1, ..settings() };
                let known = refused_by_gpus(&model, &settings);
                let found = match run(&model, &settings, &()) {
                    Err(Error::Device(error)) => Some(error),
                    found => found.map(|_| None).unwrap_or_else(|e| panic!("{name}: {e}")),
                };
                assert_eq!(known, found, "{name}: {coordinates:?}, {mass:?}");
                refused += usize::from(known.is_some());
            }
        }
        let nuts = Settings { method: Method::Nuts, ..settings() };
        assert!(refused_by_gpus(&model, &nuts).is_some() && run(&model, &nuts, &()).is_err());
    }
    assert!((8..24).contains(&refused), "{refused} of 32 refused");
}

#[test]
fn lanes_that_do_not_belong_together_are_refused_before_anything_is_allocated() {
    let (model, gpu) = (cox(3, 5, None), crate::cost::open());
    let (dim, whitened) = (model.structure().dim(), Coordinates::whitened());
    let lane = |id, z: usize, coordinates: &Coordinates| Lane {
        model: model.clone(),
        id,
        coordinates: coordinates.clone(),
        z: vec![0.0; z],
    };
    let shift = |n| Coordinates::Informed {
        information: Information::Scalar(0.5),
        shift: Some(Arc::new(vec![0.0; n])),
    };
    let before = gpu.as_gpu().unwrap().cost().buffers;
    let good = lane(0, dim, &whitened);
    for device in [&gpu, &Device::cpu()] {
        for (bad, what) in [
            (lane(3, dim - 1, &whitened), "chain 3"),
            (lane(4, dim + 1, &whitened), "chain 4"),
            (lane(5, dim, &shift(dim - 1)), "chain 5"),
            (Lane { model: cox(3, 5, Some(1.0)), ..lane(6, dim, &whitened) }, "chain 6"),
        ] {
            let lanes = vec![good.clone(), bad];
            let error = device.lanes(&MassKind::Identity, 1, lanes).err().unwrap();
            assert!(matches!(error, Error::Input { .. }), "{error}");
            assert!(error.to_string().contains(what), "{error}");
        }
        device
            .lanes(&MassKind::Identity, 1, vec![good.clone(), lane(1, dim, &shift(dim))])
            .unwrap();
    }
    let allocated = gpu.as_gpu().unwrap().cost().buffers;
    // A second lane is looked at as closely as the first.
    let lanes = vec![good, lane(1, dim, &Coordinates::Centred)];
    let error = gpu.lanes(&MassKind::Identity, 1, lanes).err().unwrap();
    assert!(matches!(error, Error::Device(DeviceError::Unsupported { .. })), "{error}");
    assert_eq!(gpu.as_gpu().unwrap().cost().buffers, allocated, "allocated in vain");
    assert!(allocated > before);
}

#[test]
fn automatic_choice_never_takes_software() {
    let (device, why) = Device::auto(usize::MAX);
    assert!(device.as_gpu().is_none_or(|gpu| !gpu.adapter().software), "{why}");
    let (device, why) = Device::auto(1000);
    assert!(!device.is_gpu() && why.contains("too few"), "{why}");
}

#[test]
fn models_without_stages_are_refused() {
    let error = run(&Arc::new(funnel(5, &[]).unwrap()), &settings(), &()).unwrap_err();
    assert!(matches!(error, Error::Device(DeviceError::Unsupported { .. })), "{error}");
    let counts = Counts::from_vec(3, 3, vec![1.0; 9]).unwrap();
    let smooth = Arc::new(lgcp(&counts, &LgcpOptions::default()).unwrap());
    let error = run(&smooth, &settings(), &()).unwrap_err().to_string();
    assert!(error.contains("6 x 6 torus") && error.contains("PowersOfTwo"), "{error}");
    let anisotropy = Anisotropy::new(30.0, 2.0).unwrap();
    let slanting = cox_with(3, 5, LgcpOptions { anisotropy, ..LgcpOptions::default() });
    let error = run(&slanting, &settings(), &()).unwrap_err().to_string();
    assert!(error.contains("slanting") && error.contains("use the CPU"), "{error}");
    let prior = MassKind::Precision(Information::NONE);
    let model = cox(3, 5, None);
    let z = vec![0.0; model.structure().dim()];
    let informed = Coordinates::Informed { information: Information::Scalar(1.0), shift: None };
    let error = device().latents(&model, &informed, &prior, 1, vec![(0, z)]).err().unwrap();
    assert!(error.to_string().contains("--mass auto"), "{error}");
    let series = crate::worlds::series(10);
    let centred = Settings { coordinates: CoordinateChoice::Centred, ..settings() };
    let error = run(&series, &centred, &()).unwrap_err().to_string();
    assert!(error.contains("--device cpu"), "{error}");
}

#[test]
fn what_has_no_stages_is_named() {
    let parts = [
        ("gaussian, ar1", "a series with covariates"),
        ("gaussian, dense", "a dense covariance"),
        ("logistic", "groups of coefficients"),
    ];
    for (name, part) in parts {
        let case = crate::common::cases().into_iter().find(|case| case.name == name).unwrap();
        let error = run(&case.model, &settings(), &()).unwrap_err().to_string();
        assert!(error.contains(part) && error.contains("--device cpu"), "{name}: {error}");
    }
}

#[test]
fn more_chains_than_fit_are_refused() {
    let model = cox(64, 64, None);
    let z = vec![0.0f64; model.structure().dim()];
    let limit = device().as_gpu().unwrap().adapter().binding;
    let too_many = limit / (16 * z.len() as u64) + 1;
    if too_many > 3000 {
        println!("the adapter's limit of {limit} bytes is too large to exceed in a test");
        return;
    }
    let chains = (0..too_many as u32).map(|id| (id, z.clone())).collect();
    let coordinates = Coordinates::whitened();
    let error =
        device().latents(&model, &coordinates, &MassKind::Identity, 1, chains).err().unwrap();
    assert!(matches!(error, Error::Device(DeviceError::OverLimit { .. })), "{error}");
    assert!(error.to_string().contains("fewer chains"), "{error}");
}

#[test]
fn a_lost_device_ends_the_run_with_an_error() {
    let device = Device::gpu().unwrap();
    let model = cox(3, 5, None);
    let z = vec![0.0; model.structure().dim()];
    let mut latents = device
        .latents(&model, &Coordinates::whitened(), &MassKind::Identity, 1, vec![(0, z)])
        .unwrap();
    let (phi, mut u) = (model.start(), [0.0]);
    let mut du = vec![0.0; phi.len()];
    latents.evaluate(&phi, &mut u, &mut du);
    assert!(u[0].is_finite());
    device.as_gpu().unwrap().destroy();
    latents.evaluate(&phi, &mut u, &mut du);
    assert!(!u[0].is_finite(), "a dead device gave a potential");
    let error = latents.status().unwrap_err();
    assert!(matches!(error, Error::Device(_)), "{error}");
}
