//! `--fail-if`: a condition on one figure, for scripts that check a measurement.

/// The comparison of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Comparison {
    Below,
    Above,
}

impl Comparison {
    pub(crate) fn holds(self, figure: f64, limit: f64) -> bool {
        match self {
            Comparison::Below => figure < limit,
            Comparison::Above => figure > limit,
        }
    }
}

/// Splits a condition into figure, comparison and limit; `None` if it has no `<` or `>`.
pub(crate) fn split(text: &str) -> Option<(&str, Comparison, &str)> {
    let at = text.rfind(['<', '>'])?;
    let comparison =
        if text[at..].starts_with('<') { Comparison::Below } else { Comparison::Above };
    Some((text[..at].trim(), comparison, text[at + 1..].trim()))
}

/// Parses a finite limit.
pub(crate) fn number(text: &str) -> Option<f64> {
    text.parse().ok().filter(|limit: &f64| limit.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_has_two_sides() {
        assert_eq!(split("p99 > 5ms"), Some(("p99", Comparison::Above, "5ms")));
        assert_eq!(split("a>b<1"), Some(("a>b", Comparison::Below, "1")));
        assert_eq!(split("p99"), None);
        assert!(Comparison::Below.holds(1.0, 2.0) && !Comparison::Above.holds(2.0, 2.0));
        assert_eq!((number("1e6"), number("nan"), number("x")), (Some(1e6), None, None));
    }
}
