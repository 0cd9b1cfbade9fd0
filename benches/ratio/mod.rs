//! Compares the time of two pieces of work, taking turns so that a busy machine is unfair to neither.

use std::time::Instant;

/// Shortest sample in seconds: a thousand times what reading the clock costs.
const SAMPLE: f64 = 2e-3;

/// Whether `cargo bench` asked; otherwise each bench only shows that it works.
pub(crate) fn measuring() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

/// Smallest seconds per call of each of two works, over at least five turns and as many as fit in `budget` seconds.
pub(crate) fn best(budget: f64, mut a: impl FnMut(), mut b: impl FnMut()) -> (f64, f64) {
    let (calls_a, calls_b) = (calls(&mut a), calls(&mut b));
    let mut least = (f64::INFINITY, f64::INFINITY);
    let begun = Instant::now();
    let mut turns = 0;
    while turns < 5 || begun.elapsed().as_secs_f64() < budget {
        turns += 1;
        least.0 = least.0.min(sample(calls_a, &mut a));
        least.1 = least.1.min(sample(calls_b, &mut b));
    }
    least
}

/// How many calls a sample needs to be long enough.
fn calls(work: &mut impl FnMut()) -> u32 {
    let once = sample(1, work).min(sample(1, work));
    (SAMPLE / once.max(1e-9)).ceil() as u32
}

fn sample(calls: u32, work: &mut impl FnMut()) -> f64 {
    let begun = Instant::now();
    for _ in 0..calls {
        work();
    }
    begun.elapsed().as_secs_f64() / f64::from(calls)
}

/// Prints the line that a reader looks for.
pub(crate) fn report(what: &str, (a, b): (f64, f64)) {
    println!("ratio: {what}: {:.2} ({} / {})", a / b, time(a), time(b));
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 1e-3 => format!("{:.1} us", 1e6 * s),
        s if s < 1.0 => format!("{:.2} ms", 1e3 * s),
        s => format!("{s:.2} s"),
    }
}
