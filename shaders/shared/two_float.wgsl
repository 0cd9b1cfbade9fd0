// Adds numbers without losing what single precision drops: a sum is hi + lo, |lo| at most half a unit of hi.
//
// two_sum: Knuth's, exact for any a and b. fast_two_sum: Dekker's, exact if |a| >= |b|.

fn two_sum(a: f32, b: f32) -> vec2f {
    let s = opaque(a + b);
    let bb = opaque(s - a);
    return vec2f(s, (a - opaque(s - bb)) + (b - bb));
}

fn fast_two_sum(a: f32, b: f32) -> vec2f {
    let s = opaque(a + b);
    return vec2f(s, b - opaque(s - a));
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
