// Adds up one two-float per invocation of the workgroup, in the shared memory `cells`; the result is in `cells[0]`.
//
// Barriers: call from uniform control flow. WG is a power of two.
fn reduce(local: u32, sum: vec2f) -> vec2f {
    workgroupBarrier();
    cells[local] = sum;
    workgroupBarrier();
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        if (local < half) {
            cells[local] = join(cells[local], cells[local + half]);
        }
        workgroupBarrier();
    }
    return cells[0];
}
