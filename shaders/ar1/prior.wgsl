// Each chain's hyperparameters as the stages of an autoregression need them (see src/structure/ar1.rs for the names), those the
// potential depends on as two floats: an error of single precision is the same in every step, and so in a million it is large.
//
// The factor: u[0] = first e[0], u[t] = rho u[t-1] + scale e[t]. The prior's own process has phi and sigma instead:
// standard[0] = first_ratio e[0], standard[t] = excess u[t-1] + scale_ratio e[t] are the latents standardised by it.
// powers: rho^(8 2^k), two of them in each vector. length: of the series, which may be shorter than others; its data begin at datum. own:
// what the likelihood has of its own as two floats, each in a vector of its own.
struct Prior {
    rho: vec2f,
    scale: vec2f,
    first: vec2f,
    excess: vec2f,
    scale_ratio: vec2f,
    first_ratio: vec2f,
    pull: vec2f,
    mean: vec2f,
    kappa: f32,
    end: f32,
    coefficient: f32,
    zero: u32,
    length: u32,
    datum: u32,
    unused: vec2u,
    powers: array<vec4f, 12>,
    own: array<vec4f, max(OWN, 1u)>,
}

@group(0) @binding(0) var<storage, read> prior: array<Prior>;
@group(0) @binding(1) var<storage, read_write> path: array<f32>;

// Planes of `path`, each chain after chain: the adjoint of the shift, e, u, a scan under way, the sites' gradient.
const SHIFT: u32 = 0u;
const E: u32 = 1u;
const U: u32 = 2u;
const SCAN: u32 = 3u;
const G: u32 = 4u;
// Second floats live only until the next stage has read them, in planes that are not in use yet.
const SHIFT_LOW: u32 = SCAN;
const E_LOW: u32 = SCAN;
const U_LOW: u32 = G;

fn at(plane: u32, b: u32, t: u32) -> u32 {
    return (plane * CHAINS + b) * STRIDE + t;
}

// The factor's diagonal at t.
fn diagonal(b: u32, t: u32) -> vec2f {
    if (t == 0u) {
        return prior[b].first;
    }
    return prior[b].scale;
}

// Chunks of a series. Workgroups beyond them have nothing to do, and the order in which those of a series are joined does not depend
// on longer ones beside it.
fn chunks_of(b: u32) -> u32 {
    return (prior[b].length + CHUNK - 1u) / CHUNK;
}
