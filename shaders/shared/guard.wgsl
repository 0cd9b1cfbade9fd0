// Keeps the compiler from rearranging arithmetic whose rounding matters.
//
// `zero` is 0 at run time, which no compiler can know: x ^ zero is x, but not to be simplified. Every stage sets it
// from its parameters before anything else.
var<private> zero: u32;

fn opaque(v: f32) -> f32 {
    return bitcast<f32>(bitcast<u32>(v) ^ zero);
}
