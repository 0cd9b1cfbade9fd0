// Twin of likelihood/poisson.rs: datum = (count, exposure); value = a e^eta - y eta, gradient = a e^eta - y.
fn site(datum: vec2f, eta: f32) -> vec2f {
    if (datum.y > 0.0) {
        let rate = datum.y * exponential(eta);
        return vec2f(rate - datum.x * eta, rate - datum.x);
    }
    return vec2f(0.0);
}
