// Adds the exponential of the current field to sums over draws, and counts the draws above each level.
//
//   v = e^(x - first draw) - 1;  sums: v and v^2 in pairs of floats, two planes;  above: draws with x > level, a plane a level
//
// Relative to the first draw e^x is near one whatever the unit of x, so that neither it nor its square leaves single precision.
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read> current: array<f32>;
@group(0) @binding(2) var<storage, read> reference: array<f32>;
@group(0) @binding(3) var<storage, read> levels: array<f32>;
@group(0) @binding(4) var<storage, read_write> sums: array<vec2f>;
@group(0) @binding(5) var<storage, read_write> above: array<u32>;

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
    let x = current[own];
    let first = m.weight == 1.0;
    if (first) {
        sums[own] = vec2f(0.0);
        sums[plane + own] = vec2f(0.0);
    } else {
        let v = join(exponential_pair(two_sum(x, -reference[own])), vec2f(-1.0, 0.0));
        sums[own] = join(sums[own], v);
        sums[plane + own] = join(sums[plane + own], multiply(v, v));
    }
    for (var k = 0u; k < LEVELS; k++) {
        let at = k * plane + own;
        above[at] = select(above[at], 0u, first) + select(0u, 1u, x > levels[k]);
    }
}
