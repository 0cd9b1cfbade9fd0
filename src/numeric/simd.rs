//! Runs a piece of code compiled for the best vector instructions that the processor has.
//!
//! A binary for any x86-64 processor may only assume vectors of two numbers. [`vectorised`] asks the processor once
//! what it can do and runs another copy of the code, compiled for AVX2 or AVX-512, where it can. Results do not change by a bit:
//! the compiler never reorders floating-point operations, nor fuses a multiplication with an addition.

/// Runs a closure with the best instruction set; only code that is inlined into the closure gains.
///
/// Write the attribute on the closure, and on every function that it calls in its loops. Without it the compiler may
/// leave a large body as a separate function, which then is compiled for the oldest processors: still right, but
/// slow, and nothing warns. Rust accepts the attribute where the closure is an argument, not in a `let`.
///
/// ```
/// use sshmc::numeric::{exp, vectorised};
///
/// let mut rates = vec![0.5; 4096];
/// vectorised(
///     #[inline(always)]
///     || rates.iter_mut().for_each(|rate| *rate = exp(*rate)),
/// );
/// assert!((rates[0] - 0.5f64.exp()).abs() < 1e-15);
/// ```
///
/// The call costs about two nanoseconds: put it around a loop, not into one. A closure that calls [`vectorised`]
/// again is right but gains nothing; the functions of [`inline`](super::inline) do not.
#[inline]
pub fn vectorised<R>(f: impl FnOnce() -> R) -> R {
    // `Arch::new` remembers what it found, so that there is nothing to keep here.
    pulp::Arch::new().dispatch(f)
}

#[cfg(test)]
mod tests {
    use std::hint::black_box;
    use std::time::Instant;

    use super::*;
    use crate::numeric::exp;

    fn arguments() -> Vec<f64> {
        (0..4096).map(|i| -20.0 + 0.01 * f64::from(i)).collect()
    }

    #[test]
    fn returns_the_value_and_the_same_bits() {
        let x = arguments();
        let mut wide = vec![0.0; x.len()];
        let count = vectorised(
            #[inline(always)]
            || {
                wide.iter_mut().zip(&x).for_each(|(y, x)| *y = exp(*x));
                wide.len()
            },
        );
        assert_eq!(count, x.len());
        for (wide, x) in wide.iter().zip(&x) {
            assert_eq!(wide.to_bits(), exp(black_box(*x)).to_bits(), "exp({x})");
        }
    }

    /// The shortest of many runs, in nanoseconds per number.
    fn nanoseconds(count: usize, mut run: impl FnMut()) -> f64 {
        let times = (0..500).map(|_| {
            let start = Instant::now();
            run();
            start.elapsed().as_secs_f64() * 1e9 / count as f64
        });
        times.fold(f64::INFINITY, f64::min)
    }

    #[test]
    #[ignore = "measures time; run alone with --ignored --nocapture"]
    fn a_vectorised_loop_is_faster_than_the_system_library() {
        let x = arguments();
        let mut y = vec![0.0; x.len()];
        let library = nanoseconds(x.len(), || {
            y.iter_mut().zip(black_box(&x)).for_each(|(y, x)| *y = x.exp());
            black_box(&mut y);
        });
        let ours = nanoseconds(x.len(), || {
            vectorised(
                #[inline(always)]
                || y.iter_mut().zip(black_box(&x)).for_each(|(y, x)| *y = exp(*x)),
            );
            black_box(&mut y);
        });
        eprintln!("exp: library {library:.2} ns, vectorised {ours:.2} ns");
        assert!(ours < library);
    }
}
