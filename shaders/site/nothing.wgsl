// Twin of likelihood/nothing.rs: no data.
fn site(datum: vec2f, eta: f32) -> vec2f {
    return vec2f(0.0);
}
