// Twin of likelihood/poisson.rs: datum = (count, exposure); value = a e^eta - y eta, gradient = a e^eta - y.
fn site(datum: vec2f, eta: vec2f) -> vec3f {
    if (datum.y > 0.0) {
        let rate = multiply(vec2f(datum.y, 0.0), exponential_pair(eta));
        return vec3f(join(rate, -multiply(vec2f(datum.x, 0.0), eta)), rate.x - datum.x);
    }
    return vec3f(0.0);
}
