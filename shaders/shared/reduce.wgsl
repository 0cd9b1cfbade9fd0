// Adds up the SUMS two-floats of every invocation of a workgroup in the shared memory `cells`, as many at a time as it has room for, and writes
// them to `sums`, one after the other.
//
// Barriers: call from uniform control flow. WG is a power of two, and not less than SUMS.
var<private> total: array<vec2f, SUMS>;

// Adds a number to a sum of this invocation.
fn tally(k: u32, x: f32) {
    total[k] = add(total[k], x);
}

// Adds a two-float to a sum of this invocation.
fn tally_pair(k: u32, x: vec2f) {
    total[k] = join(total[k], x);
}

fn reduce(local: u32, to: u32) {
    for (var first = 0u; first < SUMS; first += CELLS / WG) {
        let count = min(CELLS / WG, SUMS - first);
        workgroupBarrier();
        for (var k = 0u; k < count; k++) {
            cells[k * WG + local] = total[first + k];
        }
        workgroupBarrier();
        for (var half = WG / 2u; half > 0u; half /= 2u) {
            if (local < half) {
                for (var k = 0u; k < count; k++) {
                    let at = k * WG + local;
                    cells[at] = join(cells[at], cells[at + half]);
                }
            }
            workgroupBarrier();
        }
        if (local < count) {
            sums[to + first + local] = cells[local * WG];
        }
    }
}
