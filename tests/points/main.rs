//! Goes from points to maps as a user does: files in, refusals in one line, results that can be opened, and truths recovered.

mod browser;
#[path = "../common/cli.rs"]
mod cli;
mod coverage;
mod recovery;
mod refused;
mod walk;

/// Sixty points in clumps in the unit square, in columns x and y.
fn clumps() -> Vec<(f64, f64)> {
    // A Weyl sequence around four centres: fixed, spread out and clustered.
    let centres = [(0.2, 0.25), (0.7, 0.2), (0.6, 0.75), (0.25, 0.8)];
    (0..60)
        .map(|k| {
            let (x, y) = centres[k % 4];
            let turn = |step: f64| (k as f64 * step).fract() - 0.5;
            (x + 0.3 * turn(0.754_877_666), y + 0.3 * turn(0.569_840_296))
        })
        .collect()
}

fn csv(points: &[(f64, f64)]) -> String {
    let rows: String = points.iter().map(|(x, y)| format!("{x},{y}\n")).collect();
    format!("x,y\n{rows}")
}

/// A raster of 12 × 12 pixels over the unit square as CSV.
fn raster(value: impl Fn(f64, f64) -> f64) -> String {
    let mut text = String::from("x,y,value\n");
    for k in 0..144 {
        let (x, y) = ((f64::from(k % 12) + 0.5) / 12.0, (f64::from(k / 12) + 0.5) / 12.0);
        text += &format!("{x},{y},{}\n", value(x, y));
    }
    text
}

/// A square with a square hole.
const WINDOW: &str = r#"{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1],[0,0]],[[0.45,0.45],[0.5,0.45],[0.5,0.5],[0.45,0.5],[0.45,0.45]]]}"#;
