// Writes this workgroup's sums beside those of the other stages.
const ALL_SUMS: u32 = 12u;

fn finish_sums(b: u32, chunk: u32, local: u32) {
    reduce(local);
    if (local < SUMS) {
        sums[(b * CHUNKS + chunk) * ALL_SUMS + FIRST_SUM + local] = cells[local * WG];
    }
}
