// Computes without losing what single precision drops: a number is hi + lo, |lo| at most half a unit of hi.
//
// two_sum: Knuth's, exact for any a and b. fast_two_sum: Dekker's, exact if |a| >= |b|. two_product: exact, from halves of twelve
// bits; a fused multiply-add would be shorter, but drivers may do it in two roundings.

fn two_sum(a: f32, b: f32) -> vec2f {
    let s = opaque(a + b);
    let bb = opaque(s - a);
    return vec2f(s, (a - opaque(s - bb)) + (b - bb));
}

fn fast_two_sum(a: f32, b: f32) -> vec2f {
    let s = opaque(a + b);
    return vec2f(s, b - opaque(s - a));
}

fn halves(a: f32) -> vec2f {
    let high = bitcast<f32>(bitcast<u32>(a) & 0xfffff000u);
    return vec2f(high, a - high);
}

fn two_product(a: f32, b: f32) -> vec2f {
    let p = opaque(a * b);
    let s = halves(a);
    let t = halves(b);
    let rest = opaque(opaque(s.x * t.x) - p) + opaque(s.x * t.y);
    return vec2f(p, opaque(rest + opaque(s.y * t.x)) + opaque(s.y * t.y));
}

// Adds a number to a running sum.
fn add(sum: vec2f, x: f32) -> vec2f {
    let t = two_sum(sum.x, x);
    return vec2f(t.x, sum.y + t.y);
}

// Adds two sums.
fn join(a: vec2f, b: vec2f) -> vec2f {
    let s = two_sum(a.x, b.x);
    return fast_two_sum(s.x, s.y + (a.y + b.y));
}

fn multiply(a: vec2f, b: vec2f) -> vec2f {
    let p = two_product(a.x, b.x);
    return fast_two_sum(p.x, p.y + (a.x * b.y + a.y * b.x));
}
