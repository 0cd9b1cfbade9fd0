// e^v in two floats, good to 4e-9, and to 1e-10 on average: an error of the last digit of single precision, were it only of one sign on
// average, would be felt in the sum over a million sites.

// ln 2 = LN2_HI + LN2_LO + LN2_LEAST, the first of so few digits that its multiples are exact.
const LN2_LEAST: f32 = 1.646594958e-12;

// 0 below -87 and infinite above 88.7, NaN for NaN.
fn exponential_pair(v: vec2f) -> vec2f {
    let bits = bitcast<u32>(v.x) & 0x7fffffffu;
    if (bits > 0x7f800000u) {
        return v;
    }
    if (v.x > 88.72) {
        return vec2f(bitcast<f32>(0x7f800000u ^ zero), 0.0);
    }
    if (v.x < -87.0) {
        return vec2f(0.0);
    }
    let k = round(v.x * 1.44269504);
    let least = two_product(k, LN2_LO);
    var r = two_sum(v.x, -opaque(k * LN2_HI));
    r = join(r, -least);
    r = fast_two_sum(r.x, r.y + (v.y - k * LN2_LEAST));
    // r^3/6 and beyond is so small that single precision will do.
    let x = r.x;
    var p = 2.48015873e-5;
    p = p * x + 1.98412698e-4;
    p = p * x + 1.38888889e-3;
    p = p * x + 8.33333333e-3;
    p = p * x + 4.16666667e-2;
    p = p * x + 1.66666667e-1;
    let square = two_product(x, x);
    let cube = square.x * x * p + x * r.y;
    var e = two_sum(x, 0.5 * square.x);
    e = join(e, two_sum(cube, r.y + 0.5 * square.y));
    e = join(vec2f(1.0, 0.0), e);
    // Two factors, because 2^128 is not a number.
    let half = i32(k) / 2;
    let rest = i32(k) - half;
    return (e * bitcast<f32>(u32(half + 127) << 23u)) * bitcast<f32>(u32(rest + 127) << 23u);
}
