// Kicks and moves latents of unit mass, and adds up r^2.
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read_write> state: array<f32>;
@group(0) @binding(2) var<storage, read_write> sums: array<vec2f>;

const SUMS: u32 = 1u;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let b = group.y;
    let m = motion[b];
    zero = m.zero;
    let plane = CHAINS * STRIDE;
    for (var i = group.x * WG + id.x; i < DIM; i += groups.x * WG) {
        let own = b * STRIDE + i;
        var r = state[2u * plane + own];
        if (m.moving != 0u) {
            let now = moved(m, state[own], state[plane + own], r);
            r = now.y;
            state[own] = now.x;
            state[2u * plane + own] = r;
        }
        tally(0u, r * r);
    }
    reduce(id.x, b * groups.x + group.x);
}
