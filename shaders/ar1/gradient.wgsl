// Finishes the adjoint, y = e + T'(g - K u), and scans y forwards.
//
//   sums: y[t] u[t-1];  y[t] e[t] for t > 0;  y[0] e[0];  scale shift[t] y[t] for t > 0;  first shift[0] y[0]
@group(0) @binding(3) var<storage, read_write> state: array<f32>;
@group(0) @binding(4) var<storage, read_write> sums: array<vec2f>;

const SUMS: u32 = 5u;
const FIRST_SUM: u32 = 5u + OWN;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    if (group.x >= chunks_of(b)) {
        return;
    }
    let length = prior[b].length;
    zero = prior[b].zero;
    let rho = prior[b].rho;
    let first = group.x * CHUNK + id.x * PER;
    var reached = reaching(b, SITE_SCAN, chunks_of(b) - 1u - group.x, WG - 1u - id.x, id.x);
    var v: array<vec2f, 8>;
    for (var m = PER; m > 0u; m--) {
        let t = first + m - 1u;
        reached = multiply(rho, reached);
        v[m - 1u] = vec2f(0.0);
        if (t < length) {
            v[m - 1u] = vec2f(finish(b, t, path[at(SCAN, b, t)] + reached.x), 0.0);
        }
    }
    scan(b, GRADIENT_SCAN, group.x, id.x, &v);
    for (var m = 0u; m < PER; m++) {
        if (first + m < length) {
            path[at(SCAN, b, first + m)] = v[m].x;
        }
    }
    finish_sums(b, group.x, id.x);
}

fn finish(b: u32, t: u32, adjoint: f32) -> f32 {
    let e = path[at(E, b, t)];
    let d = diagonal(b, t).x;
    let y = e + d * adjoint;
    state[at(1u, b, t)] = y;
    let shift = d * path[at(SHIFT, b, t)] * y;
    if (t == 0u) {
        tally(2u, y * e);
        tally(4u, shift);
    } else {
        tally(0u, y * path[at(U, b, t - 1u)]);
        tally(1u, y * e);
        tally(3u, shift);
    }
    return d * y;
}
