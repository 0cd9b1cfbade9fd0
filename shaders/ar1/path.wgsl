// Finishes the shift, e = z + T's, and scans forwards: u[t] = rho u[t-1] + diagonal e[t].
@group(0) @binding(3) var<storage, read> state: array<f32>;

@compute @workgroup_size(WG)
fn main(@builtin(workgroup_id) group: vec3u, @builtin(local_invocation_id) id: vec3u) {
    let b = group.y;
    if (group.x >= chunks_of(b)) {
        return;
    }
    let length = prior[b].length;
    zero = prior[b].zero;
    let rho = prior[b].rho;
    let first = group.x * CHUNK + id.x * PER;
    var reached = reaching(b, SHIFT_SCAN, chunks_of(b) - 1u - group.x, WG - 1u - id.x, id.x);
    var v: array<vec2f, 8>;
    for (var m = PER; m > 0u; m--) {
        let t = first + m - 1u;
        reached = multiply(rho, reached);
        v[m - 1u] = vec2f(0.0);
        if (t < length) {
            let shift = join(vec2f(path[at(SHIFT, b, t)], path[at(SHIFT_LOW, b, t)]), reached);
            let e = join(vec2f(state[at(0u, b, t)], 0.0), multiply(diagonal(b, t), shift));
            path[at(SHIFT, b, t)] = shift.x;
            path[at(E, b, t)] = e.x;
            path[at(E_LOW, b, t)] = e.y;
            v[m - 1u] = multiply(diagonal(b, t), e);
        }
    }
    scan(b, PATH_SCAN, group.x, id.x, &v);
    for (var m = 0u; m < PER; m++) {
        if (first + m < length) {
            path[at(U, b, first + m)] = v[m].x;
            path[at(U_LOW, b, first + m)] = v[m].y;
        }
    }
}
