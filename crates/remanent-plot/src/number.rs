//! Numbers as they stand in a drawing: short, with a true minus sign.

/// A coordinate with at most two decimals: a hundredth of a pixel is never seen.
pub(crate) fn coordinate(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// A number with `decimals` decimals and U+2212 for the minus.
pub(crate) fn decimal(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(rest) if rest.bytes().all(|b| b == b'0' || b == b'.') => rest.to_owned(),
        Some(rest) => format!("\u{2212}{rest}"),
        None => text,
    }
}

/// 10 to a power, in the markup of labels.
pub(crate) fn power_of_ten(exponent: i32) -> String {
    format!("10^{{{}}}", decimal(f64::from(exponent), 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        assert_eq!(coordinate(12.0), "12");
        assert_eq!(coordinate(100.0), "100");
        assert_eq!(coordinate(-0.001), "0");
        assert_eq!(coordinate(1.239), "1.24");
    }

    #[test]
    fn negative_numbers_have_a_true_minus_and_zero_has_none() {
        assert_eq!(decimal(-1.5, 1), "\u{2212}1.5");
        assert_eq!(decimal(-0.01, 1), "0.0");
        assert_eq!(power_of_ten(-3), "10^{\u{2212}3}");
    }
}
