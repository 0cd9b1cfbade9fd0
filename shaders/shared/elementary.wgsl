// Elementary functions good to about one unit in the last place; the built-in ones are allowed to be far worse.

const LN2_HI: f32 = 0.693359375;
const LN2_LO: f32 = -2.12194440e-4;

// e^v by Cody and Waite's reduction; 0 below -87 and infinite above 88.7, NaN for NaN.
fn exponential(v: f32) -> f32 {
    let bits = bitcast<u32>(v) & 0x7fffffffu;
    if (bits > 0x7f800000u) {
        return v;
    }
    if (v > 88.72) {
        return bitcast<f32>(0x7f800000u ^ zero);
    }
    if (v < -87.0) {
        return 0.0;
    }
    let k = round(v * 1.44269504);
    var r = opaque(v - opaque(k * LN2_HI));
    r = opaque(r - opaque(k * LN2_LO));
    var p = 1.9875691500e-4;
    p = p * r + 1.3981999507e-3;
    p = p * r + 8.3334519073e-3;
    p = p * r + 4.1665795894e-2;
    p = p * r + 1.6666665459e-1;
    p = p * r + 5.0000001201e-1;
    let e = opaque(p * (r * r) + r) + 1.0;
    // Two factors, because 2^128 is not a number and e may be below one half of the result.
    let half = i32(k) / 2;
    let rest = i32(k) - half;
    return (e * bitcast<f32>(u32(half + 127) << 23u)) * bitcast<f32>(u32(rest + 127) << 23u);
}

// log v for a positive normal number.
fn logarithm(v: f32) -> f32 {
    let bits = bitcast<u32>(v);
    var e = i32(bits >> 23u) - 126;
    var m = bitcast<f32>((bits & 0x007fffffu) | 0x3f000000u);
    if (m < 0.70710678) {
        e -= 1;
        m = opaque(m + m) - 1.0;
    } else {
        m = m - 1.0;
    }
    let square = m * m;
    var p = 7.0376836292e-2;
    p = p * m - 1.1514610310e-1;
    p = p * m + 1.1676998740e-1;
    p = p * m - 1.2420140846e-1;
    p = p * m + 1.4249322787e-1;
    p = p * m - 1.6668057665e-1;
    p = p * m + 2.0000714765e-1;
    p = p * m - 2.4999993993e-1;
    p = p * m + 3.3333331174e-1;
    let scale = f32(e);
    var r = opaque(m * square * p);
    r = opaque(r + opaque(scale * LN2_LO));
    r = opaque(r - opaque(0.5 * square));
    return opaque(m + r) + opaque(scale * LN2_HI);
}

// log(1 + x) for x >= 0, also where 1 + x rounds to 1.
fn logarithm_1p(x: f32) -> f32 {
    let u = opaque(1.0 + x);
    let d = opaque(u - 1.0);
    if (d == 0.0) {
        return x;
    }
    return logarithm(u) * (x / d);
}

// (cos, sin) of a turn given in units of 2^-32 of a circle, by symmetry from an angle of at most an eighth.
fn circle(word: u32) -> vec2f {
    // Nearest multiple of a quarter turn, and what is left, as a signed fraction of a turn.
    let quarter = (word + 0x20000000u) >> 30u;
    let left = bitcast<i32>(word - (quarter << 30u));
    let a = f32(left) * 1.4629180792671596e-9;
    let q = a * a;
    let s = a + a * q * (-1.6666654611e-1 + q * (8.3321608736e-3 + q * -1.9515295891e-4));
    let c = 1.0 - 0.5 * q + q * q * (4.166664568298827e-2 + q * (-1.388731625493765e-3 + q * 2.443315711809948e-5));
    switch (quarter & 3u) {
        case 0u: { return vec2f(c, s); }
        case 1u: { return vec2f(-s, c); }
        case 2u: { return vec2f(-c, -s); }
        default: { return vec2f(s, -c); }
    }
}
