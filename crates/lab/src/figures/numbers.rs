//! Numbers as a person reads them: with a unit, and with three digits, because no run of the lab is
//! repeatable to four.

/// Formats a number with three significant digits, or `–` if it is not finite.
pub fn significant(number: f64) -> String {
    if !number.is_finite() {
        return "–".to_owned();
    }
    let size = number.abs();
    // The number of decimals that three digits need.
    let places = match size {
        0.0 => 0,
        _ => (2.0 - size.log10().floor()).clamp(0.0, 6.0) as usize,
    };
    if (1_000.0..1e15).contains(&size) {
        return format!("{}{}", if number < 0.0 { "-" } else { "" }, grouped(size.round() as u64));
    }
    format!("{number:.places$}")
}

/// Messages a second.
pub fn rate(per_second: f64) -> String {
    let (scale, unit) = match per_second.abs() {
        size if size >= 1e9 => (1e9, "G/s"),
        size if size >= 1e6 => (1e6, "M/s"),
        size if size >= 1e3 => (1e3, "k/s"),
        _ => (1.0, "/s"),
    };
    format!("{} {unit}", significant(per_second / scale))
}

/// Formats a time that is given in microseconds.
pub fn microseconds(time: f64) -> String {
    let (scale, unit) = match time.abs() {
        size if size >= 1e6 => (1e6, "s"),
        size if size >= 1e3 => (1e3, "ms"),
        _ => (1.0, "µs"),
    };
    format!("{} {unit}", significant(time / scale))
}

/// Formats a number of bytes in the units of memory.
pub fn bytes(bytes: u64) -> String {
    let (scale, unit) = match bytes {
        0..1_024 => return format!("{bytes} B"),
        1_024..1_048_576 => (1_024.0, "KiB"),
        1_048_576..1_073_741_824 => (1_048_576.0, "MiB"),
        _ => (1_073_741_824.0, "GiB"),
    };
    format!("{} {unit}", significant(bytes as f64 / scale))
}

/// Formats a count with separated thousands.
pub fn grouped(count: u64) -> String {
    let digits = count.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_three_digits_that_mean_something() {
        let cases = [
            (0.0, "0"),
            (0.0832, "0.0832"),
            (0.8349, "0.835"),
            (9.6, "9.60"),
            (40.26, "40.3"),
            (985.2, "985"),
            (30_979.4, "30,979"),
            (-1_234.0, "-1,234"),
            (f64::NAN, "–"),
            (f64::INFINITY, "–"),
        ];
        for (number, text) in cases {
            assert_eq!(significant(number), text);
        }
    }

    #[test]
    fn units_grow_with_the_figure() {
        assert_eq!(rate(1_240_000.0), "1.24 M/s");
        assert_eq!(rate(84_700.0), "84.7 k/s");
        assert_eq!(microseconds(9.64), "9.64 µs");
        assert_eq!(microseconds(40_100.0), "40.1 ms");
        assert_eq!(bytes(18 * 1024 * 1024), "18.0 MiB");
        assert_eq!(bytes(17), "17 B");
        assert_eq!(grouped(300_000_000), "300,000,000");
    }
}
