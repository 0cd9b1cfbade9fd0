// Twin of likelihood/gaussian.rs: datum = (y, precision); value = p (eta - y)^2 / 2, gradient = p (eta - y).
fn site(datum: vec2f, eta: f32) -> vec2f {
    if (datum.y > 0.0) {
        let residual = eta - datum.x;
        let gradient = datum.y * residual;
        return vec2f(0.5 * gradient * residual, gradient);
    }
    return vec2f(0.0);
}
