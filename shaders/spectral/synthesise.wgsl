// Moves the latents, scales them into the field's spectrum and transforms the columns back.
//
//   kick and flow as in motion.wgsl;  e = T s + z;  X = T e (centred: X = z);  work[k2][row] = columns of the inverse transform
//
// One line of work is a row k2 of the half spectrum, contiguous in `state`; only rows inside the window are kept.
@group(0) @binding(0) var<storage, read> motion: array<Motion>;
@group(0) @binding(1) var<storage, read> prior: array<Prior>;
@group(0) @binding(2) var<storage, read> table: array<f32>;
@group(0) @binding(3) var<storage, read> twiddle: array<vec2f>;
@group(0) @binding(4) var<storage, read> columns: array<vec2f>;
@group(0) @binding(5) var<storage, read_write> state: array<vec2f>;
@group(0) @binding(6) var<storage, read_write> spectrum: array<vec2f>;
@group(0) @binding(7) var<storage, read_write> work: array<vec2f>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let p = prior[b];
    zero = p.zero;
    let line = id.x / (N / 8u);
    let t = id.x % (N / 8u);
    let k2 = group.x * LINES + line;
    let base = line * N;
    for (var k = 0u; k < 8u; k++) {
        let i = t + k * (N / 8u);
        if (k2 < HALF2 && owns(k2, i)) {
            place(p, b, k2, i, base);
        }
    }
    workgroupBarrier();
    var v: array<vec2f, 8>;
    take(&v, base, t);
    conjugate_all(&v);
    transform(&v, base, t);
    for (var k = 0u; k < 8u; k++) {
        let row = t + k * (N / 8u);
        if (k2 < HALF2 && row < ROWS) {
            work[(b * HALF2 + k2) * ROWS + row] = conjugate(v[k]);
        }
    }
}

// Moves one pair of latents and puts it, and its mirror image if there is one, where the transform starts.
fn place(p: Prior, b: u32, k2: u32, i: u32, base: u32) {
    let index = pair(k2, i);
    let own = b * PAIRS + index;
    let values = eigenvalues(p, b, k2, i);
    let z = advance(b, own, values.xy);
    var x = z;
    if (CENTRED == 0u) {
        let t = sqrt(values.xy / (1.0 + p.kappa * values.xy));
        x = t * (t * shift_of(p, b, index, state[3u * CHAINS * PAIRS + own]) + z);
    }
    if (is_edge(k2) && i == 0u) {
        cells[base] = vec2f(x.x * NORM, 0.0);
        cells[base + N / 2u] = vec2f(x.y * NORM, 0.0);
    } else {
        x *= NORM * 0.70710678118654752;
        cells[base + i] = x;
        if (is_edge(k2)) {
            cells[base + N - i] = conjugate(x);
        }
    }
}
