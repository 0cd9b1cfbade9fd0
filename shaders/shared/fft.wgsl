// Transforms a line of N points, N a power of two from 8 up, with N/8 invocations of 8 points each.
//
// Invocation t enters with points t + k N/8 and leaves with the same points of
//   X[m] = sum over j of x[j] e^(-2 pi i j m / N)
// in the registers v. Stockham passes of radix 8 and a last one of 2 or 4, exchanged through `cells`; `twiddle[j]` is
// e^(-2 pi i j / N), rounded from f64. The inverse is the conjugate of the transform of the conjugate.

fn times(a: vec2f, b: vec2f) -> vec2f {
    return vec2f(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}

// a times -i.
fn quarter_turn(a: vec2f) -> vec2f {
    return vec2f(a.y, -a.x);
}

fn conjugate(a: vec2f) -> vec2f {
    return vec2f(a.x, -a.y);
}

struct Four {
    a: vec2f,
    b: vec2f,
    c: vec2f,
    d: vec2f,
}

fn dft4(a: vec2f, b: vec2f, c: vec2f, d: vec2f) -> Four {
    let even = a + c;
    let odd = a - c;
    let sum = b + d;
    let turned = quarter_turn(b - d);
    return Four(even + sum, odd + turned, even - sum, odd - turned);
}

fn dft8(v: ptr<function, array<vec2f, 8>>) {
    const r: f32 = 0.70710678118654752;
    let even = dft4((*v)[0], (*v)[2], (*v)[4], (*v)[6]);
    let odd = dft4((*v)[1], (*v)[3], (*v)[5], (*v)[7]);
    let b = r * (odd.b + quarter_turn(odd.b));
    let c = quarter_turn(odd.c);
    let d = r * (quarter_turn(odd.d) - odd.d);
    (*v)[0] = even.a + odd.a;
    (*v)[1] = even.b + b;
    (*v)[2] = even.c + c;
    (*v)[3] = even.d + d;
    (*v)[4] = even.a - odd.a;
    (*v)[5] = even.b - b;
    (*v)[6] = even.c - c;
    (*v)[7] = even.d - d;
}

fn exchange(v: ptr<function, array<vec2f, 8>>, base: u32, out: u32, stride: u32, t: u32) {
    workgroupBarrier();
    cells[base + out] = (*v)[0];
    cells[base + out + stride] = (*v)[1];
    cells[base + out + 2u * stride] = (*v)[2];
    cells[base + out + 3u * stride] = (*v)[3];
    cells[base + out + 4u * stride] = (*v)[4];
    cells[base + out + 5u * stride] = (*v)[5];
    cells[base + out + 6u * stride] = (*v)[6];
    cells[base + out + 7u * stride] = (*v)[7];
    workgroupBarrier();
    take(v, base, t);
}

// Reads this invocation's eight points from the line at `base`.
fn take(v: ptr<function, array<vec2f, 8>>, base: u32, t: u32) {
    let step = N / 8u;
    (*v)[0] = cells[base + t];
    (*v)[1] = cells[base + t + step];
    (*v)[2] = cells[base + t + 2u * step];
    (*v)[3] = cells[base + t + 3u * step];
    (*v)[4] = cells[base + t + 4u * step];
    (*v)[5] = cells[base + t + 5u * step];
    (*v)[6] = cells[base + t + 6u * step];
    (*v)[7] = cells[base + t + 7u * step];
}

fn transform(v: ptr<function, array<vec2f, 8>>, base: u32, t: u32) {
    var ns = 1u;
    while (ns * 8u <= N) {
        let m = t % ns;
        if (ns > 1u) {
            let j = m * (N / (ns * 8u));
            (*v)[1] = times((*v)[1], twiddle[j]);
            (*v)[2] = times((*v)[2], twiddle[2u * j]);
            (*v)[3] = times((*v)[3], twiddle[3u * j]);
            (*v)[4] = times((*v)[4], twiddle[4u * j]);
            (*v)[5] = times((*v)[5], twiddle[5u * j]);
            (*v)[6] = times((*v)[6], twiddle[6u * j]);
            (*v)[7] = times((*v)[7], twiddle[7u * j]);
        }
        dft8(v);
        if (ns * 8u < N) {
            exchange(v, base, (t - m) * 8u + m, ns, t);
        }
        ns *= 8u;
    }
    if (N / ns == 4u) {
        let a = dft4((*v)[0], times((*v)[2], twiddle[t]), times((*v)[4], twiddle[2u * t]), times((*v)[6], twiddle[3u * t]));
        let j = t + N / 8u;
        let b = dft4((*v)[1], times((*v)[3], twiddle[j]), times((*v)[5], twiddle[2u * j]), times((*v)[7], twiddle[3u * j]));
        (*v)[0] = a.a;
        (*v)[1] = b.a;
        (*v)[2] = a.b;
        (*v)[3] = b.b;
        (*v)[4] = a.c;
        (*v)[5] = b.c;
        (*v)[6] = a.d;
        (*v)[7] = b.d;
    }
    if (N / ns == 2u) {
        let a = times((*v)[4], twiddle[t]);
        let b = times((*v)[5], twiddle[t + N / 8u]);
        let c = times((*v)[6], twiddle[t + N / 4u]);
        let d = times((*v)[7], twiddle[t + 3u * N / 8u]);
        (*v)[4] = (*v)[0] - a;
        (*v)[5] = (*v)[1] - b;
        (*v)[6] = (*v)[2] - c;
        (*v)[7] = (*v)[3] - d;
        (*v)[0] += a;
        (*v)[1] += b;
        (*v)[2] += c;
        (*v)[3] += d;
    }
}

fn conjugate_all(v: ptr<function, array<vec2f, 8>>) {
    for (var k = 0u; k < 8u; k++) {
        (*v)[k] = conjugate((*v)[k]);
    }
}
