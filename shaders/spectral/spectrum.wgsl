// Evaluates every eigenvalue at the chains' hyperparameters, for stages that do not come after synthesise.wgsl.
@group(0) @binding(0) var<storage, read> prior: array<Prior>;
@group(0) @binding(1) var<storage, read> table: array<f32>;
@group(0) @binding(2) var<storage, read_write> spectrum: array<vec2f>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let p = prior[b];
    let k = group.x * WG + id.x;
    if (k < HALF1 * HALF2) {
        spectrum[b * HALF1 * HALF2 + k] = eigenvalue(p, k / HALF1, k % HALF1);
    }
}
