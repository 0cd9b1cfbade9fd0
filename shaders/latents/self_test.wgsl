// Does on this driver what energies rely on: sums and products of two numbers with what rounding took from them.
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read> pairs: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> out: array<vec2f>;

@compute @workgroup_size(WG)
fn main(@builtin(global_invocation_id) id: vec3u) {
    zero = motion[0].zero;
    if (id.x < COUNT) {
        let x = pairs[id.x];
        out[id.x] = two_sum(x.x, x.y);
        out[COUNT + id.x] = two_product(x.x, x.y);
    }
}
