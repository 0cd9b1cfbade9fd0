// Adds the current point to running means: of the latents with their mean, and of the sites' gradient.
@group(0) @binding(2) var<storage, read> motion: array<Motion>;
@group(0) @binding(3) var<storage, read_write> means: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let t = group.x * WG + id.x;
    if (t >= prior[b].length) {
        return;
    }
    let weight = motion[b].weight;
    let x = path[at(U, b, t)] + prior[b].coefficient;
    let g = path[at(G, b, t)];
    // The first point replaces whatever was there, which may not be a number.
    let fresh = weight == 1.0;
    let old_x = select(means[at(0u, b, t)], 0.0, fresh);
    let old_g = select(means[at(1u, b, t)], 0.0, fresh);
    means[at(0u, b, t)] = old_x + weight * (x - old_x);
    means[at(1u, b, t)] = old_g + weight * (g - old_g);
}
