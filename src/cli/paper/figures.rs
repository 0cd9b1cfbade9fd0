//! Makes the paper's figures: trajectories on the funnel, histograms of hyperparameters, and posterior fields.

use super::measure::Row;
use super::page::Block;
use super::table::published;
use sshmc::Result;
use sshmc::coordinates::Coordinates;
use sshmc::data::Counts;
use sshmc::device::{CpuLatents, Flow};
use sshmc::hamiltonian::MassKind;
use sshmc::integrate::{HyperMetric, Integrator, Steps, System};
use sshmc::model::{Model, funnel};
use sshmc::report::{Curve, Panel, common_limits, draw_figure, histograms};
use sshmc::simulate::{FunnelTruth, funnel as draw_funnel};
use sshmc::structure::Information;
use std::sync::Arc;

/// Cells of a histogram.
const CELLS: usize = 40;

/// A point of a trajectory: time, potential energy, all energy, v and x₁.
struct Point {
    time: f64,
    potential: f64,
    energy: f64,
    v: f64,
    x: f64,
}

/// Follows one trajectory on the funnel from a point of it.
fn trajectory(
    model: &Arc<Model>,
    (x, v): (&[f64], f64),
    mass: MassKind,
    integrator: Integrator,
    (count, step): (u32, f64),
) -> Result<Vec<Point>> {
    let chains = vec![(0, x.to_vec())];
    let latents = CpuLatents::new(model, &Coordinates::Centred, &mass, 1, chains)?;
    // The hyperparameter's mass n/2 + 1/9, its information given the latents: the same for both.
    let scale = (0.5 * x.len() as f64 + 1.0 / 9.0).powf(-0.5);
    let metric = HyperMetric::diagonal(&[v], &[scale]);
    let mut system = System::new(Box::new(latents), vec![metric], vec![v]);
    system.evaluate();
    system.latents.refresh(0, &system.phi);
    system.p[0] = 1.0;
    let steps = Steps { latents: vec![step], hyperparameters: vec![step] };
    let (mut now, mut score) = (vec![0.0; x.len()], vec![0.0; x.len()]);
    let mut points = Vec::new();
    for k in 0..=count {
        system.latents.latents_and_score(0, &mut now, &mut score);
        let energy = system.energies()[0];
        let (potential, v) = (system.potential[0], system.phi[0]);
        points.push(Point { time: f64::from(k) * step, potential, energy, v, x: now[0] });
        integrator.step(&mut system, &steps);
    }
    Ok(points)
}

/// Figure 1: energy along one trajectory and its path in (v, x₁), for HMC and SSHMC from the same start.
pub(crate) fn first() -> Result<Block> {
    let model = Arc::new(funnel(100, &[])?);
    let start = draw_funnel(&FunnelTruth { dim: 100, v: Some(0.0) }, 1)?;
    let at = (&start.x[..], start.v);
    let drift = Integrator::Joint(Flow::Drift);
    let hmc = trajectory(&model, at, MassKind::Identity, drift, (1500, 0.02))?;
    let abla = Integrator::Abla { flow: Flow::Drift, k1: 2, k2: 1 };
    let prior = MassKind::Precision(Information::NONE);
    let sshmc = trajectory(&model, at, prior, abla, (300, 0.1))?;
    let mut panels = Vec::new();
    for (k, (name, points)) in [("HMC, constant mass", hmc), ("SSHMC", sshmc)].iter().enumerate() {
        let (potential, energy) = (points[0].potential, points[0].energy);
        let line = |f: &dyn Fn(&Point) -> (f64, f64)| points.iter().map(f).collect::<Vec<_>>();
        let curve = |name: &str, colour, points| Curve { name: name.into(), colour, points };
        panels.push(Panel::Curves {
            title: format!("{name}: energy"),
            axes: ["time".into(), "change since the start".into()],
            curves: vec![
                curve("potential", k, line(&|p| (p.time, p.potential - potential))),
                curve("all (H)", 4, line(&|p| (p.time, p.energy - energy))),
            ],
        });
        panels.push(Panel::Curves {
            title: format!("{name}: path"),
            axes: ["v".into(), "x₁".into()],
            curves: vec![curve("", k, line(&|p| (p.v, p.x)))],
        });
    }
    Ok(Block::Figure {
        name: "figure1".into(),
        caption: "Figure 1. One trajectory on the funnel with 100 latents, by HMC with constant mass and by SSHMC from the same start: \
                  potential energy and Hamiltonian over time, and the path in v and the first latent. HMC oscillates in a narrow range of \
                  v; SSHMC crosses the funnel, because its latents lend v their kinetic energy."
            .into(),
        svg: draw_figure(&panels)?,
    })
}

/// Histograms of a hyperparameter by the published methods that were run.
fn compare(rows: &[Row], methods: &[&str], name: &str, shown: &str) -> Panel {
    let samples: Vec<(String, &[f64])> = methods
        .iter()
        .filter_map(|method| {
            let draws = published(rows, method)?.draws.get(name)?;
            Some((method.to_string(), &draws[..]))
        })
        .collect();
    Panel::Curves {
        title: shown.into(),
        axes: [shown.into(), "density".into()],
        curves: histograms(&samples, CELLS),
    }
}

/// Figure 2: histograms of φ, σ and β of stochastic volatility by method.
pub(crate) fn second(rows: &[Row]) -> Result<Block> {
    let methods = ["HMC", "RMHMC (Gibbs)", "SSHMC"];
    let panels = [("phi", "φ"), ("sigma", "σ"), ("beta", "β")]
        .map(|(name, shown)| compare(rows, &methods, name, shown));
    Ok(Block::Figure {
        name: "figure2".into(),
        caption: "Figure 2. Posterior histograms of the hyperparameters of stochastic volatility by method; the data were drawn with φ = 0.98, \
                  σ = 0.15 and β = 0.65."
            .into(),
        svg: draw_figure(&panels)?,
    })
}

/// Figure 3: posterior mean field of the Cox process by two methods, and histograms of σ and β.
pub(crate) fn third(rows: &[Row], counts: &Counts) -> Result<Block> {
    let methods = ["RMHMC (Gibbs)", "SSHMC"];
    let fields: Vec<(&str, &[f64])> = methods
        .iter()
        .filter_map(|method| Some((*method, &published(rows, method)?.field[..])))
        .collect();
    let limits = common_limits(&fields.iter().map(|f| f.1).collect::<Vec<_>>());
    let mut panels: Vec<Panel> = fields
        .iter()
        .map(|(method, field)| Panel::Map {
            title: format!("mean log intensity, {method}"),
            grid: *counts.grid(),
            values: field.to_vec(),
            limits,
        })
        .collect();
    panels.push(compare(rows, &methods, "sigma", "σ"));
    panels.push(compare(rows, &methods, "range", "β"));
    Ok(Block::Figure {
        name: "figure3".into(),
        caption: "Figure 3. Posterior mean of the log intensity of the Cox process by two methods, and histograms of σ and β (the range in \
                  units of the map's side); the data were drawn with σ = 1.38 and β = 0.03."
            .into(),
        svg: draw_figure(&panels)?,
    })
}
