//! Computes exponential, logarithm, sine and cosine without a branch, so that a loop over a slice becomes vector code.
//!
//! The system library is called once per number and cannot be vectorised; it also differs between platforms. These
//! functions use only addition, multiplication, division, bit operations and selects. There is no fused
//! multiply-add and no 64-bit integer conversion (AVX2 has none), so each result is the same to the last bit on every
//! machine, whichever instruction set a loop was compiled for.
//!
//! Each argument is brought into a short interval around the point where the function is simple, and the rest is a
//! polynomial:
//!
//! * `exp x = 2^k exp r` with `r = x - k ln 2`, `|r| <= ln 2 / 2`, and, from `coth(r/2) = (exp r + 1) / (exp r - 1)`,
//!   `exp r = 1 + 2 r / (r coth(r/2) - r)`, where `r coth(r/2) = 2 + r^2 E(r^2)` is even and so takes half the terms;
//! * `ln x = k ln 2 + ln m` with `m` in `[sqrt(1/2), sqrt 2)`, and, for `f = m - 1` and `s = f / (2 + f)`,
//!   `ln m = 2 artanh s = 2 s + s^3 L(s^2) = f - s (f - s^2 L(s^2))`, since `2 s = f - s f`;
//! * `sin 2 pi u` and `cos 2 pi u` with `u = q/4 + r`, `|r| <= 1/8`, are, up to order and sign according to `q`,
//!   `sin 2 pi r = r (2 pi + r^2 S(r^2))` and `cos 2 pi r = 1 + r^2 C(r^2)`.
//!
//! In each formula the leading terms are exact, or nearly so, and the polynomial is a small correction: its rounding
//! errors count for little, and the result keeps its relative accuracy next to the zeros of `ln` and `sin`.
//!
//! # Coefficients
//!
//! `E`, `L`, `S` and `C` were fitted for this crate in 40-digit arithmetic with the exchange algorithm of Remez, which
//! makes the largest error as small as the degree allows. The error made small is the relative one of the function, not
//! of its polynomial: the fit carries the weight `z / cos 2 pi r` for `C`, and likewise for the others. Starting at the
//! constant term, each coefficient was rounded to a double and those after it fitted again, so that they absorb most
//! of what the rounding changed. Each table states degree, interval, and the largest relative error of the function
//! found on a fine grid with the rounded coefficients; half a unit in the last place is between `2^-54` and `2^-53`.

use std::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E, TAU};

/// `1.5 * 2^52`: adding it rounds a number below `2^51` in size to an integer, which then stands in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0;
/// `2^52`, whose bits joined with those of an integer `n < 2^52` are the float `2^52 + n`.
const TWO_52: f64 = 4_503_599_627_370_496.0;
/// The upper 42 bits of `ln 2`: with the 11 bits of an exponent they make an exact product.
const LN_2_HIGH: f64 = f64::from_bits(LN_2.to_bits() >> 11 << 11);
/// `ln 2 - LN_2_HIGH`; the number is `ln 2 - LN_2`, what a double leaves out.
const LN_2_LOW: f64 = (LN_2 - LN_2_HIGH) + 2.319_046_813_846_299_6e-17;
/// `2 pi - TAU`, what a double leaves out.
const TAU_LOW: f64 = 2.449_293_598_294_706_4e-16;
/// The bits below the exponent.
const MANTISSA: u64 = (1 << 52) - 1;

/// `E(z)`, the rest of `r coth(r/2)` after 2: degree 4 on `0 <= z <= 0.1204`, which is `0.347^2`, error `2^-62.2`.
const EXP: [f64; 5] = [
    1.666_666_666_666_655_5e-1,
    -2.777_777_777_669_433_6e-3,
    6.613_756_248_929_916e-5,
    -1.653_383_531_937_707_2e-6,
    4.135_963_720_342_006_6e-8,
];
/// `L(z)`, the rest of `2 artanh s` after `2 s`: degree 6 on `0 <= z <= 0.02944`, which is `(3 - sqrt 8)^2`, error
/// `2^-59.5`.
const LN: [f64; 7] = [
    0.666_666_666_666_673_4,
    0.399_999_999_994_170_6,
    0.285_714_287_418_888_66,
    0.222_221_986_220_880_4,
    0.181_835_618_793_955_66,
    0.153_141_111_013_631_31,
    0.147_953_617_424_513_02,
];
/// `S(z)`, the rest of `sin 2 pi r` after `2 pi r`: degree 5 on `0 <= z <= 1/64`, error `2^-57.9`.
const SIN: [f64; 6] = [
    -41.341_702_240_399_67,
    81.605_249_275_963_79,
    -76.705_859_707_432_48,
    42.058_685_327_347_28,
    -15.093_818_534_138_398,
    3.781_125_465_442_006,
];
/// `C(z)`, the rest of `cos 2 pi r` after 1: degree 6 on `0 <= z <= 1/64`, error `2^-61.4`.
const COS: [f64; 7] = [
    -19.739_208_802_178_716,
    64.939_394_022_666_68,
    -85.456_817_205_989_25,
    60.244_641_227_235_56,
    -26.426_241_132_184_145,
    7.902_629_256_824_34,
    -1.688_297_714_603_105,
];

/// Returns `e^x` to within 1.5 units in the last place, with the limits of the system library: infinity above
/// 709.78, gradual underflow to zero below -745.13, and NaN for NaN.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    // Beyond these bounds the result is infinity or zero anyway. Written as comparisons because these, unlike
    // `f64::clamp` in vector code, let a NaN through at the price of one instruction each.
    let x = if x > 710.0 { 710.0 } else { x };
    let x = if x < -746.0 { -746.0 } else { x };
    // The low bits of `shifted` are k + 2 * 1023, an exponent field for each of two factors of 2^k; two, because 2^k
    // itself may be beyond the range of normal numbers when the result is not.
    const SHIFT: f64 = ROUND + 2.0 * 1023.0;
    let shifted = x * LOG2_E + SHIFT;
    let k = shifted - SHIFT;
    let r = x - k * LN_2_HIGH - k * LN_2_LOW;
    let z = r * r;
    let mantissa = 1.0 + (r + r) / (2.0 + z * polynomial(z, &EXP) - r);
    let half = (shifted.to_bits() & !1) << 51;
    let rest = (shifted.to_bits() << 52).wrapping_sub(half);
    mantissa * f64::from_bits(half) * f64::from_bits(rest)
}

/// Returns the natural logarithm of a positive normal number to within one unit in the last place.
///
/// Zero, subnormal, infinite, negative and NaN arguments give a meaningless finite number.
#[inline(always)]
pub fn ln(x: f64) -> f64 {
    let sqrt_half = FRAC_1_SQRT_2.to_bits();
    // Moves the boundary between two exponents from 1 to sqrt(1/2), so that a number just below 1 has exponent 0.
    let shifted = x.to_bits().wrapping_add(1.0f64.to_bits() - sqrt_half);
    let k = f64::from_bits((shifted >> 52) | TWO_52.to_bits()) - (TWO_52 + 1023.0);
    let m = f64::from_bits((shifted & MANTISSA).wrapping_add(sqrt_half));
    let f = m - 1.0;
    let s = f / (2.0 + f);
    let z = s * s;
    let correction = s * (f - z * polynomial(z, &LN));
    // Summed from the small terms to the large ones.
    k * LN_2_LOW - correction + f + k * LN_2_HIGH
}

/// Returns `log(1 + x)` for a finite `x >= 0` to within four units in the last place, also where `1 + x` rounds to 1; NaN for NaN and
/// infinity.
#[inline(always)]
pub fn ln_1p(x: f64) -> f64 {
    let sum = 1.0 + x;
    // What the sum lost is made up for by the slope of the logarithm, which hardly changes over it.
    let kept = sum - 1.0;
    if kept == 0.0 { x } else { ln(sum) * (x / kept) }
}

/// Returns sine and cosine of `2 pi u` for `u` in `[0, 1)`, to within two units in the last place.
#[inline(always)]
pub fn sin_cos_turns(u: f64) -> (f64, f64) {
    let shifted = 4.0 * u + ROUND;
    let quarter = shifted.to_bits();
    // Exact, because u is within a factor two of the quarter that is taken away.
    let r = u - 0.25 * (shifted - ROUND);
    let z = r * r;
    let sin = r * TAU + r * (TAU_LOW + z * polynomial(z, &SIN));
    let cos = 1.0 + z * polynomial(z, &COS);
    let odd = quarter & 1 != 0;
    let (a, b) = if odd { (cos, sin) } else { (sin, cos) };
    let sign_of_sin = (quarter & 2) << 62;
    let sign_of_cos = (quarter.wrapping_add(1) & 2) << 62;
    (f64::from_bits(a.to_bits() ^ sign_of_sin), f64::from_bits(b.to_bits() ^ sign_of_cos))
}

/// Evaluates a polynomial with the constant term first, as two interleaved Horner chains in `x^2`.
///
/// One chain would be a multiplication shorter but twice as deep, and depth is what these loops wait for.
#[inline(always)]
fn polynomial<const N: usize>(x: f64, coefficients: &[f64; N]) -> f64 {
    let square = x * x;
    let mut same = coefficients[N - 1];
    let mut other = coefficients[N - 2];
    for i in (0..N - 2).rev() {
        (same, other) = (other, same * square + coefficients[i]);
    }
    same * x + other
}

/// The two floats that add up to x to within 2⁻⁴⁸ of it: how double precision reaches a device that has only single.
pub fn two_floats(x: f64) -> [f32; 2] {
    let high = x as f32;
    [high, (x - f64::from(high)) as f32]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The allowed relative error, two units in the last place; the library that it is compared with has half a one.
    const BOUND: f64 = 2.0 * f64::EPSILON;

    fn assert_near(name: &str, x: f64, ours: f64, library: f64) {
        let error = (ours - library).abs();
        assert!(error <= BOUND * library.abs(), "{name}({x:e}): {ours:e}, library {library:e}");
    }

    #[test]
    fn exp_agrees_with_the_library_on_its_whole_range() {
        for i in 0..=1_400_000 {
            let x = -700.0 + 0.001 * f64::from(i) + 1e-5 * f64::from(i).sin();
            assert_near("exp", x, exp(x), x.exp());
        }
        for i in 0..1000 {
            let x = f64::from(i).sin() * 2f64.powi(-(i % 60));
            assert_near("exp", x, exp(x), x.exp());
        }
    }

    #[test]
    fn exp_has_the_limits_of_the_library() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(-0.0), 1.0);
        assert_near("exp", 709.78, exp(709.78), 709.78f64.exp());
        for x in [709.79, 710.0, 1e4, 1e300, f64::INFINITY] {
            assert_eq!(exp(x), f64::INFINITY, "exp({x})");
        }
        for x in [-745.2, -746.0, -1e4, -1e300, f64::NEG_INFINITY] {
            assert_eq!(exp(x), 0.0, "exp({x})");
        }
        assert!(exp(f64::NAN).is_nan() && exp(-f64::NAN).is_nan());
        // Subnormal results have fewer bits: one unit of the smallest number is what rounding may cost.
        for i in 0..3600 {
            let x = -745.13 + 0.01 * f64::from(i);
            let smallest = f64::from_bits(1);
            assert!((exp(x) - x.exp()).abs() <= smallest + BOUND * x.exp(), "exp({x})");
        }
    }

    #[test]
    fn ln_agrees_with_the_library_on_its_whole_range() {
        for i in 0..1_000_000u64 {
            // Steps through all exponents and, by the golden ratio, evenly through the mantissas.
            let exponent = 1 + i % 2046;
            let mantissa = i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 12;
            let x = f64::from_bits(exponent << 52 | mantissa);
            assert_near("ln", x, ln(x), x.ln());
        }
        for i in 0..200_000 {
            let x = 0.6 + 5e-6 * f64::from(i);
            assert_near("ln", x, ln(x), x.ln());
        }
        for x in [1.0, f64::MIN_POSITIVE, f64::MAX, 1.0 - 1e-16, 1.0 + 3e-16, 0.5, 2f64.powi(-33)] {
            assert_near("ln", x, ln(x), x.ln());
        }
    }

    /// Sine and cosine by the library, after the same exact reduction done with branches.
    fn library_sin_cos(u: f64) -> (f64, f64) {
        let quarter = (4.0 * u).round();
        let (sin, cos) = (TAU * (u - quarter / 4.0)).sin_cos();
        match quarter as i32 % 4 {
            0 => (sin, cos),
            1 => (cos, -sin),
            2 => (-sin, -cos),
            _ => (-cos, sin),
        }
    }

    #[test]
    fn sin_and_cos_agree_with_the_library_on_the_circle() {
        for i in 0..1_000_000 {
            let u = (f64::from(i) + 0.37) / 1e6;
            let ((sin, cos), (library_sin, library_cos)) = (sin_cos_turns(u), library_sin_cos(u));
            assert_near("sin", u, sin, library_sin);
            assert_near("cos", u, cos, library_cos);
            // Without any reduction, the rounding of an angle up to 2 pi is what remains.
            assert!((sin - (TAU * u).sin()).abs() <= 4.0 * f64::EPSILON, "sin({u})");
            assert!((cos - (TAU * u).cos()).abs() <= 4.0 * f64::EPSILON, "cos({u})");
        }
    }

    #[test]
    fn quarter_turns_are_exact_and_tiny_angles_keep_their_relative_accuracy() {
        let quarters = [(0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)];
        for (i, expected) in quarters.into_iter().enumerate() {
            assert_eq!(sin_cos_turns(0.25 * i as f64), expected, "{i} quarter turns");
        }
        for u in [1e-300, 1e-20, 2f64.powi(-32), 1.0 - f64::EPSILON] {
            assert_near("sin", u, sin_cos_turns(u).0, library_sin_cos(u).0);
        }
    }

    #[test]
    #[should_panic(expected = "library")]
    fn the_comparison_rejects_an_error_of_four_units() {
        assert_near("exp", 1.0, exp(1.0) * (1.0 + 4.0 * f64::EPSILON), 1.0f64.exp());
    }
}
