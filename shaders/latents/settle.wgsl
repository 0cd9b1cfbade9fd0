// Takes chains back to the saved point where the proposal was not accepted.
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read> saved: array<f32>;
@group(0) @binding(2) var<storage, read_write> state: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let i = group.x * WG + id.x;
    if (i < DIM && motion[b].accepted == 0u) {
        let plane = CHAINS * STRIDE;
        let own = b * STRIDE + i;
        state[own] = saved[own];
        state[plane + own] = saved[plane + own];
    }
}
