// Adds the current point to running means: of the latents with their mean, and of the sites' gradient, both in the spectral basis.
//
//   x = T e + mean;  G = (y - a e)/T;  mean <- mean + weight (now - mean)
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read> prior: array<Prior>;
@group(0) @binding(2) var<storage, read> spectrum: array<vec2f>;
@group(0) @binding(3) var<storage, read> columns: array<vec2f>;
@group(0) @binding(4) var<storage, read> state: array<vec2f>;
@group(0) @binding(5) var<storage, read_write> means: array<vec2f>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let p = prior[b];
    let index = group.x * WG + id.x;
    if (index >= PAIRS) {
        return;
    }
    let at = frequency(index);
    let own = b * PAIRS + index;
    let plane = CHAINS * PAIRS;
    let lambda = kept(b, at.x, at.y).xy;
    let a = 1.0 / (1.0 + p.kappa * lambda);
    let root = sqrt(lambda * a);
    let e = root * shift_of(p, b, index, state[3u * plane + own]) + state[own];
    var x = root * e;
    if (index == 0u) {
        x.x += p.mean_first;
    }
    for (var k = 0u; k < COVARIATES; k++) {
        x += effect(b, k) * columns[k * PAIRS + index];
    }
    let g = (state[plane + own] - a * e) / root;
    let weight = motion[b].weight;
    // The first point replaces whatever was there, which may not be a number.
    let fresh = weight == 1.0;
    let old_x = select(means[own], vec2f(0.0), fresh);
    let old_g = select(means[plane + own], vec2f(0.0), fresh);
    means[own] = old_x + weight * (x - old_x);
    means[plane + own] = old_g + weight * (g - old_g);
}
