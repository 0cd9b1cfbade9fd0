// Finishes u, meets the data, and scans g - K u backwards.
//
//   sums: misfit;  g;  standard[t]^2 for t > 0;  standard[0]^2;  standard[t] u[t-1]
@group(0) @binding(0) var<storage, read> prior: array<Prior>;
@group(0) @binding(1) var<storage, read> sites: array<vec2f>;
@group(0) @binding(2) var<storage, read_write> path: array<f32>;
@group(0) @binding(3) var<storage, read_write> ends: array<f32>;
@group(0) @binding(4) var<storage, read_write> field: array<f32>;
@group(0) @binding(5) var<storage, read_write> sums: array<vec2f>;

const SUMS: u32 = 5u;
const FIRST_SUM: u32 = 0u;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    let p = prior[b];
    zero = p.zero;
    // The scan that starts here runs backwards, so that the invocations of a chunk take its latents from the end.
    let chunk = CHUNKS - 1u - group.x;
    let place = WG - 1u - id.x;
    let first = chunk * CHUNK + place * PER;
    let carry = incoming(p, b, PATH_SCAN, chunk, id.x);
    var reached = powers_of_eight(p, place) * carry;
    var before = reached;
    if (place > 0u && first <= DIM) {
        before += path[at(U, b, first - 1u)];
    }
    var u: array<f32, 8>;
    for (var m = 0u; m < PER; m++) {
        reached *= p.rho;
        u[m] = 0.0;
        if (first + m < DIM) {
            u[m] = path[at(U, b, first + m)] + reached;
        }
    }
    // A neighbour has read the unfinished value by now.
    storageBarrier();
    workgroupBarrier();
    var v: array<f32, 8>;
    for (var m = 0u; m < PER; m++) {
        let t = first + m;
        v[PER - 1u - m] = 0.0;
        if (t < DIM) {
            v[PER - 1u - m] = meet(p, b, t, u[m], before);
            before = u[m];
        }
    }
    scan(p, b, SITE_SCAN, group.x, id.x, &v);
    for (var m = 0u; m < PER; m++) {
        if (first + m < DIM) {
            path[at(SCAN, b, first + m)] = v[PER - 1u - m];
        }
    }
    finish_sums(b, group.x, id.x);
}

fn meet(p: Prior, b: u32, t: u32, u: f32, before: f32) -> f32 {
    path[at(U, b, t)] = u;
    let eta = p.mean_high + (u + p.mean_low);
    let s = site(sites[t], eta);
    tally(0u, s.x);
    tally(1u, s.y);
    path[at(G, b, t)] = s.y;
    field[b * DIM + t] = select(u, eta, REPORT_MEAN != 0u);
    let e = path[at(E, b, t)];
    if (t == 0u) {
        let standard = p.first_ratio * e;
        tally(3u, standard * standard);
    } else {
        let standard = p.excess * before + p.scale_ratio * e;
        tally(2u, standard * standard);
        tally(4u, standard * before);
    }
    let information = select(p.kappa, p.end, t == 0u || t == DIM - 1u);
    return s.y - information * u;
}
