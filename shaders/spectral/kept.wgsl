// (lambda, lambda, S'/S, S'/S) of a pair, from what the first stage kept.
fn kept(b: u32, k2: u32, i: u32) -> vec4f {
    let row = (b * HALF2 + k2) * HALF1;
    let first = spectrum[row + min(i, N - i)];
    if (i > 0u || !is_edge(k2)) {
        return first.xxyy;
    }
    let last = spectrum[row + N / 2u];
    return vec4f(first.x, last.x, first.y, last.y);
}
