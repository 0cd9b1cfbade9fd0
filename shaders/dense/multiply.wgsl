// Multiplies vectors by a slab of rows of a symmetric matrix, and adds to what the slabs before it gave.
//
//   y[b][i] <- y[b][i] + sum over rows j of the slab of A[j][i] x[b][j]
//
// Each invocation has one i, so that neighbours read neighbouring entries of a row, and up to four vectors b, so that an entry is read once for
// LANES of them; x is shared by the workgroup.
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

// Entries of four vectors for each of some rows.
var<workgroup> entries: array<vec4f, WG>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    zero = slab.zero;
    let b = group.y * LANES;
    let i = group.x * WG + id.x;
    let rows = slab.rows;
    var s0 = vec2f(0.0);
    var s1 = vec2f(0.0);
    var s2 = vec2f(0.0);
    var s3 = vec2f(0.0);
    for (var tile = 0u; tile < rows; tile += WG) {
        workgroupBarrier();
        if (tile + id.x < rows) {
            let j = slab.first + tile + id.x;
            entries[id.x] = vec4f(entry(b, 0u, j), entry(b, 1u, j), entry(b, 2u, j), entry(b, 3u, j));
        }
        workgroupBarrier();
        let count = min(WG, rows - tile);
        if (i < DIM) {
            for (var k = 0u; k < count; k++) {
                let a = matrix[(tile + k) * DIM + i];
                let v = entries[k];
                s0 = add(s0, a * v.x);
                if (LANES > 1u) {
                    s1 = add(s1, a * v.y);
                }
                if (LANES > 2u) {
                    s2 = add(s2, a * v.z);
                    s3 = add(s3, a * v.w);
                }
            }
        }
    }
    leave(b, 0u, i, s0);
    leave(b, 1u, i, s1);
    leave(b, 2u, i, s2);
    leave(b, 3u, i, s3);
}

// Whether vector b + lane is one of those this workgroup has.
fn present(b: u32, lane: u32) -> bool {
    return lane < LANES && b + lane < CHAINS;
}

fn entry(b: u32, lane: u32, j: u32) -> f32 {
    if (present(b, lane)) {
        return x[(b + lane) * DIM + j];
    }
    return 0.0;
}

fn leave(b: u32, lane: u32, i: u32, sum: vec2f) {
    if (present(b, lane) && i < DIM) {
        let own = (b + lane) * DIM + i;
        if (slab.first == 0u) {
            y[own] = sum;
        } else {
            y[own] = join(y[own], sum);
        }
    }
}
