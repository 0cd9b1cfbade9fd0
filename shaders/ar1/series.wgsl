// Finishes u, meets the data, and scans g - K u backwards.
//
//   sums: misfit;  g;  standard[t]^2 for t > 0;  standard[0]^2;  standard[t] u[t-1];  derivatives in what the likelihood has of its own
@group(0) @binding(3) var<storage, read> sites: array<vec2f>;
@group(0) @binding(4) var<storage, read_write> field: array<f32>;
@group(0) @binding(5) var<storage, read_write> sums: array<vec2f>;

const SUMS: u32 = 5u + OWN;
const FIRST_SUM: u32 = 0u;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    if (group.x >= chunks_of(b)) {
        return;
    }
    let length = prior[b].length;
    zero = prior[b].zero;
    let rho = prior[b].rho;
    for (var k = 0u; k < OWN; k++) {
        own[k] = prior[b].own[k].xy;
    }
    // The scan that starts here runs backwards, so that the invocations of a chunk take its latents from the end.
    let chunk = chunks_of(b) - 1u - group.x;
    let place = WG - 1u - id.x;
    let first = chunk * CHUNK + place * PER;
    var reached = reaching(b, PATH_SCAN, chunk, place, id.x);
    var before = reached;
    if (place > 0u && first <= length) {
        before = join(before, unfinished(b, first - 1u));
    }
    var u: array<vec2f, 8>;
    for (var m = 0u; m < PER; m++) {
        reached = multiply(rho, reached);
        u[m] = vec2f(0.0);
        if (first + m < length) {
            u[m] = join(unfinished(b, first + m), reached);
        }
    }
    // A neighbour has read the unfinished value by now.
    storageBarrier();
    workgroupBarrier();
    var v: array<vec2f, 8>;
    for (var m = 0u; m < PER; m++) {
        let t = first + m;
        v[PER - 1u - m] = vec2f(0.0);
        if (t < length) {
            v[PER - 1u - m] = vec2f(meet(b, t, u[m], before), 0.0);
            before = u[m];
        }
    }
    scan(b, SITE_SCAN, group.x, id.x, &v);
    for (var m = 0u; m < PER; m++) {
        if (first + m < length) {
            path[at(SCAN, b, first + m)] = v[PER - 1u - m].x;
        }
    }
    finish_sums(b, group.x, id.x);
}

fn unfinished(b: u32, t: u32) -> vec2f {
    return vec2f(path[at(U, b, t)], path[at(U_LOW, b, t)]);
}

fn meet(b: u32, t: u32, u: vec2f, before: vec2f) -> f32 {
    path[at(U, b, t)] = u.x;
    let eta = join(prior[b].mean, u);
    for (var k = 0u; k < OWN; k++) {
        by_own[k] = vec2f(0.0);
    }
    let s = site(sites[prior[b].datum + t], eta);
    tally_pair(0u, s.xy);
    tally(1u, s.z);
    for (var k = 0u; k < OWN; k++) {
        tally_pair(5u + k, by_own[k]);
    }
    path[at(G, b, t)] = s.z;
    field[b * DIM + t] = select(u.x, eta.x, REPORT_MEAN != 0u);
    let e = vec2f(path[at(E, b, t)], path[at(E_LOW, b, t)]);
    if (t == 0u) {
        let standard = multiply(prior[b].first_ratio, e);
        tally_pair(3u, multiply(standard, standard));
    } else {
        let standard = join(multiply(prior[b].excess, before), multiply(prior[b].scale_ratio, e));
        tally_pair(2u, multiply(standard, standard));
        tally(4u, standard.x * before.x);
    }
    let information = select(prior[b].kappa, prior[b].end, t == 0u || t == prior[b].length - 1u);
    return s.z - information * u.x;
}
