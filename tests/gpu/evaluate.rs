//! Compares potentials and gradients with the CPU's.

use crate::worlds::{cox, device, informed, normals};
use sshmc::coordinates::Coordinates;
use sshmc::device::{CpuLatents, Flow, Latents};
use sshmc::hamiltonian::MassKind;
use sshmc::model::Model;
use std::sync::Arc;

#[test]
fn first() {
    let model = cox(30, 21, None);
    for coordinates in [Coordinates::whitened(), informed(&model, 0.7)] {
        go(&model, &coordinates);
    }
}

fn go(model: &Arc<Model>, coordinates: &Coordinates) {
    let n = model.structure().dim();
    let chains: Vec<(u32, Vec<f64>)> =
        (0..3).map(|b| (b, normals(n, b).iter().map(|z| f64::from(*z as f32)).collect())).collect();
    let mut phi = Vec::new();
    for b in 0..3 {
        phi.extend(model.start().iter().map(|p| p + 0.2 * f64::from(b)));
    }
    let m = phi.len();
    let mut cpu =
        CpuLatents::new(model, coordinates, &MassKind::Identity, 1, chains.clone()).unwrap();
    let mut gpu = device().latents(model, coordinates, &MassKind::Identity, 1, chains).unwrap();
    let (mut u, mut du) = (vec![0.0; 3], vec![0.0; m]);
    let (mut v, mut dv) = (vec![0.0; 3], vec![0.0; m]);
    let (mut k, mut l) = (vec![0.0; 3], vec![0.0; 3]);
    cpu.refresh(3, &phi);
    gpu.refresh(3, &phi);
    for step in 0..4 {
        cpu.evaluate(&phi, &mut u, &mut du);
        gpu.evaluate(&phi, &mut v, &mut dv);
        cpu.kinetic(&phi, &mut k, None);
        gpu.kinetic(&phi, &mut l, None);
        println!("{step} {u:?} {v:?}\n {du:?}\n {dv:?}\n {k:?} {l:?}");
        for latents in [&mut cpu as &mut dyn Latents, &mut *gpu] {
            latents.kick(&[0.1, 0.05, 0.0], Flow::Rotation);
            latents.flow(&[0.2, 0.1, 0.0], Flow::Rotation);
        }
    }
    gpu.status().unwrap();
}

#[test]
fn timing() {
    let model = cox(32, 32, None);
    let n = model.structure().dim();
    let chains: Vec<(u32, Vec<f64>)> = (0..4).map(|b| (b, normals(n, b))).collect();
    let mut phi = Vec::new();
    for _ in 0..4 {
        phi.extend(model.start());
    }
    let coordinates = informed(&model, 0.7);
    let mut gpu = device().latents(&model, &coordinates, &MassKind::Identity, 1, chains).unwrap();
    let (mut v, mut dv) = (vec![0.0; 4], vec![0.0; 12]);
    for _ in 0..3 {
        gpu.evaluate(&phi, &mut v, &mut dv);
    }
    let t = std::time::Instant::now();
    for _ in 0..100 {
        gpu.evaluate(&phi, &mut v, &mut dv);
    }
    println!("{:?} per evaluation", t.elapsed() / 100);
    let t = std::time::Instant::now();
    for _ in 0..100 {
        gpu.kinetic(&phi, &mut v, None);
    }
    println!("{:?} per kinetic", t.elapsed() / 100);
}
