//! Chooses how to sample, in the words of a program that uses the library, and samples.

use super::watch::{Step, Watch, sample};
use crate::device::Device;
use crate::error::Result;
use crate::model::Model;
use crate::sample::{CoordinateChoice, Fit, Method, Settings, Until, run};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// Draws of each chain before it is looked at for the first time.
const FIRST_LOOK: u32 = 500;

/// How to sample. The default draws from four chains on the CPU until every hyperparameter and the field can be trusted.
///
/// ```
/// use sshmc::Sampler;
///
/// let quick = Sampler::default().chains(2).warmup(200).draws(300).seed(7);
/// assert_eq!(quick.settings().draws, 300);
/// ```
///
/// [`Settings`] has everything else there is to choose, and `Sampler::from(settings)` takes it.
#[derive(Clone)]
pub struct Sampler {
    settings: Settings,
    watch: Option<Arc<Watch>>,
}

impl Default for Sampler {
    fn default() -> Self {
        let until = Some(Until::default());
        Settings { draws: FIRST_LOOK, until, ..Settings::default() }.into()
    }
}

impl From<Settings> for Sampler {
    fn from(settings: Settings) -> Self {
        Sampler { settings, watch: None }
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let watched = self.watch.is_some();
        f.debug_struct("Sampler")
            .field("settings", &self.settings)
            .field("watched", &watched)
            .finish()
    }
}

impl Sampler {
    /// So many chains.
    pub fn chains(mut self, chains: u32) -> Self {
        self.settings.chains = chains;
        self
    }

    /// So many transitions of each chain that tune and are thrown away.
    pub fn warmup(mut self, transitions: u32) -> Self {
        self.settings.warmup = transitions;
        self
    }

    /// Exactly so many draws of each chain.
    pub fn draws(mut self, draws: u32) -> Self {
        (self.settings.draws, self.settings.until) = (draws, None);
        self
    }

    /// As many draws as it takes, at most so many of each chain.
    pub fn at_most(mut self, draws: u32) -> Self {
        let until = self.settings.until.unwrap_or_default();
        self.settings.until = Some(Until { most: draws, ..until });
        self.settings.draws = FIRST_LOOK.min(draws);
        self
    }

    /// As many draws as it takes, or as there is time for.
    pub fn within(mut self, time: Duration) -> Self {
        let until = self.settings.until.unwrap_or_default();
        self.settings.until = Some(Until { time: Some(time), ..until });
        self
    }

    /// The seed of all randomness.
    pub fn seed(mut self, seed: u64) -> Self {
        self.settings.seed = seed;
        self
    }

    /// So many threads instead of one per core.
    pub fn threads(mut self, threads: usize) -> Self {
        self.settings.threads = Some(threads);
        self
    }

    /// Where the latents are computed.
    pub fn device(mut self, device: Device) -> Self {
        self.settings.device = device;
        self
    }

    /// Another method.
    pub fn method(mut self, method: Method) -> Self {
        self.settings.method = method;
        self
    }

    /// Other coordinates than those that suit the model.
    pub fn coordinates(mut self, coordinates: CoordinateChoice) -> Self {
        self.settings.coordinates = coordinates;
        self
    }

    /// Bytes for draws of the field, over all chains; what does not fit is thinned.
    pub fn field_memory(mut self, bytes: usize) -> Self {
        self.settings.field_memory = Some(bytes);
        self
    }

    /// Tells a closure of every transition, from the thread that made it. If it breaks, the fit ends with the draws it has.
    ///
    /// ```
    /// use sshmc::prelude::*;
    /// use std::ops::ControlFlow;
    ///
    /// let short = Sampler::default().progress(|step| match step.draws < 50 {
    ///     true => ControlFlow::Continue(()),
    ///     false => ControlFlow::Break(()),
    /// });
    /// let fit = Funnel::new(10).fit(&short)?;
    /// assert!(fit.draws("v")?.len() >= 50);
    /// # Ok::<(), sshmc::Error>(())
    /// ```
    pub fn progress(
        mut self,
        told: impl Fn(&Step<'_>) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.watch = Some(Arc::new(Watch::new(told)));
        self
    }

    /// Everything that was chosen.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The same with other settings.
    pub(super) fn with(&self, settings: Settings) -> Self {
        Sampler { settings, watch: self.watch.clone() }
    }

    /// Draws from the posterior of a model, such as one of your own.
    pub fn fit(&self, model: impl Into<Arc<Model>>) -> Result<Fit> {
        let model = model.into();
        match &self.watch {
            None => run(&model, &self.settings, &()),
            Some(watch) => sample(&model, &self.settings, watch),
        }
    }
}
