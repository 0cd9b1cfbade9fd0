// Moves a pair of latents as motion.wgsl has it and returns z; the mass of a centred field is its prior precision, so that its velocity
// is lambda r, and r is drawn with that mass.
fn advance(b: u32, own: u32, lambda: vec2f) -> vec2f {
    let m = motion[b];
    let plane = CHAINS * PAIRS;
    var z = state[own];
    if (m.moving == 0u && m.draw == 0u) {
        return z;
    }
    var r = state[2u * plane + own];
    if (m.draw != 0u) {
        r /= sqrt(lambda);
    }
    if (m.moving != 0u) {
        let velocity = select(vec2f(1.0), lambda, CENTRED != 0u);
        r = m.sign * (r - m.kick * (state[plane + own] - m.reference * z));
        z += m.half * velocity * r;
        r -= m.sine * z;
        z += m.half * velocity * r;
        state[own] = z;
    }
    state[2u * plane + own] = r;
    return z;
}
