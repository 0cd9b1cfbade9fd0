// Draws momenta r ~ N(0, I): block i of Philox gives the normals 4i to 4i + 3, as in src/random/stream.rs.
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read_write> state: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let m = motion[group.y];
    zero = m.zero;
    let block = group.x * WG + id.x;
    if (4u * block >= m.length) {
        return;
    }
    let words = philox(vec4u(block, 0u, m.transition, m.chain), vec2u(m.seed_low, m.seed_high));
    let ab = normals(words.x, words.y);
    let cd = normals(words.z, words.w);
    let values = vec4f(ab, cd);
    let first = (2u * CHAINS + group.y) * STRIDE + 4u * block;
    for (var k = 0u; k < 4u; k++) {
        if (4u * block + k < m.length) {
            state[first + k] = values[k];
        }
    }
}
