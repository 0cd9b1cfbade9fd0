// Finishes the adjoint, y = e + T'(g - K u), and scans y forwards.
//
//   sums: y[t] u[t-1];  y[t] e[t] for t > 0;  y[0] e[0];  scale shift[t] y[t] for t > 0;  first shift[0] y[0]
@group(0) @binding(0) var<storage, read> prior: array<Prior>;
@group(0) @binding(1) var<storage, read_write> state: array<f32>;
@group(0) @binding(2) var<storage, read_write> path: array<f32>;
@group(0) @binding(3) var<storage, read_write> ends: array<f32>;
@group(0) @binding(4) var<storage, read_write> sums: array<vec2f>;

const SUMS: u32 = 5u;
const FIRST_SUM: u32 = 5u;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let p = prior[b];
    zero = p.zero;
    let first = group.x * CHUNK + id.x * PER;
    let carry = incoming(p, b, SITE_SCAN, CHUNKS - 1u - group.x, id.x);
    var reached = powers_of_eight(p, WG - 1u - id.x) * carry;
    var v: array<f32, 8>;
    for (var m = PER; m > 0u; m--) {
        let t = first + m - 1u;
        reached *= p.rho;
        v[m - 1u] = 0.0;
        if (t < DIM) {
            v[m - 1u] = finish(p, b, t, path[at(SCAN, b, t)] + reached);
        }
    }
    scan(p, b, GRADIENT_SCAN, group.x, id.x, &v);
    for (var m = 0u; m < PER; m++) {
        if (first + m < DIM) {
            path[at(SCAN, b, first + m)] = v[m];
        }
    }
    finish_sums(b, group.x, id.x);
}

fn finish(p: Prior, b: u32, t: u32, adjoint: f32) -> f32 {
    let e = path[at(E, b, t)];
    let y = e + diagonal(p, t) * adjoint;
    state[at(1u, b, t)] = y;
    let shift = diagonal(p, t) * path[at(SHIFT, b, t)] * y;
    if (t == 0u) {
        tally(2u, y * e);
        tally(4u, shift);
    } else {
        tally(0u, y * path[at(U, b, t - 1u)]);
        tally(1u, y * e);
        tally(3u, shift);
    }
    return diagonal(p, t) * y;
}
