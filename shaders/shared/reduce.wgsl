// Adds up the SUMS two-floats of every invocation of a workgroup in the shared memory `cells`, which must have room for SUMS x WG.
//
// The sums are in cells[k WG] afterwards. Barriers: call from uniform control flow. WG is a power of two.
var<private> total: array<vec2f, SUMS>;

// Adds a number to a sum of this invocation.
fn tally(k: u32, x: f32) {
    total[k] = add(total[k], x);
}

// Adds a two-float to a sum of this invocation.
fn tally_pair(k: u32, x: vec2f) {
    total[k] = join(total[k], x);
}

fn reduce(local: u32) {
    workgroupBarrier();
    for (var k = 0u; k < SUMS; k++) {
        cells[k * WG + local] = total[k];
    }
    workgroupBarrier();
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        if (local < half) {
            for (var k = 0u; k < SUMS; k++) {
                let at = k * WG + local;
                cells[at] = join(cells[at], cells[at + half]);
            }
        }
        workgroupBarrier();
    }
}
