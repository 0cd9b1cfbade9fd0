// Transforms rows back, meets the data, and transforms their gradient forth: a row never leaves the workgroup in between.
//
//   x = row of the inverse transform;  eta = mean + x;  (value, g) = site(datum, eta);  work[k2][row] = forward transform of g
//
// Two rows, the real and the imaginary part of one line. sums: the misfit; g; g times each covariate; derivatives in
// what the likelihood has of its own.
@group(0) @binding(0) var<storage, read> prior: array<Prior>;
@group(0) @binding(1) var<storage, read> twiddle: array<vec2f>;
@group(0) @binding(2) var<storage, read> sites: array<vec2f>;
@group(0) @binding(3) var<storage, read> covariates: array<f32>;
@group(0) @binding(4) var<storage, read_write> work: array<vec2f>;
@group(0) @binding(5) var<storage, read_write> field: array<f32>;
@group(0) @binding(6) var<storage, read_write> sums: array<vec2f>;

const SUMS: u32 = 2u + COVARIATES + OWN;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let p = prior[b];
    zero = p.zero;
    for (var k = 0u; k < OWN; k++) {
        own[k] = prior[b].more[COVARIATES + k].xy;
    }
    // Neighbouring invocations take neighbouring rows, which are neighbours in `work`.
    let line = id.x % LINES;
    let t = id.x / LINES;
    let base = line * N;
    let row = 2u * (group.x * LINES + line);
    let inside = row < ROWS;
    var v: array<vec2f, 8>;
    for (var k = 0u; k < 8u; k++) {
        v[k] = vec2f(0.0);
        if (inside) {
            v[k] = conjugate(load(b, row, t + k * (N / 8u)));
        }
    }
    transform(&v, base, t);
    for (var k = 0u; k < 8u; k++) {
        let column = t + k * (N / 8u);
        var g = vec2f(0.0);
        if (inside && column < COLUMNS) {
            g.x = meet(p, b, row, column, v[k].x);
            if (row + 1u < WINDOW) {
                g.y = meet(p, b, row + 1u, column, -v[k].y);
            }
        }
        v[k] = g;
    }
    transform(&v, base, t);
    workgroupBarrier();
    for (var k = 0u; k < 8u; k++) {
        cells[base + t + k * (N / 8u)] = v[k];
    }
    workgroupBarrier();
    for (var k = 0u; k < 8u; k++) {
        let i = t + k * (N / 8u);
        if (inside && i <= N / 2u) {
            let mirror = conjugate(cells[base + (N - i) % N]);
            let at = (b * HALF2 + i) * ROWS + row;
            work[at] = 0.5 * (v[k] + mirror);
            work[at + 1u] = 0.5 * quarter_turn(v[k] - mirror);
        }
    }
    reduce(id.x, (b * GROUPS + group.x) * SUMS);
}

// Frequency i of the line whose real part is `row` and whose imaginary part is the next.
fn load(b: u32, row: u32, i: u32) -> vec2f {
    let at = (b * HALF2 + min(i, N - i)) * ROWS + row;
    var a = work[at];
    var c = work[at + 1u];
    if (i > N / 2u) {
        a = conjugate(a);
        c = conjugate(c);
    }
    if (i == 0u || i == N / 2u) {
        a.y = 0.0;
        c.y = 0.0;
    }
    return vec2f(a.x - c.y, a.y + c.x);
}

fn meet(p: Prior, b: u32, row: u32, column: u32, x: f32) -> f32 {
    let place = row * COLUMNS + column;
    var eta = join(p.mean, vec2f(x, 0.0));
    for (var k = 0u; k < COVARIATES; k++) {
        eta = join(eta, two_product(effect(b, k), covariates[k * WINDOW * COLUMNS + place]));
    }
    for (var k = 0u; k < OWN; k++) {
        by_own[k] = vec2f(0.0);
    }
    let s = site(sites[place], eta);
    tally_pair(0u, s.xy);
    tally(1u, s.z);
    for (var k = 0u; k < COVARIATES; k++) {
        tally(2u + k, s.z * covariates[k * WINDOW * COLUMNS + place]);
    }
    for (var k = 0u; k < OWN; k++) {
        tally_pair(2u + COVARIATES + k, by_own[k]);
    }
    field[b * WINDOW * COLUMNS + place] = select(x, eta.x, REPORT_MEAN != 0u);
    return s.z;
}
