// Runs c <- rho c + x in two floats over a series cut into chunks of CHUNK: each workgroup its own, then all together.
//
// A chunk's scan starts from zero and leaves its last value in `ends`. Who reads the scan later adds what came before: the
// value that reached the chunk, times rho^(steps since). Positions count along the direction of the scan.
@group(0) @binding(2) var<storage, read_write> ends: array<vec2f>;

// Scans: of the shift backwards, of e forwards, of the sites backwards, of the gradient forwards.
const SHIFT_SCAN: u32 = 0u;
const PATH_SCAN: u32 = 1u;
const SITE_SCAN: u32 = 2u;
const GRADIENT_SCAN: u32 = 3u;

// Latents of an invocation; a workgroup has CHUNK = PER WG.
const PER: u32 = 8u;

// rho^(8 2^k).
fn power(b: u32, k: u32) -> vec2f {
    let two = prior[b].powers[k / 2u];
    return select(two.xy, two.zw, (k & 1u) == 1u);
}

// rho^(8 count).
fn power_of_eights(b: u32, count: u32) -> vec2f {
    var product = vec2f(1.0, 0.0);
    var left = count;
    for (var k = 0u; left != 0u && k < 24u; k++) {
        if ((left & 1u) != 0u) {
            product = multiply(product, power(b, k));
        }
        left >>= 1u;
    }
    return product;
}

// Scans the eight numbers of each invocation in place, from zero; position counts invocations along the scan.
fn scan(b: u32, which: u32, chunk: u32, position: u32, v: ptr<function, array<vec2f, 8>>) {
    let rho = prior[b].rho;
    var last = vec2f(0.0);
    for (var m = 0u; m < PER; m++) {
        last = join((*v)[m], multiply(rho, last));
        (*v)[m] = last;
    }
    workgroupBarrier();
    cells[position] = last;
    workgroupBarrier();
    for (var k = 0u; (1u << k) < WG; k++) {
        let reach = 1u << k;
        var sum = cells[position];
        if (position >= reach) {
            sum = join(sum, multiply(power(b, k), cells[position - reach]));
        }
        workgroupBarrier();
        cells[position] = sum;
        workgroupBarrier();
    }
    if (position > 0u) {
        var carry = cells[position - 1u];
        for (var m = 0u; m < PER; m++) {
            carry = multiply(rho, carry);
            (*v)[m] = join((*v)[m], carry);
        }
    }
    if (position == WG - 1u) {
        ends[(which * CHAINS + b) * CHUNKS + chunk] = (*v)[PER - 1u];
    }
}

// What reaches the place `position` of chunk number `chunk` along a scan from the chunks before it.
fn reaching(b: u32, which: u32, chunk: u32, position: u32, local: u32) -> vec2f {
    var sum = vec2f(0.0);
    for (var i = local; i < chunk; i += WG) {
        let weight = power_of_eights(b, (chunk - 1u - i) * WG);
        sum = join(sum, multiply(weight, ends[(which * CHAINS + b) * CHUNKS + i]));
    }
    workgroupBarrier();
    cells[local] = sum;
    workgroupBarrier();
    for (var half = WG / 2u; half > 0u; half /= 2u) {
        if (local < half) {
            cells[local] = join(cells[local], cells[local + half]);
        }
        workgroupBarrier();
    }
    let total = cells[0];
    workgroupBarrier();
    return multiply(power_of_eights(b, position), total);
}
