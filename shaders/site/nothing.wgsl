// Twin of likelihood/nothing.rs: no data.
fn site(datum: vec2f, eta: vec2f) -> vec3f {
    return vec3f(0.0);
}
