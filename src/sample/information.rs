//! Chooses how much of the data's information the coordinates take.

use crate::likelihood::Curvature;
use crate::model::Model;
use crate::structure::{Information, Structure};
use std::sync::Arc;

/// The share of the likelihood's mean information.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Share {
    /// What suits the structure.
    Chosen,
    /// As asked for.
    Fixed(f64),
}

/// The information coordinates take at predictor values η and hyperparameters φ: a share of the likelihood's mean curvature.
///
/// A series is observed everywhere and groups each have their own, so these take all of it. On a grid only the window is observed,
/// but κ applies to the whole torus. Where κ far exceeds the prior precision of the field's smoothest mode the unobserved part
/// gets a scale that depends on φ, and mixing suffers, so κ stays below twice that where a quarter of the torus is observed, and
/// may grow with the square of the odds of being observed.
pub(crate) fn information(model: &Model, eta: &[f64], phi: &[f64], share: Share) -> Information {
    match (model.likelihood().curvature(eta, &model.own(phi)), model.structure()) {
        (Curvature::Blocks(blocks), Structure::Groups(_)) => Information::Blocks(Arc::new(blocks)),
        (Curvature::Blocks(_), _) => Information::NONE,
        (Curvature::Sites(sites), structure) => {
            let mean = sites.iter().sum::<f64>() / sites.len().max(1) as f64;
            Information::Scalar(match (share, structure) {
                (Share::Fixed(share), _) => share * mean,
                (Share::Chosen, Structure::Spectral(spectral)) => {
                    let (mut w, mut dw) = (phi.to_vec(), phi.to_vec());
                    model.hyperparameters().working(phi, &mut w, &mut dw);
                    let observed = spectral.torus().observed();
                    let odds = 3.0 * observed / (1.0 - observed).max(0.05);
                    let limit = 2.0 * odds * odds / spectral.largest_variance(&w);
                    ((0.8 * observed).min(0.5) * mean).min(limit)
                }
                (Share::Chosen, _) => mean,
            })
        }
    }
}
