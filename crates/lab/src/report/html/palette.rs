//! The colours, light and dark.
//!
//! Each name has one colour in each scheme. Colours that carry words are held to a contrast of 4.5
//! : 1 by a test, so a colour can be changed without looking at every place that uses it.

/// A name in the style sheet, its colour on a light page and on a dark one.
type Colour = (&'static str, &'static str, &'static str);

/// Paper, rules and words; verdicts; bars; threads; lines; the steps of the heat map and the words on
/// them. Verdicts differ by sign and word as well, bars by name, threads
/// by letter, lines by letter and dashes.
pub(crate) const COLOURS: &[Colour] = &[
    ("paper", "#fdfdfb", "#15171b"),
    ("panel", "#f3f4f1", "#1e2127"),
    ("rule", "#d3d5d0", "#3b4049"),
    ("ink", "#1c1f24", "#e9e9e5"),
    ("muted", "#545b66", "#aab1bc"),
    ("valid", "#1a6538", "#83d3a0"),
    ("flagged", "#7f4c00", "#efbd60"),
    ("void", "#a92117", "#ff9f92"),
    ("ours", "#1f5fa8", "#6fb0f5"),
    ("other", "#7b8695", "#8792a1"),
    ("limit", "#3d434c", "#c3c8d0"),
    ("thread0", "#cfe0f4", "#23426a"),
    ("thread1", "#f6dcbc", "#5b3d15"),
    ("thread2", "#cfe8d2", "#214a2c"),
    ("thread3", "#eacfe6", "#542950"),
    ("thread4", "#e3e3c4", "#474714"),
    ("rest", "#e2e3e3", "#33373e"),
    ("line0", "#b35900", "#f0a04b"),
    ("line1", "#00806a", "#4fc7ad"),
    ("line2", "#8a4fb0", "#c49be8"),
    ("line3", "#b3264a", "#f5859f"),
    ("line4", "#6b6f00", "#c9c84b"),
    ("line5", "#137f9f", "#62c4e2"),
    ("heat0", "#edf3fa", "#1c2430"),
    ("heat1", "#d5e5f5", "#1f3046"),
    ("heat2", "#b9d4ef", "#233d5e"),
    ("heat3", "#9bc1e8", "#294b76"),
    ("heat4", "#2b69a9", "#6fa8e0"),
    ("heat5", "#1f5894", "#8fbfee"),
    ("heat6", "#124579", "#b5d6f6"),
    ("on-heat", "#ffffff", "#101317"),
];

/// Steps of the heat map.
pub(crate) const HEAT_STEPS: usize = 7;

/// Threads that have a colour of their own.
pub(crate) const THREADS: usize = 5;

/// Lines of a plot that have a colour of their own, beside the limit's and ours.
pub(crate) const LINES: usize = 6;

/// The colours as declarations of a style sheet: light always, dark on a screen that asks for it.
/// Paper stays light, because ink costs.
pub(crate) fn declarations() -> String {
    let list = |pick: fn(&Colour) -> &str| {
        let each = |colour: &Colour| format!("--{}:{};", colour.0, pick(colour));
        COLOURS.iter().map(each).collect::<String>()
    };
    let (light, dark) = (list(|colour| colour.1), list(|colour| colour.2));
    format!(
        ":root{{color-scheme:light dark;{light}}}\n\
         @media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative luminance as the accessibility guidelines (WCAG 2.2) define it.
    fn luminance(colour: &str) -> f64 {
        assert_eq!(colour.len(), 7, "{colour}");
        let part = |at: usize| {
            let byte = u8::from_str_radix(&colour[at..at + 2], 16).unwrap();
            let share = f64::from(byte) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        };
        0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
    }

    fn contrast(one: &str, two: &str) -> f64 {
        let (one, two) = (luminance(one), luminance(two));
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    fn of(name: &str) -> &'static Colour {
        COLOURS.iter().find(|colour| colour.0 == name).unwrap()
    }

    fn hold(words: &str, ground: &str, least: f64) {
        let (words, ground) = (of(words), of(ground));
        for (one, two) in [(words.1, ground.1), (words.2, ground.2)] {
            let found = contrast(one, two);
            assert!(found >= least, "{} on {}: {found:.2} of {least}", words.0, ground.0);
        }
    }

    #[test]
    fn words_can_be_read_on_whatever_they_stand_on() {
        for words in ["ink", "muted", "valid", "flagged", "void", "ours"] {
            hold(words, "paper", 4.5);
            hold(words, "panel", 4.5);
        }
        for ground in ["thread0", "thread1", "thread2", "thread3", "thread4", "rest"] {
            hold("ink", ground, 4.5);
        }
        for step in 0..HEAT_STEPS {
            let words = if step < 4 { "ink" } else { "on-heat" };
            hold(words, &format!("heat{step}"), 4.5);
        }
    }

    /// Shapes that are drawn and not read need 3 : 1.
    #[test]
    fn bars_stand_out_from_the_page() {
        for bar in ["ours", "other", "limit"] {
            hold(bar, "paper", 3.0);
        }
        for line in 0..LINES {
            hold(&format!("line{line}"), "paper", 3.0);
        }
    }
}
