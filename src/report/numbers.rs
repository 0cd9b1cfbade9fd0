//! Writes numbers the way people read them, and finds round ones.

/// A short number: `0.25`, `1200`, `3 × 10⁻¹⁰`.
pub(super) fn number(value: f64) -> String {
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e5).contains(&size) {
        let exponent = size.log10().floor() as i32;
        let lead = value / 10f64.powi(exponent);
        let lead = trimmed(format!("{lead:.2}"));
        return match lead.as_str() {
            "1" => power_of_ten(exponent),
            lead => format!("{lead} × {}", power_of_ten(exponent)),
        };
    }
    let digits = (3.0 - size.log10().floor()).clamp(0.0, 6.0) as usize;
    trimmed(format!("{value:.digits$}"))
}

/// So many of something, by the name of one of them: `1 chain`, `4 chains`.
pub fn counted<N: std::fmt::Display + PartialEq + From<u8>>(count: N, one: &str) -> String {
    let plural = if count == N::from(1) { "" } else { "s" };
    format!("{count} {one}{plural}")
}

fn trimmed(text: String) -> String {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// A power of ten with a raised exponent.
pub(super) fn power_of_ten(exponent: i32) -> String {
    let raised = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        '0' => '⁰',
        c => char::from_u32('⁴' as u32 + c as u32 - '4' as u32).unwrap_or(c),
    };
    format!("10{}", exponent.to_string().chars().map(raised).collect::<String>())
}

/// The nearest of 1, 2 and 5 times a power of ten that is at most `value`.
pub(super) fn round_down(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    match value / power {
        lead if lead >= 5.0 => 5.0 * power,
        lead if lead >= 2.0 => 2.0 * power,
        _ => power,
    }
}

/// Round numbers between two ends, about so many.
pub(super) fn steps(low: f64, high: f64, count: usize) -> Vec<f64> {
    let step = round_down((high - low) / count as f64 * 1.5);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    // Widths of f64's precision around a large value have no steps; never a million of them.
    (first..=last.min(first.saturating_add(50))).map(|k| k as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (0.25, "0.25"),
            (1200.0, "1200"),
            (-3.5, "-3.5"),
            (3.2e-10, "3.2 × 10⁻¹⁰"),
            (1e6, "10⁶"),
            (0.001, "0.001"),
            (370.0, "370"),
            (8.0, "8"),
        ] {
            assert_eq!(number(value), text);
        }
        assert_eq!(power_of_ten(-1234567890), "10⁻¹²³⁴⁵⁶⁷⁸⁹⁰");
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!([0u32, 1, 2].map(|n| counted(n, "chain")), ["0 chains", "1 chain", "2 chains"]);
        assert_eq!(counted(1usize, "thread"), "1 thread");
    }

    #[test]
    fn round_numbers_are_round() {
        assert_eq!([0.9, 1.0, 4.2, 730.0].map(round_down), [0.5, 1.0, 2.0, 500.0]);
        assert_eq!(steps(0.0, 1.0, 5), [0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]);
    }
}
