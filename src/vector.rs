//! Multiplies and adds vectors, with enough independent sums that a processor need not wait for each addition.

/// Independent sums of a dot product: four vector registers of two, or one of eight.
const LANES: usize = 8;

/// a'b over the shorter of the two.
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let n = a.len().min(b.len());
    let (a, b) = (a[..n].chunks_exact(LANES), b[..n].chunks_exact(LANES));
    let tail: f64 = a.remainder().iter().zip(b.remainder()).map(|(a, b)| a * b).sum();
    let mut sums = [0.0; LANES];
    for (a, b) in a.zip(b) {
        for lane in 0..LANES {
            sums[lane] += a[lane] * b[lane];
        }
    }
    sums.iter().sum::<f64>() + tail
}

/// out ← out + factor·a.
pub(crate) fn add_scaled(factor: f64, a: &[f64], out: &mut [f64]) {
    for (out, a) in out.iter_mut().zip(a) {
        *out += factor * a;
    }
}

/// out = factor·a.
pub(crate) fn scale_into(factor: f64, a: &[f64], out: &mut [f64]) {
    for (out, a) in out.iter_mut().zip(a) {
        *out = factor * a;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_remainder_is_counted() {
        let a: Vec<f64> = (1..=19).map(f64::from).collect();
        for n in 0..=a.len() {
            // Whole numbers: exact in any order of summation.
            let want: f64 = a[..n].iter().map(|x| x * (20.0 - x)).sum();
            let b: Vec<f64> = a[..n].iter().map(|x| 20.0 - x).collect();
            assert_eq!(dot(&a, &b), want);
        }
    }

    #[test]
    fn scaled_vectors_are_written_and_added() {
        let mut out = [f64::NAN; 3];
        scale_into(2.0, &[1.0, -1.0, 0.5], &mut out);
        add_scaled(-3.0, &[1.0, 0.0, 2.0], &mut out);
        assert_eq!(out, [-1.0, -2.0, -5.0]);
    }
}
