//! Parses times and sizes with units: `200ms`, `1.5s`, `64k`.

use std::time::Duration;

/// Longest accepted time: a year, far beyond any useful wait and far below the overflow of a clock.
const TIME_MAX: Duration = Duration::from_secs(365 * 24 * 3600);

const TIMES: [(&str, f64); 8] = [
    ("ns", 1e-9),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ms", 1e-3),
    ("s", 1.0),
    ("min", 60.0),
    ("m", 60.0),
    ("h", 3_600.0),
];

/// Parses a time. A number without a unit is in seconds.
pub(crate) fn time(text: &str) -> Result<Duration, String> {
    let wrong = || "expected a time with a unit, like 200ms, 5s or 2m".to_owned();
    let (number, unit) = split(text);
    let scale = match unit {
        "" => 1.0,
        unit => TIMES.iter().find(|(name, _)| *name == unit).ok_or_else(wrong)?.1,
    };
    let number: f64 = number.parse().map_err(|_| wrong())?;
    let time = Duration::try_from_secs_f64(number * scale).map_err(|_| wrong())?;
    if time > TIME_MAX {
        return Err("the time is longer than a year".to_owned());
    }
    Ok(time)
}

/// Parses a number of bytes. A `k` is 1,024 bytes.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let wrong = || "expected a number of bytes, like 64, 64k or 16MiB".to_owned();
    let (number, unit) = split(text);
    let scale: usize = match unit {
        "" | "B" => 1,
        "k" | "K" | "KiB" => 1 << 10,
        "m" | "M" | "MiB" => 1 << 20,
        "g" | "G" | "GiB" => 1 << 30,
        _ => return Err(wrong()),
    };
    let number: usize = number.parse().map_err(|_| wrong())?;
    number.checked_mul(scale).ok_or_else(wrong)
}

/// Splits `text` into the number and its unit.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
    let (number, unit) = text.split_at(end.unwrap_or(text.len()));
    (number, unit.trim_start())
}

#[cfg(test)]
mod tests {
    use clap::error::ErrorKind;
    use clap::{Command, CommandFactory};

    use super::*;
    use crate::Arguments;

    /// Calls `look` with each command that has no subcommands, and its full path.
    fn walk(command: &Command, path: &[String], look: &mut impl FnMut(&[String], &Command)) {
        let mut path = path.to_vec();
        path.push(command.get_name().to_owned());
        if !command.has_subcommands() {
            look(&path, command);
        }
        command.get_subcommands().for_each(|inner| walk(inner, &path, look));
    }

    #[test]
    fn every_time_option_accepts_units() {
        const TIMES: [&str; 4] = ["deadline", "wait", "interval", "duration"];
        let mut tried = Vec::new();
        walk(&Arguments::command(), &[], &mut |path, command| {
            for option in command.get_arguments().filter(|option| option.get_long().is_some()) {
                let long = option.get_long().unwrap_or_default();
                let names = option.get_value_names().unwrap_or_default();
                let is_time = names.iter().any(|name| name.as_str() == "TIME");
                assert_eq!(is_time, TIMES.contains(&long), "{path:?} --{long} {names:?}");
                if !is_time {
                    continue;
                }
                let kind = |value: &str| {
                    let option = [format!("--{long}"), value.to_owned()];
                    let line = path.iter().chain(&option);
                    Arguments::command().try_get_matches_from(line).err().map(|error| error.kind())
                };
                for good in ["200ms", "5s", "2m", "0.5"] {
                    assert_ne!(kind(good), Some(ErrorKind::ValueValidation), "{path:?} --{long}");
                }
                assert_eq!(kind("soon"), Some(ErrorKind::ValueValidation), "{path:?} --{long}");
                tried.push(format!("{} --{long}", path.join(" ")));
            }
        });
        for option in
            ["wigwag ask --deadline", "wigwag req --wait", "wigwag bench latency --duration"]
        {
            assert!(tried.iter().any(|tried| tried == option), "{option}: {tried:?}");
        }
    }

    #[test]
    fn a_time_without_a_unit_is_in_seconds() {
        for (text, milliseconds) in
            [("200ms", 200), ("0.5", 500), ("2 s", 2_000), ("1.5m", 90_000), ("1h", 3_600_000)]
        {
            assert_eq!(time(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        assert_eq!(time("3µs"), Ok(Duration::from_micros(3)));
        assert_eq!(time("0"), Ok(Duration::ZERO));
        for text in ["", "ms", "-1s", "1 day", "1e3", "inf", "9999h9", "99999h", "1.2.3"] {
            assert!(time(text).is_err(), "{text}");
        }
    }

    #[test]
    fn sizes_count_in_powers_of_two() {
        for (text, bytes) in [("0", 0), ("64", 64), ("64k", 65_536), ("1MiB", 1 << 20)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "k", "1.5k", "1kb", "-1", "99999999999999999999", "18446744073709551615k"]
        {
            assert!(size(text).is_err(), "{text}");
        }
    }
}
