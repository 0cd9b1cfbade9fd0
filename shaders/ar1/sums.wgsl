// Where this workgroup's sums go: beside those of the other stages.
const ALL_SUMS: u32 = 12u + OWN;

fn finish_sums(b: u32, chunk: u32, local: u32) {
    reduce(local, (b * CHUNKS + chunk) * ALL_SUMS + FIRST_SUM);
}
