// Twin of likelihood/gaussian.rs: datum = (y, precision); value = p (eta - y)^2 / 2, gradient = p (eta - y).
fn site(datum: vec2f, eta: vec2f) -> vec3f {
    if (datum.y > 0.0) {
        let residual = join(eta, vec2f(-datum.x, 0.0));
        let gradient = multiply(vec2f(datum.y, 0.0), residual);
        return vec3f(0.5 * multiply(gradient, residual), gradient.x);
    }
    return vec3f(0.0);
}
