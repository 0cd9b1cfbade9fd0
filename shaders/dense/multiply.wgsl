// Multiplies vectors by a slab of rows of a symmetric matrix, and adds to what the slabs before it gave.
//
//   y[b][i] <- y[b][i] + sum over rows j of the slab of A[j][i] x[b][j]
//
// Each invocation has one i, so that neighbours read neighbouring entries of a row; x is shared by the workgroup.
struct Slab {
    first: u32,
    rows: u32,
    zero: u32,
    unused: u32,
}

@group(0) @binding(0) var<storage, read> slab: Slab;
@group(0) @binding(1) var<storage, read> matrix: array<f32>;
@group(0) @binding(2) var<storage, read> x: array<f32>;
@group(0) @binding(3) var<storage, read_write> y: array<vec2f>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    zero = slab.zero;
    let b = group.y;
    let i = group.x * WG + id.x;
    let rows = slab.rows;
    var sum = vec2f(0.0);
    for (var tile = 0u; tile < rows; tile += WG) {
        workgroupBarrier();
        if (tile + id.x < rows) {
            cells[id.x] = vec2f(x[b * DIM + slab.first + tile + id.x], 0.0);
        }
        workgroupBarrier();
        let count = min(WG, rows - tile);
        if (i < DIM) {
            for (var k = 0u; k < count; k++) {
                sum = add(sum, matrix[(tile + k) * DIM + i] * cells[k].x);
            }
        }
    }
    if (i < DIM) {
        let own = b * DIM + i;
        if (slab.first == 0u) {
            y[own] = sum;
        } else {
            y[own] = join(y[own], sum);
        }
    }
}
