//! Words of participants, made harmless before anybody sees them.
//!
//! Names, versions and reasons may carry what a foreign program printed. On a terminal control
//! characters would move the cursor or hide lines, on a page `<` would begin an element, and on
//! both the marks that turn the direction of writing would reorder what stands beside them.

use std::fmt::Write;

/// For a terminal: what does not print is shown as its number.
pub(crate) fn terminal(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        if hides(letter) {
            safe.extend(letter.escape_unicode());
        } else {
            safe.push(letter);
        }
    }
    safe
}

/// For a page, inside an element or a quoted attribute.
pub(crate) fn html(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            _ if hides(letter) => {
                // Writing to a string cannot fail.
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(letter));
            }
            _ => safe.push(letter),
        }
    }
    safe
}

/// The first `letters_max` letters, with a sign that there were more.
pub(crate) fn short(text: &str, letters_max: usize) -> String {
    if text.chars().count() <= letters_max {
        return text.to_owned();
    }
    let kept: String = text.chars().take(letters_max.saturating_sub(1)).collect();
    format!("{kept}…")
}

/// Controls, marks of direction, and letters of no width.
fn hides(letter: char) -> bool {
    letter.is_control()
        || matches!(letter,
            '\u{200b}'..='\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_element_becomes_text() {
        assert_eq!(
            html("</td><script>alert('1 & \"2\"')</script>"),
            "&lt;/td&gt;&lt;script&gt;alert(&#39;1 &amp; &quot;2&quot;&#39;)&lt;/script&gt;"
        );
    }

    #[test]
    fn control_and_direction_characters_are_shown_as_numbers() {
        let hostile = "\u{1b}[2Jgone\r\u{202e}txet";
        assert_eq!(terminal(hostile), "\\u{1b}[2Jgone\\u{d}\\u{202e}txet");
        assert_eq!(html(hostile), terminal(hostile));
    }

    #[test]
    fn a_long_name_is_cut_at_a_letter() {
        assert_eq!(short("naïveté", 8), "naïveté");
        assert_eq!(short("naïveté", 4), "naï…");
    }
}
