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
        let at = frequency(index);
        let values = kept(b, at.x, at.y);
        let own = b * PAIRS + index;
        advance(b, own, values.xy);
        let r = state[2u * CHAINS * PAIRS + own];
        let energy = values.xy * r * r;
        tally(0u, energy.x);
        tally(0u, energy.y);
        tally(1u, energy.x * values.z);
        tally(1u, energy.y * values.w);
    }
    reduce(id.x, (b * groups.x + group.x) * SUMS);
}
