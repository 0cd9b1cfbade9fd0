// Transforms the columns of the sites' gradient forth and turns the result into the gradient in z.
//
//   G = spectrum of g;  e = T s + z;  y = T G + a e;  P = y (e + T s) - e^2
//   sums: a e^2;  a P;  a P S'/S;  log(1 + kappa lambda);  1 - a;  (1 - a) S'/S;  the first latent's y T;  y T times each covariate
//
// centred:  y = G + z/lambda;  sums: z^2/lambda;  -z^2/lambda;  -(z^2/lambda) S'/S;  zeros
@group(0) @binding(0) var<storage, read> prior: array<Prior>;
@group(0) @binding(1) var<storage, read> twiddle: array<vec2f>;
@group(0) @binding(2) var<storage, read> spectrum: array<vec2f>;
@group(0) @binding(3) var<storage, read> work: array<vec2f>;
@group(0) @binding(4) var<storage, read> columns: array<vec2f>;
@group(0) @binding(5) var<storage, read_write> state: array<vec2f>;
@group(0) @binding(6) var<storage, read_write> sums: array<vec2f>;

const SUMS: u32 = 7u + COVARIATES;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let p = prior[b];
    zero = p.zero;
    let line = id.x / (N / 8u);
    let t = id.x % (N / 8u);
    let k2 = group.x * LINES + line;
    var v: array<vec2f, 8>;
    for (var k = 0u; k < 8u; k++) {
        let row = t + k * (N / 8u);
        v[k] = vec2f(0.0);
        if (k2 < HALF2 && row < ROWS) {
            v[k] = work[(b * HALF2 + k2) * ROWS + row];
        }
    }
    transform(&v, line * N, t);
    // The two real frequencies of an edge row are both with the first invocation of a line: 0 and N/2 = 4 (N/8).
    let lone = vec2f(v[0].x, v[4].x) * NORM;
    for (var k = 0u; k < 8u; k++) {
        let i = t + k * (N / 8u);
        if (k2 < HALF2 && owns(k2, i)) {
            let g = select(v[k] * (NORM * 1.4142135623730951), lone, is_edge(k2) && i == 0u);
            finish(p, b, k2, i, g);
        }
    }
    reduce(id.x, (b * GROUPS + group.x) * SUMS);
}

fn finish(p: Prior, b: u32, k2: u32, i: u32, g: vec2f) {
    let index = pair(k2, i);
    let own = b * PAIRS + index;
    let plane = CHAINS * PAIRS;
    let values = kept(b, k2, i);
    let lambda = values.xy;
    let z = state[own];
    if (CENTRED != 0u) {
        let standard = z / lambda;
        state[plane + own] = g + standard;
        both(0u, z * standard);
        both(1u, -z * standard);
        both(2u, -z * standard * values.zw);
        return;
    }
    let a = 1.0 / (1.0 + p.kappa * lambda);
    let root = sqrt(lambda * a);
    let e = root * shift_of(p, b, index, state[3u * plane + own]) + z;
    let y = root * g + a * e;
    state[plane + own] = y;
    let weighted = a * (y * (2.0 * e - z) - e * e);
    both(0u, a * e * e);
    both(1u, weighted);
    both(2u, weighted * values.zw);
    if (p.kappa > 0.0) {
        let gain = p.kappa * lambda;
        both(3u, vec2f(logarithm_1p(gain.x), logarithm_1p(gain.y)));
        both(4u, gain * a);
        both(5u, gain * a * values.zw);
    }
    if (index == 0u) {
        total[6] = vec2f(y.x * root.x, 0.0);
    }
    for (var k = 0u; k < COVARIATES; k++) {
        both(7u + k, y * root * columns[k * PAIRS + index]);
    }
}

fn both(k: u32, x: vec2f) {
    tally(k, x.x);
    tally(k, x.y);
}
