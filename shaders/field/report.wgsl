// Keeps the field of the current point, and its running mean and sum of squared deviations (Welford's update).
//
//   moments: current, mean, squares, each chain after chain; weight is 1 over the number of draws, or 0 to leave them alone
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read> field: array<f32>;
@group(0) @binding(2) var<storage, read_write> moments: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let m = motion[b];
    let i = group.x * WG + id.x;
    if (i >= SITES) {
        return;
    }
    let own = b * SITES + i;
    let plane = CHAINS * SITES;
    if (m.accepted != 0u) {
        moments[own] = field[own];
    }
    if (m.weight > 0.0) {
        let x = moments[own];
        let mean = select(moments[plane + own], 0.0, m.weight == 1.0);
        let squares = select(moments[2u * plane + own], 0.0, m.weight == 1.0);
        let before = x - mean;
        let after = mean + m.weight * before;
        moments[plane + own] = after;
        moments[2u * plane + own] = squares + before * (x - after);
    }
}
