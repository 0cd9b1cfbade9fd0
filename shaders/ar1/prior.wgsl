// Each chain's hyperparameters as the stages of an autoregression need them (see src/structure/ar1.rs for the names).
//
// The factor: u[0] = first e[0], u[t] = rho u[t-1] + scale e[t]. The prior's own process has phi and sigma instead:
// standard[0] = first_ratio e[0], standard[t] = excess u[t-1] + scale_ratio e[t] are the latents standardised by it.
// powers: rho^(8 2^k), rounded from f64; log_chunk: log |rho^CHUNK|, CHUNK being even.
struct Prior {
    rho: f32,
    scale: f32,
    first: f32,
    inverse_scale: f32,
    excess: f32,
    scale_ratio: f32,
    first_ratio: f32,
    kappa: f32,
    end: f32,
    pull: f32,
    mean_high: f32,
    mean_low: f32,
    powers: array<vec4f, 2>,
    log_chunk: f32,
    coefficient: f32,
    zero: u32,
    unused: u32,
}

// Planes of `path`, each chain after chain: the adjoint of the shift, e, u, a scan under way, the sites' gradient.
const SHIFT: u32 = 0u;
const E: u32 = 1u;
const U: u32 = 2u;
const SCAN: u32 = 3u;
const G: u32 = 4u;

// Scans: of the shift backwards, of e forwards, of the sites backwards, of the gradient forwards.
const SHIFT_SCAN: u32 = 0u;
const PATH_SCAN: u32 = 1u;
const SITE_SCAN: u32 = 2u;
const GRADIENT_SCAN: u32 = 3u;

// Latents of an invocation; a workgroup has CHUNK.
const PER: u32 = 8u;

fn at(plane: u32, b: u32, t: u32) -> u32 {
    return (plane * CHAINS + b) * STRIDE + t;
}

// The factor's diagonal at t.
fn diagonal(p: Prior, t: u32) -> f32 {
    return select(p.scale, p.first, t == 0u);
}
