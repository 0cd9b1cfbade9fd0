// s of a pair of latents: the shift q less what the mean pulls, of which `first` already has the constant's share.
fn shift_of(p: Prior, b: u32, index: u32, q: vec2f) -> vec2f {
    var s = q;
    if (index == 0u) {
        s.x = p.first;
    }
    for (var k = 0u; k < COVARIATES; k++) {
        s -= p.kappa * effect(b, k) * columns[k * PAIRS + index];
    }
    return s;
}
