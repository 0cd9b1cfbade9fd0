// Moves latents whose mass is the prior precision, M = 1/lambda, and adds up their kinetic energy.
//
//   draw: r <- r / sqrt(lambda);  kick and flow as in motion.wgsl with velocity lambda r
//   sums: lambda r^2;  lambda r^2 S'/S
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read> prior: array<Prior>;
@group(0) @binding(2) var<storage, read> spectrum: array<vec2f>;
@group(0) @binding(3) var<storage, read_write> state: array<vec2f>;
@group(0) @binding(4) var<storage, read_write> sums: array<vec2f>;

const SUMS: u32 = 2u;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u, @builtin(num_workgroups) groups: vec3u) {
    let b = group.y;
    zero = prior[b].zero;
    for (var index = group.x * WG + id.x; index < PAIRS; index += groups.x * WG) {
        // The inverse of `pair`.
        var k2 = 0u;
        var i = index;
        if (index >= N / 2u) {
            k2 = 1u + (index - N / 2u) / N;
            i = (index - N / 2u) % N;
        }
        let values = kept(b, k2, i);
        let r = advance(b, b * PAIRS + index, values.xy);
        let energy = values.xy * r * r;
        tally(0u, energy.x);
        tally(0u, energy.y);
        tally(1u, energy.x * values.z);
        tally(1u, energy.y * values.w);
    }
    reduce(id.x);
    if (id.x < SUMS) {
        sums[(b * groups.x + group.x) * SUMS + id.x] = cells[id.x * WG];
    }
}

fn advance(b: u32, own: u32, lambda: vec2f) -> vec2f {
    let m = motion[b];
    let plane = CHAINS * PAIRS;
    var r = state[2u * plane + own];
    if (m.draw != 0u) {
        r /= sqrt(lambda);
    }
    if (m.moving != 0u) {
        var z = state[own];
        r = m.sign * (r - m.kick * (state[plane + own] - m.reference * z));
        z += m.half * lambda * r;
        r -= m.sine * z;
        z += m.half * lambda * r;
        state[own] = z;
    }
    if (m.draw != 0u || m.moving != 0u) {
        state[2u * plane + own] = r;
    }
    return r;
}
