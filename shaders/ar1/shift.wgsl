// Moves the latents, and scans the shift s = q - pull backwards: c[t] = s[t] + rho c[t+1].
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read> prior: array<Prior>;
@group(0) @binding(2) var<storage, read_write> state: array<f32>;
@group(0) @binding(3) var<storage, read_write> path: array<f32>;
@group(0) @binding(4) var<storage, read_write> ends: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let p = prior[b];
    zero = p.zero;
    let first = (CHUNKS - 1u - group.x) * CHUNK + CHUNK - 1u - id.x * PER;
    var v: array<f32, 8>;
    for (var m = 0u; m < PER; m++) {
        let t = first - m;
        v[m] = 0.0;
        if (t < DIM) {
            move_latent(b, t);
            v[m] = state[at(3u, b, t)] - p.pull;
        }
    }
    scan(p, b, SHIFT_SCAN, group.x, id.x, &v);
    for (var m = 0u; m < PER; m++) {
        if (first - m < DIM) {
            path[at(SHIFT, b, first - m)] = v[m];
        }
    }
}

fn move_latent(b: u32, t: u32) {
    let m = motion[b];
    if (m.moving == 0u) {
        return;
    }
    var z = state[at(0u, b, t)];
    var r = state[at(2u, b, t)];
    r = m.sign * (r - m.kick * (state[at(1u, b, t)] - m.reference * z));
    z += m.half * r;
    r -= m.sine * z;
    z += m.half * r;
    state[at(0u, b, t)] = z;
    state[at(2u, b, t)] = r;
}
