// Runs c <- rho c + x over a series cut into chunks of CHUNK: each workgroup its own, then all together.
//
// A chunk's scan starts from zero and leaves its last value in `ends`. Who reads the scan later adds what came before: the
// value that reached the chunk, times rho^(steps since). Positions count along the direction of the scan.

fn power(p: Prior, k: u32) -> f32 {
    return p.powers[k / 4u][k % 4u];
}

// rho^(8 count), count below 2 WG.
fn powers_of_eight(p: Prior, count: u32) -> f32 {
    var product = 1.0;
    for (var k = 0u; k < 8u; k++) {
        if (((count >> k) & 1u) != 0u) {
            product *= power(p, k);
        }
    }
    return product;
}

// Scans the eight numbers of each invocation in place, from zero; position counts invocations along the scan.
fn scan(p: Prior, b: u32, which: u32, chunk: u32, position: u32, v: ptr<function, array<f32, 8>>) {
    var last = 0.0;
    for (var m = 0u; m < PER; m++) {
        last = (*v)[m] + p.rho * last;
        (*v)[m] = last;
    }
    workgroupBarrier();
    cells[position] = vec2f(last, 0.0);
    workgroupBarrier();
    for (var k = 0u; (1u << k) < WG; k++) {
        let reach = 1u << k;
        var sum = cells[position].x;
        if (position >= reach) {
            sum += power(p, k) * cells[position - reach].x;
        }
        workgroupBarrier();
        cells[position] = vec2f(sum, 0.0);
        workgroupBarrier();
    }
    if (position > 0u) {
        var carry = cells[position - 1u].x;
        for (var m = 0u; m < PER; m++) {
            carry *= p.rho;
            (*v)[m] += carry;
        }
    }
    if (position == WG - 1u) {
        ends[(which * CHAINS + b) * CHUNKS + chunk] = (*v)[PER - 1u];
    }
}

// What reaches chunk number `chunk` along a scan from those before it.
fn incoming(p: Prior, b: u32, which: u32, chunk: u32, local: u32) -> f32 {
    var sum = 0.0;
    for (var i = local; i < chunk; i += WG) {
        let steps = chunk - 1u - i;
        let weight = exponential(f32(steps) * p.log_chunk);
        sum += weight * ends[(which * CHAINS + b) * CHUNKS + i];
    }
    workgroupBarrier();
    cells[local] = vec2f(sum, 0.0);
    workgroupBarrier();
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        if (local < half) {
            cells[local] += cells[local + half];
        }
        workgroupBarrier();
    }
    let total = cells[0].x;
    workgroupBarrier();
    return total;
}
