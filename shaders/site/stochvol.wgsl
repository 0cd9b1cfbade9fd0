// Twin of likelihood/stochvol.rs: datum = (y^2, -); value = (eta + y^2 e^-eta)/2, gradient = (1 - y^2 e^-eta)/2.
fn site(datum: vec2f, eta: f32) -> vec2f {
    let scaled = datum.x * exponential(-eta);
    return vec2f(0.5 * (eta + scaled), 0.5 - 0.5 * scaled);
}
