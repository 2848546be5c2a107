//! Amounts of time and memory in words.

/// A time to be read: `1.2 s`, `14 min`, `2.3 h`.
pub fn duration(seconds: f64) -> String {
    match seconds {
        // Not measured.
        s if !(s.is_finite() && s >= 0.0) => "–".to_owned(),
        // Also for -0, the sum of no times.
        s if s < 0.0995 => format!("{:.0} ms", 1e3 * s.abs()),
        s if s < 9.95 => format!("{s:.1} s"),
        s if s < 99.5 => format!("{s:.0} s"),
        s if s < 9.95 * 60.0 => format!("{:.1} min", s / 60.0),
        s if s < 99.5 * 60.0 => format!("{:.0} min", s / 60.0),
        s if s < 99.5 * 3600.0 => format!("{:.1} h", s / 3600.0),
        s => format!("{:.0} h", s / 3600.0),
    }
}

/// An amount of memory: `300 MiB`, `2.5 GiB`.
pub fn memory(bytes: u64) -> String {
    match bytes as f64 / f64::from(1 << 20) {
        mib if mib < 1.0 => "1 MiB".into(),
        mib if mib < 1024.0 => format!("{mib:.0} MiB"),
        mib => format!("{:.1} GiB", mib / 1024.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_fit_the_size() {
        for (seconds, text) in [
            (-0.0, "0 ms"),
            (0.02, "20 ms"),
            (1.23, "1.2 s"),
            (99.4, "99 s"),
            (100.0, "1.7 min"),
            (840.0, "14 min"),
            (8280.0, "2.3 h"),
            (5e5, "139 h"),
            (f64::NAN, "–"),
            (-1.0, "–"),
        ] {
            assert_eq!(duration(seconds), text);
        }
        for (bytes, text) in [(0, "1 MiB"), (300 << 20, "300 MiB"), (5 << 29, "2.5 GiB")] {
            assert_eq!(memory(bytes), text);
        }
    }
}
