// (lambda, S'/S) at one frequency, by Horner's rule.
fn eigenvalue(p: Prior, k2: u32, k1: u32) -> vec2f {
    if (p.white != 0u) {
        return vec2f(p.variance, 0.0);
    }
    let first = ((p.slot * HALF2 + k2) * NODES) * HALF1 + k1;
    var value = table[first + (NODES - 1u) * HALF1];
    var slope = 0.0;
    for (var j = NODES - 1u; j > 0u; j--) {
        slope = slope * p.position + value;
        value = value * p.position + table[first + (j - 1u) * HALF1];
    }
    return vec2f(p.variance * value, p.steepness * slope / value);
}

// The same for both numbers of a pair: they differ only in the first pair of an edge row. Keeps what later stages need.
fn eigenvalues(p: Prior, b: u32, k2: u32, i: u32) -> vec4f {
    let k1 = min(i, N - i);
    let first = eigenvalue(p, k2, k1);
    let row = (b * HALF2 + k2) * HALF1;
    if (i <= N / 2u) {
        spectrum[row + k1] = first;
    }
    if (i > 0u || !is_edge(k2)) {
        return first.xxyy;
    }
    let last = eigenvalue(p, k2, N / 2u);
    spectrum[row + N / 2u] = last;
    return vec4f(first.x, last.x, first.y, last.y);
}
