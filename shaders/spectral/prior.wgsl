// Each chain's hyperparameters as the spectral stages need them, and what follows from them at one frequency.
//
// lambda = variance x S, S a polynomial in `position` whose coefficients are in slot `slot` of the table, row k2 after row,
// each row NODES lines of HALF1 numbers. a = 1/(1 + kappa lambda), T = sqrt(lambda a), s = q, in the first latent `first`,
// less kappa times the covariates in the spectral basis, each times its effect. more: effects of covariates, then what the likelihood has of its
// own as two floats, each number in a vector of its own.
struct Prior {
    variance: f32,
    position: f32,
    slot: u32,
    white: u32,
    kappa: f32,
    first: f32,
    mean: vec2f,
    steepness: f32,
    mean_first: f32,
    zero: u32,
    unused: u32,
    more: array<vec4f, max(COVARIATES + OWN, 1u)>,
}

// The coefficient of covariate k.
fn effect(b: u32, k: u32) -> f32 {
    return prior[b].more[k].x;
}

// Where the pair (k2, i) of a chain's latents lies. A row has N pairs, (Re, Im) of every frequency i; in the rows k2 = 0 and
// HALF2 - 1, which are their own mirror image, it has N/2 pairs: first the two real frequencies 0 and N/2, then 0 < i < N/2.
fn pair(k2: u32, i: u32) -> u32 {
    return select(N / 2u + (k2 - 1u) * N, 0u, k2 == 0u) + i;
}

fn is_edge(k2: u32) -> bool {
    return k2 == 0u || k2 == HALF2 - 1u;
}

// Its inverse: (k2, i).
fn frequency(pair: u32) -> vec2u {
    if (pair < N / 2u) {
        return vec2u(0u, pair);
    }
    return vec2u(1u + (pair - N / 2u) / N, (pair - N / 2u) % N);
}

// Whether frequency i of row k2 has latents of its own.
fn owns(k2: u32, i: u32) -> bool {
    return !is_edge(k2) || i < N / 2u;
}
