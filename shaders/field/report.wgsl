// Keeps the field of the current point, and sums of its draws: deviations from the first of them, and their squares.
//
// Sums are pairs of floats, so that the millionth draw counts as much as the first. sums: two planes, each chain after chain. weight is 1
// over the number of draws, 0 to leave them alone; at 1 they begin afresh.
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read> field: array<f32>;
@group(0) @binding(2) var<storage, read_write> current: array<f32>;
@group(0) @binding(3) var<storage, read_write> reference: array<f32>;
@group(0) @binding(4) var<storage, read_write> sums: array<vec2f>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let m = motion[b];
    zero = m.zero;
    let i = group.x * WG + id.x;
    if (i >= SITES) {
        return;
    }
    let own = b * SITES + i;
    let plane = CHAINS * SITES;
    if (m.accepted != 0u) {
        current[own] = field[own];
    }
    if (m.weight == 1.0) {
        reference[own] = current[own];
        sums[own] = vec2f(0.0);
        sums[plane + own] = vec2f(0.0);
    } else if (m.weight > 0.0) {
        let d = two_sum(current[own], -reference[own]);
        sums[own] = join(sums[own], d);
        sums[plane + own] = join(sums[plane + own], multiply(d, d));
    }
}
