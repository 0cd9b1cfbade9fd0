// Moves the latents, and scans the shift s = q - pull backwards: c[t] = s[t] + rho c[t+1].
@group(0) @binding(3) var<storage, read> motion: array<Motion>;
@group(0) @binding(4) var<storage, read_write> state: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    if (group.x >= chunks_of(b)) {
        return;
    }
    let length = prior[b].length;
    zero = prior[b].zero;
    let pull = prior[b].pull;
    let first = (chunks_of(b) - 1u - group.x) * CHUNK + CHUNK - 1u - id.x * PER;
    var v: array<vec2f, 8>;
    for (var m = 0u; m < PER; m++) {
        let t = first - m;
        v[m] = vec2f(0.0);
        if (t < length) {
            move_latent(b, t);
            v[m] = join(vec2f(state[at(3u, b, t)], 0.0), -pull);
        }
    }
    scan(b, SHIFT_SCAN, group.x, id.x, &v);
    for (var m = 0u; m < PER; m++) {
        if (first - m < length) {
            path[at(SHIFT, b, first - m)] = v[m].x;
            path[at(SHIFT_LOW, b, first - m)] = v[m].y;
        }
    }
}

fn move_latent(b: u32, t: u32) {
    let m = motion[b];
    if (m.moving != 0u) {
        let now = moved(m, state[at(0u, b, t)], state[at(1u, b, t)], state[at(2u, b, t)]);
        state[at(0u, b, t)] = now.x;
        state[at(2u, b, t)] = now.y;
    }
}
