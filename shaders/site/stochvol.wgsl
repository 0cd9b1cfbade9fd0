// Twin of likelihood/stochvol.rs: datum = y^2 in two floats; value = (eta + y^2 e^-eta)/2, gradient = (1 - y^2 e^-eta)/2.
fn site(datum: vec2f, eta: vec2f) -> vec3f {
    let scaled = multiply(datum, exponential_pair(-eta));
    return vec3f(0.5 * join(eta, scaled), 0.5 - 0.5 * scaled.x);
}
