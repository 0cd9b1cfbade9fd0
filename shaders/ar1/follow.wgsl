// Finishes T y, and adds up what the shift says about the hyperparameters.
//
//   sums: shift[t] (T y)[t-1];  T y
@group(0) @binding(3) var<storage, read_write> sums: array<vec2f>;

const SUMS: u32 = 2u;
const FIRST_SUM: u32 = 10u + OWN;

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
    var reached = reaching(b, GRADIENT_SCAN, group.x, id.x, id.x);
    var before = reached.x;
    if (id.x > 0u && first <= length) {
        before += path[at(SCAN, b, first - 1u)];
    }
    for (var m = 0u; m < PER; m++) {
        let t = first + m;
        reached = multiply(rho, reached);
        if (t < length) {
            let now = path[at(SCAN, b, t)] + reached.x;
            if (t > 0u) {
                tally(0u, path[at(SHIFT, b, t)] * before);
            }
            tally(1u, now);
            before = now;
        }
    }
    finish_sums(b, group.x, id.x);
}
