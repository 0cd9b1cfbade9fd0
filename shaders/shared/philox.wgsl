// Philox4x32-10, bit for bit that of src/random/philox.rs; products from 16-bit limbs, as there is no wide multiply.

fn high_low(a: u32, b: u32) -> vec2u {
    let al = a & 0xffffu;
    let ah = a >> 16u;
    let bl = b & 0xffffu;
    let bh = b >> 16u;
    let lh = al * bh;
    let hl = ah * bl;
    let middle = ((al * bl) >> 16u) + (lh & 0xffffu) + (hl & 0xffffu);
    return vec2u(ah * bh + (lh >> 16u) + (hl >> 16u) + (middle >> 16u), a * b);
}

fn philox(counter: vec4u, seed: vec2u) -> vec4u {
    var c = counter;
    var k = seed;
    for (var round = 0u; round < 10u; round++) {
        let p0 = high_low(0xD2511F53u, c.x);
        let p1 = high_low(0xCD9E8D57u, c.z);
        c = vec4u(p1.x ^ c.y ^ k.x, p1.y, p0.x ^ c.w ^ k.y, p0.y);
        k += vec2u(0x9E3779B9u, 0xBB67AE85u);
    }
    return c;
}

// Two standard normals from two words (Box and Muller): the radius from the first, the angle from the second.
fn normals(w0: u32, w1: u32) -> vec2f {
    // -log((w0 + 1/2) / 2^32). Near one the fraction is taken from the other end, where it keeps its digits.
    var minus_log: f32;
    if (w0 < 0x80000000u) {
        minus_log = 22.18070977791825 - logarithm(fraction(w0));
    } else {
        minus_log = -logarithm_1m(fraction(~w0) * 2.3283064365386963e-10);
    }
    let radius = sqrt(2.0 * minus_log);
    return radius * circle(w1);
}

// w + 1/2, rounded once.
fn fraction(w: u32) -> f32 {
    return f32(w >> 12u) * 4096.0 + (f32(w & 0xfffu) + 0.5);
}

// log(1 - x) for 0 < x <= 1/2.
fn logarithm_1m(x: f32) -> f32 {
    let u = opaque(1.0 - x);
    let d = opaque(1.0 - u);
    if (d == 0.0) {
        return -x;
    }
    return logarithm(u) * (x / d);
}
