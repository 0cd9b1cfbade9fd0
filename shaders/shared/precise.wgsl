// Elementary functions in two floats. e^v is good to 4e-9, and to 1e-10 on average: an error of the last digit of single precision, were it only of one sign on
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

// a/b for b not zero.
fn divide(a: vec2f, b: vec2f) -> vec2f {
    let q = opaque(a.x / b.x);
    let rest = join(a, -multiply(vec2f(q, 0.0), b));
    return fast_two_sum(q, rest.x / b.x);
}

// log v for a positive normal number, as good as the exponential: one step of Newton's from the logarithm in one float.
fn logarithm_pair(v: f32) -> vec2f {
    let near = logarithm(v);
    let rest = join(multiply(vec2f(v, 0.0), exponential_pair(vec2f(-near, 0.0))), vec2f(-1.0, 0.0));
    return fast_two_sum(near, rest.x);
}

// log(1 + x) for 0 <= x <= 1, good to 4e-9 of it however small: 2 artanh s with s = x/(2 + x), at most a third. s^5/5 and beyond is so small
// that single precision will do.
fn logarithm_1p_pair(x: vec2f) -> vec2f {
    let s = divide(x, join(vec2f(2.0, 0.0), x));
    let square = multiply(s, s);
    let cube = multiply(square, s);
    var p = 5.26315789e-2;
    p = p * square.x + 5.88235294e-2;
    p = p * square.x + 6.66666667e-2;
    p = p * square.x + 7.69230769e-2;
    p = p * square.x + 9.09090909e-2;
    p = p * square.x + 1.11111111e-1;
    p = p * square.x + 1.42857143e-1;
    p = p * square.x + 2.00000000e-1;
    // A third in two floats.
    let third = multiply(cube, vec2f(0.33333334, -9.934108e-9));
    return 2.0 * join(s, add(third, cube.x * square.x * p));
}
