//! Declares the options that all fits share and turns them into settings.

use super::fit::check_bounds;
use super::length::Length;
use clap::{Args, ValueEnum};
use sshmc::device::Device;
use sshmc::model::Model;
use sshmc::sample::{self, CoordinateChoice, Footprint, MassChoice, Settings, Until};
use sshmc::structure::{Anisotropy, Kernel};
use sshmc::{DeviceError, Error, Result};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Bounds far beyond use, so that a slip of the finger is refused instead of filling the memory.
const MOST_CHAINS: u64 = 1000;
const MOST_OFFSET: u64 = 1_000_000_000;
const MOST_TRANSITIONS: u64 = 100_000_000;
const MOST_THREADS: u64 = 1024;
const MOST_STEPS: u64 = 1_000_000;

/// Options of every fit.
#[derive(Args, Debug)]
pub(crate) struct Common {
    /// Chains to run
    #[arg(long, value_name = "N", default_value_t = 4, help_heading = "Sampling")]
    pub(crate) chains: u32,
    /// Number of the first chain: chains 4 to 7 of a run are those of `--chain-offset 4`, to be joined by `sshmc merge`
    /// [default: 0]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub(crate) chain_offset: Option<u32>,
    /// Transitions of each chain that tune the sampler and are thrown away
    #[arg(long, value_name = "N", default_value_t = 300, help_heading = "Sampling")]
    pub(crate) warmup: u32,
    /// How long it goes on
    #[command(flatten)]
    pub(crate) length: Length,
    /// Seed: the same seed gives the same draws, whatever the number of threads or of other chains
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Sampling")]
    pub(crate) seed: u64,
    /// Threads to use [default: one for each core]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub(crate) threads: Option<usize>,
    /// Where to run: auto, cpu, gpu, or part of an adapter's name; `sshmc devices` lists what there is
    #[arg(long, value_name = "DEVICE", default_value = "auto", help_heading = "Sampling")]
    pub(crate) device: String,
    /// How to sample
    #[arg(long, value_enum, default_value_t = Method::Sshmc, help_heading = "Sampling")]
    pub(crate) method: Method,
    /// Coordinates of the latents
    #[arg(long, value_enum, default_value_t = Coordinates::Auto, help_heading = "Sampling")]
    pub(crate) coordinates: Coordinates,
    /// Mass of the latents
    #[arg(long, value_enum, default_value_t = Mass::Auto, help_heading = "Sampling")]
    pub(crate) mass: Mass,
    /// Integrator steps of each trajectory, or of the latents' turn in a -gibbs method [default: what its length asks for]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub(crate) steps: Option<u32>,
    /// Integrator steps of the hyperparameters' turn in a -gibbs method [default: 5]
    #[arg(long, value_name = "N", help_heading = "Sampling")]
    pub(crate) hyper_steps: Option<u32>,
    /// Replace the prior of a hyperparameter; may be repeated
    ///
    /// DIST is one of
    ///   normal(mean,sd)         half-normal(scale)      lognormal(m,s), m and s on the log scale
    ///   cauchy(location,scale)  half-cauchy(scale)      exponential(rate)
    ///   gamma(shape,rate)       inv-gamma(shape,scale)  scaled-inv-chi2(nu,s2)
    ///   beta(a,b)               uniform(lower,upper)    flat-log
    ///   pc(s0,p) for sigma: P(sigma > s0) = p           pc(r0,p) for range: P(range < r0) = p
    /// Quote it for the shell: --prior 'sigma=half-normal(2)'.
    #[arg(
        long = "prior",
        value_name = "NAME=DIST(...)",
        help_heading = "Model",
        verbatim_doc_comment
    )]
    pub(crate) priors: Vec<String>,
    /// Directory for the results, written as DIR.partial until the fit has ended; earlier results there are replaced
    /// [default: sshmc-out/MODEL]
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    pub(crate) out: Option<PathBuf>,
    /// Memory and disk for draws of the whole field, in MiB; more draws than fit are thinned [default: 256; on a GPU 1024 sites]
    #[arg(long, value_name = "MIB", help_heading = "Output")]
    pub(crate) keep_fields: Option<u32>,
    /// Seconds between two checkpoints, from which `sshmc resume` continues a run that was stopped or killed
    #[arg(
        long,
        value_name = "SECONDS",
        default_value_t = 30.0,
        allow_negative_numbers = true,
        help_heading = "Output"
    )]
    pub(crate) checkpoint_interval: f64,
    /// Thin draws of the field as for so many chains of so many draws, if not those of this run; `extend` and `merge` set it,
    /// so that their commands can be repeated
    #[arg(long, value_name = "CHAINS,DRAWS", value_parser = parse_pair, help_heading = "Output")]
    pub(crate) thin_for: Option<(u32, u32)>,
    /// Print nothing but errors
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
    /// Where the command comes from
    #[arg(skip)]
    pub(crate) origin: Origin,
}

/// Where the command of a fit comes from.
#[derive(Debug, Default)]
pub(crate) enum Origin {
    /// The command line.
    #[default]
    Typed,
    /// Another command, which stands for these words after `sshmc`.
    Given(Vec<String>),
    /// A run that goes on in a directory, was begun by these words, and takes over the chains of other runs.
    Resumed { directory: PathBuf, words: Vec<String>, sources: Vec<PathBuf> },
}

impl Origin {
    /// Runs whose chains are taken over.
    pub(crate) fn sources(&self) -> &[PathBuf] {
        match self {
            Origin::Resumed { sources, .. } => sources,
            _ => &[],
        }
    }

    /// The words after `sshmc`.
    pub(crate) fn words(&self) -> Vec<String> {
        match self {
            Origin::Given(words) | Origin::Resumed { words, .. } => words.clone(),
            Origin::Typed => {
                let words = std::env::args_os().skip(1);
                words.map(|word| word.to_string_lossy().into_owned()).collect()
            }
        }
    }
}

/// The device a fit runs on, and a sentence about it if it was not named.
#[derive(Clone, Debug, Default)]
pub(crate) struct Chosen {
    pub(crate) device: Device,
    pub(crate) notice: Option<String>,
}

/// How a fit can be sampled.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Method {
    /// Semi-separable Hamiltonian Monte Carlo
    Sshmc,
    /// Standard HMC on latents and hyperparameters together
    Hmc,
    /// HMC on latents and hyperparameters in turns
    HmcGibbs,
    /// Riemannian HMC in turns, with Fisher metrics
    RmhmcGibbs,
    /// Riemannian HMC on everything, with the SoftAbs metric; funnel and small logistic regressions only
    RmhmcSoftabs,
    /// The No-U-Turn sampler
    Nuts,
}

impl From<Method> for sample::Method {
    fn from(method: Method) -> Self {
        match method {
            Method::Sshmc => sample::Method::Sshmc,
            Method::Hmc => sample::Method::Hmc,
            Method::HmcGibbs => sample::Method::HmcGibbs,
            Method::RmhmcGibbs => sample::Method::RmhmcGibbs,
            Method::RmhmcSoftabs => sample::Method::RmhmcSoftAbs,
            Method::Nuts => sample::Method::Nuts,
        }
    }
}

/// Coordinates as typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Coordinates {
    /// What suits the model
    Auto,
    /// The latents themselves, as the method was published
    Centred,
    /// Standardised by the prior
    Whitened,
    /// Standardised by prior and data, learnt during warm-up
    Informed,
    /// Standardised by what data say about each smooth mode of a map, learnt by a pilot run (what auto takes for maps on the CPU)
    Block,
}

impl From<Coordinates> for CoordinateChoice {
    fn from(coordinates: Coordinates) -> Self {
        match coordinates {
            Coordinates::Auto => CoordinateChoice::Auto,
            Coordinates::Centred => CoordinateChoice::Centred,
            Coordinates::Whitened => CoordinateChoice::Whitened,
            Coordinates::Informed => CoordinateChoice::Informed,
            Coordinates::Block => CoordinateChoice::Block,
        }
    }
}

/// Masses as typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Mass {
    /// What suits the coordinates
    Auto,
    /// The same for all latents
    Identity,
    /// The prior precision, as the method was published
    Prior,
    /// The prior precision plus the mean information of the data
    PriorPlusInformation,
}

/// Sizes of the torus as typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TorusSize {
    /// As small as the range allows, as a pilot run shows; correlations are within 0.001 of the plane's
    Auto,
    /// Twice the window in each direction
    Full,
}

/// Correlation functions as typed.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum KernelName {
    /// exp(-r): rough fields, the usual choice for Cox processes
    Exponential,
    /// Matern with smoothness 1, by the spectrum of its SPDE; INLA's range is twice this one
    Matern1,
    /// Matern with smoothness 3/2: once differentiable
    Matern32,
    /// Matern with smoothness 5/2: twice differentiable
    Matern52,
    /// exp(-r^2/2): very smooth fields, with a nugget of 0.0001 of the variance
    Gaussian,
}

impl From<KernelName> for Kernel {
    fn from(name: KernelName) -> Self {
        match name {
            KernelName::Exponential => Kernel::Exponential,
            KernelName::Matern1 => Kernel::Matern1,
            KernelName::Matern32 => Kernel::Matern32,
            KernelName::Matern52 => Kernel::Matern52,
            KernelName::Gaussian => Kernel::Gaussian,
        }
    }
}

/// Reads ANGLE,RATIO.
pub(crate) fn anisotropy(text: &str) -> std::result::Result<Anisotropy, String> {
    let numbers = text
        .split_once(',')
        .and_then(|(angle, ratio)| Some((angle.trim().parse().ok()?, ratio.trim().parse().ok()?)));
    let Some((angle, ratio)) = numbers else {
        return Err("expected an angle in degrees and a ratio, for instance 30,2".into());
    };
    Anisotropy::new(angle, ratio).map_err(|error| error.to_string())
}

impl Common {
    /// Opens the device for a model with this many latents.
    pub(crate) fn device(&self, latents: usize) -> Result<Chosen> {
        let named = |device| Chosen { device, notice: None };
        match self.device.to_lowercase().as_str() {
            "cpu" => Ok(named(Device::cpu())),
            "gpu" => Ok(named(Device::gpu()?)),
            "auto" => {
                let (device, why) = Device::auto(latents.saturating_mul(self.chains as usize));
                Ok(Chosen { device, notice: Some(why) })
            }
            part => Ok(named(Device::gpu_named(part)?)),
        }
    }

    /// Takes the CPU after all for a model that no GPU can run, unless one was asked for: that one will refuse it.
    pub(crate) fn reconsider(&self, chosen: Chosen, model: &Model) -> Result<Chosen> {
        if !self.is_auto() {
            return Ok(chosen);
        }
        let settings = self.settings(Device::cpu())?;
        Ok(match sample::refused_by_gpus(model, &settings) {
            Some(DeviceError::Unsupported { what, why, .. }) => {
                let notice = Some(format!("cpu: {what} runs only there ({why})"));
                Chosen { device: Device::cpu(), notice }
            }
            _ => chosen,
        })
    }

    /// Draws of each chain, or those before the first look, and when to end if they are not all.
    pub(crate) fn draws(&self) -> (u32, Option<Until>) {
        self.length.settings(self.chain_offset.is_some())
    }

    /// Number of the first chain.
    pub(crate) fn first_chain(&self) -> u32 {
        self.chain_offset.unwrap_or(0)
    }

    /// Chains and draws of each that fields are thinned for.
    pub(crate) fn planned(&self) -> (u32, u32) {
        let (draws, until) = self.draws();
        self.thin_for.unwrap_or((self.chains, until.map_or(draws, |until| until.most)))
    }

    /// Whether the device is left open.
    fn is_auto(&self) -> bool {
        self.device.eq_ignore_ascii_case("auto")
    }

    /// The settings, checked.
    pub(crate) fn settings(&self, device: Device) -> Result<Settings> {
        let (draws, until) = self.draws();
        let settings = Settings {
            chains: self.chains,
            first_chain: self.first_chain(),
            warmup: self.warmup,
            draws,
            until,
            seed: self.seed,
            threads: self.threads,
            device,
            method: self.method.into(),
            steps: self.steps,
            hyper_steps: self.hyper_steps,
            coordinates: self.coordinates.into(),
            mass: match self.mass {
                Mass::Auto => MassChoice::Auto,
                Mass::Identity => MassChoice::Identity,
                Mass::Prior => MassChoice::Prior,
                Mass::PriorPlusInformation => MassChoice::PriorPlusInformation,
            },
            planned: self.thin_for,
            field_memory: self.keep_fields.map(|mebibytes| (mebibytes as usize) << 20),
            ..Settings::default()
        };
        settings.check()?;
        at_most("--chains", u64::from(self.chains), MOST_CHAINS)?;
        at_most("--chain-offset", u64::from(self.first_chain()), MOST_OFFSET)?;
        at_most("--warmup", u64::from(self.warmup), MOST_TRANSITIONS)?;
        let name = if until.is_some() { "--max-draws" } else { "--draws" };
        let most = MOST_TRANSITIONS / u64::from(self.chains);
        at_most(name, u64::from(settings.most_draws()), most)?;
        at_most("--steps", u64::from(self.steps.unwrap_or(1)), MOST_STEPS)?;
        at_most("--hyper-steps", u64::from(self.hyper_steps.unwrap_or(1)), MOST_STEPS)?;
        at_most("--threads", self.threads.unwrap_or(1) as u64, MOST_THREADS)?;
        Ok(settings)
    }

    /// Refuses a model of so many latents, sites and hyperparameters that cannot fit into the memory, before it is built.
    pub(crate) fn check_size(&self, size: [usize; 3], chosen: &Chosen) -> Result<()> {
        let settings = self.settings(chosen.device.clone())?;
        check_bounds(&Footprint::of_size(size, &settings), Path::new("."))
    }

    /// Where the results of a model go.
    pub(crate) fn directory(&self, model: &str) -> PathBuf {
        match &self.origin {
            Origin::Resumed { directory, .. } => directory.clone(),
            _ => self.out.clone().unwrap_or_else(|| Path::new("sshmc-out").join(model)),
        }
    }

    /// The time between two checkpoints, checked.
    pub(crate) fn interval(&self) -> Result<Duration> {
        Duration::try_from_secs_f64(self.checkpoint_interval).map_err(|_| {
            Error::input(
                "--checkpoint-interval",
                "a number of seconds, at least 0",
                self.checkpoint_interval.to_string(),
                "leave it out for 30 seconds",
            )
        })
    }

    /// Goes on with a run that was begun in a directory.
    pub(crate) fn take_up(&mut self, words: &[String], directory: &Path, sources: &[PathBuf]) {
        self.origin = Origin::Resumed {
            directory: directory.to_path_buf(),
            words: words.to_vec(),
            sources: sources.to_vec(),
        };
    }

    /// Forgets what may differ between two runs of the same model, data and settings.
    pub(crate) fn forget_place(&mut self) {
        (self.chains, self.chain_offset, self.out, self.threads) = (0, None, None, None);
        (self.quiet, self.checkpoint_interval) = (false, 0.0);
        // How long they are is compared by itself.
        self.length = Length::default();
    }
}

/// Reads two numbers with a comma between them.
fn parse_pair(text: &str) -> std::result::Result<(u32, u32), String> {
    let pair = text.split_once(',').and_then(|(a, b)| Some((a.parse().ok()?, b.parse().ok()?)));
    pair.filter(|&(a, b)| a > 0 && b > 0)
        .ok_or_else(|| "expected CHAINS,DRAWS, such as 4,1000".into())
}

/// Accepts a number up to a bound.
pub(crate) fn at_most(place: &str, value: u64, most: u64) -> Result<()> {
    if value <= most {
        return Ok(());
    }
    Err(Error::input(place, format!("at most {most}"), value.to_string(), "ask for less"))
}
