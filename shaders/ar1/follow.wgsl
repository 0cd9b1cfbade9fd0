// Finishes T y, and adds up what the shift says about the hyperparameters.
//
//   sums: shift[t] (T y)[t-1];  T y
@group(0) @binding(0) var<storage, read> prior: array<Prior>;
@group(0) @binding(1) var<storage, read> path: array<f32>;
@group(0) @binding(2) var<storage, read_write> ends: array<f32>;
@group(0) @binding(3) var<storage, read_write> sums: array<vec2f>;

const SUMS: u32 = 2u;
const FIRST_SUM: u32 = 10u;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let p = prior[b];
    zero = p.zero;
    let first = group.x * CHUNK + id.x * PER;
    let carry = incoming(p, b, GRADIENT_SCAN, group.x, id.x);
    var reached = powers_of_eight(p, id.x) * carry;
    var before = reached;
    if (id.x > 0u && first <= DIM) {
        before += path[at(SCAN, b, first - 1u)];
    }
    for (var m = 0u; m < PER; m++) {
        let t = first + m;
        reached *= p.rho;
        if (t < DIM) {
            let now = path[at(SCAN, b, t)] + reached;
            if (t > 0u) {
                tally(0u, path[at(SHIFT, b, t)] * before);
            }
            tally(1u, now);
            before = now;
        }
    }
    finish_sums(b, group.x, id.x);
}
