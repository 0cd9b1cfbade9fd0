// Finishes the shift, e = z + T's, and scans forwards: u[t] = rho u[t-1] + diagonal e[t].
@group(0) @binding(0) var<storage, read> prior: array<Prior>;
@group(0) @binding(1) var<storage, read> state: array<f32>;
@group(0) @binding(2) var<storage, read_write> path: array<f32>;
@group(0) @binding(3) var<storage, read_write> ends: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let p = prior[b];
    zero = p.zero;
    let first = group.x * CHUNK + id.x * PER;
    let carry = incoming(p, b, SHIFT_SCAN, CHUNKS - 1u - group.x, id.x);
    var reached = powers_of_eight(p, WG - 1u - id.x) * carry;
    var v: array<f32, 8>;
    for (var m = PER; m > 0u; m--) {
        let t = first + m - 1u;
        reached *= p.rho;
        v[m - 1u] = 0.0;
        if (t < DIM) {
            let shift = path[at(SHIFT, b, t)] + reached;
            let e = state[at(0u, b, t)] + diagonal(p, t) * shift;
            path[at(SHIFT, b, t)] = shift;
            path[at(E, b, t)] = e;
            v[m - 1u] = diagonal(p, t) * e;
        }
    }
    scan(p, b, PATH_SCAN, group.x, id.x, &v);
    for (var m = 0u; m < PER; m++) {
        if (first + m < DIM) {
            path[at(U, b, first + m)] = v[m];
        }
    }
}
