// Kicks and moves latents of unit mass, and adds up r^2. How many workgroups share the latents of a chain depends on that chain alone,
// so that its sums do not change with its neighbours.
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
    let sharing = clamp((m.length + SHARE * WG - 1u) / (SHARE * WG), 1u, MOST_GROUPS);
    let first = select(m.length, group.x * WG + id.x, group.x < sharing);
    for (var i = first; i < m.length; i += sharing * WG) {
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
