// How each chain moves, and how many latents it has: kick, perhaps turn around, then flow.
//
//   r <- sign (r - kick (y - reference z));  z <- z + half r,  r <- r - sine z,  z <- z + half r
//
// A turn by the angle a is half = tan(a/2), sine = sin a: three shears, each of which keeps volume exactly whatever
// the rounding of its factor, so that energies do not creep. A drift by a is half = a/2, sine = 0.
struct Motion {
    kick: f32,
    reference: f32,
    half: f32,
    sine: f32,
    sign: f32,
    moving: u32,
    accepted: u32,
    chain: u32,
    transition: u32,
    seed_low: u32,
    seed_high: u32,
    weight: f32,
    row: u32,
    zero: u32,
    draw: u32,
    length: u32,
}

// (z, r) after a move, y being the gradient at z.
fn moved(m: Motion, z: f32, y: f32, r: f32) -> vec2f {
    let kicked = m.sign * (r - m.kick * (y - m.reference * z));
    let half = z + m.half * kicked;
    let turned = kicked - m.sine * half;
    return vec2f(half + m.half * turned, turned);
}
