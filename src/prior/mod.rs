//! Says what is believed about the hyperparameters before the data, and turns it into densities the sampler can walk on.
//!
//! Three values stand behind each hyperparameter. The *reported* value is what a user thinks in (σ, range, φ). The
//! *working* value w is the unconstrained one the models compute with (log σ, log range, atanh φ). The *coordinate* φ_k is
//! what the sampler moves. It is w itself, unless the prior is uniform between bounds: then it is the logit of the
//! position between them, so that the sampler never meets a wall.
//!
//! A prior may be put on any scale that has a name, and every Jacobian on the way to φ_k is counted:
//!
//! ```
//! use sshmc::prior::{Hyperparameter, Hyperparameters};
//!
//! let mut unknowns = Hyperparameters::new(vec![Hyperparameter::field_sigma(), Hyperparameter::field_mu()]);
//! unknowns.set_prior("sigma = pc(3, 0.05)")?;
//! assert_eq!(unknowns[0].describe_prior(), "P(sigma > 3) = 0.05");
//! # Ok::<(), sshmc::Error>(())
//! ```

mod asked;
mod belief;
mod catalogue;
mod distribution;
mod hyperparameter;
mod kernel;
mod parse;
mod scale;
mod special;

pub use asked::Prior;
pub use belief::Belief;
pub use distribution::Distribution;
pub use hyperparameter::{Hyperparameter, Hyperparameters};
pub use parse::parse;
pub use scale::Scale;
