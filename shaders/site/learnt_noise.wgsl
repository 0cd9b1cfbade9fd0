// Twin of likelihood/learnt_noise.rs: datum = (y, precision at a scale of one), own = log scale; with p = precision / scale^2
// value = p (eta - y)^2 / 2, gradient = p (eta - y), by_own = -p (eta - y)^2. The scale's logarithm itself is left to the host.
fn site(datum: vec2f, eta: vec2f) -> vec3f {
    if (datum.y <= 0.0) {
        return vec3f(0.0);
    }
    let residual = join(eta, vec2f(-datum.x, 0.0));
    let exactness = multiply(vec2f(datum.y, 0.0), exponential_pair(-2.0 * own[0]));
    let gradient = multiply(exactness, residual);
    let square = multiply(gradient, residual);
    by_own[0] = -square;
    return vec3f(0.5 * square, gradient.x);
}
