// Calls a likelihood at given predictors, so that the host can hold it to its twin on the CPU: out = value, high and low, derivatives in
// what the likelihood has of its own, high and low, and gradient.
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read> sites: array<vec2f>;
@group(0) @binding(2) var<storage, read> predictor: array<f32>;
@group(0) @binding(3) var<storage, read> own_values: array<vec2f>;
@group(0) @binding(4) var<storage, read_write> out: array<f32>;

const EACH: u32 = 3u + 2u * OWN;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    zero = motion[0].zero;
    for (var k = 0u; k < OWN; k++) {
        own[k] = own_values[k];
    }
    for (var i = id.x; i < COUNT; i += WG * groups.x) {
        for (var k = 0u; k < OWN; k++) {
            by_own[k] = vec2f(0.0);
        }
        let found = site(sites[i], vec2f(predictor[i], 0.0));
        out[EACH * i] = found.x;
        out[EACH * i + 1u] = found.y;
        for (var k = 0u; k < OWN; k++) {
            out[EACH * i + 2u + 2u * k] = by_own[k].x;
            out[EACH * i + 3u + 2u * k] = by_own[k].y;
        }
        out[EACH * i + 2u + 2u * OWN] = found.z;
    }
}
