// Twin of likelihood/negative_binomial.rs: datum = (count, exposure), own = log k. With m = a e^eta, t = log(m/k), s = m/(k + m):
// value = (y + k) log(1 + m/k) - y eta, gradient = (y + k) s - y, by_own = k log(1 + m/k) - (y + k) s.
// What does not depend on eta is left to the host.
fn site(datum: vec2f, eta: vec2f) -> vec3f {
    if (datum.y <= 0.0) {
        return vec3f(0.0);
    }
    let size = exponential_pair(own[0]);
    let t = join(join(eta, logarithm_pair(datum.y)), -own[0]);
    let above = t.x > 0.0;
    let e = exponential_pair(select(t, -t, above));
    let logs = join(select(vec2f(0.0), t, above), logarithm_1p_pair(e));
    let share = divide(select(e, vec2f(1.0, 0.0), above), join(vec2f(1.0, 0.0), e));
    let both = join(vec2f(datum.x, 0.0), size);
    let met = multiply(both, share);
    by_own[0] = join(multiply(size, logs), -met);
    let value = join(multiply(both, logs), -multiply(vec2f(datum.x, 0.0), eta));
    return vec3f(value, join(met, vec2f(-datum.x, 0.0)).x);
}
