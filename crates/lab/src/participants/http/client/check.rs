//! The check of answers against their requests.

use super::faults::{FaultLog, RequestKind, shown};
use super::response::Response;
use crate::participants::http::date::seconds;

/// The allowed error of a Date: a server that renews it once a second stays within it.
const DATE_SECONDS_MAX: u64 = 2;

const MONTHS: &[u8; 36] = b"JanFebMarAprMayJunJulAugSepOctNovDec";

/// The answer that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Expected {
    /// The document, and the token of the request.
    Document {
        /// As it was sent.
        token: [u8; 8],
    },
    /// That there is no such path.
    NotFound,
}

/// Holds answers against what is due.
pub(super) struct ResponseCheck {
    now: u64,
    /// The Date that came last, and its seconds: most answers bring the same one.
    date: ([u8; 29], u64),
}

impl ResponseCheck {
    pub(super) fn new() -> ResponseCheck {
        ResponseCheck { now: seconds(), date: ([0; 29], 0) }
    }

    /// Looks at the clock; call it often.
    pub(super) fn check_clock(&mut self) {
        self.now = seconds();
    }

    /// Whether `answer` is right; faults are recorded.
    pub(super) fn hold(
        &mut self,
        answer: &Response<'_>,
        due: Expected,
        how: RequestKind,
        faults: &mut FaultLog,
    ) -> bool {
        let mut right = true;
        let mut demand = |holds: bool, what, saw: &dyn Fn() -> String| {
            if !holds {
                faults.note(how, what, saw);
                right = false;
            }
        };
        // SPEC RFC 9112 9.3: HTTP/1.1 keeps the connection unless it says otherwise.
        if how != RequestKind::Old {
            let kept = answer.minor == 1 && !answer.closes;
            demand(kept, "no keep-alive", &|| match answer.closes {
                true => "Connection: close".to_owned(),
                false => "HTTP/1.0".to_owned(),
            });
        }
        let Expected::Document { token } = due else {
            demand(answer.status == 404, "a status other than 404", &|| shown(answer.said));
            return right;
        };
        demand(answer.status == 200, "a status other than 200", &|| shown(answer.said));
        demand(
            answer.content_type.is_some_and(is_json),
            "a Content-Type other than application/json",
            &|| or_none(answer.content_type),
        );
        demand(is_document(answer.body), "a body other than {\"id\": 1} in JSON", &|| {
            shown(answer.body)
        });
        demand(answer.token == Some(&token), "a token other than that of its request", &|| {
            format!("{} for {}", or_none(answer.token), shown(&token))
        });
        let date = answer.date.and_then(|date| self.seconds_of(date));
        let off = date.map(|date| date.abs_diff(self.now));
        demand(off.is_some_and(|off| off <= DATE_SECONDS_MAX), "a Date more than 2 s off", &|| {
            match off {
                Some(off) => format!("{}, {off} s off", or_none(answer.date)),
                None => or_none(answer.date),
            }
        });
        right
    }

    fn seconds_of(&mut self, date: &[u8]) -> Option<u64> {
        let date: [u8; 29] = date.try_into().ok()?;
        if date != self.date.0 {
            self.date = (date, parsed(&date)?);
        }
        Some(self.date.1)
    }
}

fn or_none(value: Option<&[u8]>) -> String {
    value.map_or("none".to_owned(), shown)
}

/// The type counts, its parameters do not.
fn is_json(value: &[u8]) -> bool {
    let kind = value.split(|byte| *byte == b';').next().unwrap_or_default();
    kind.trim_ascii().eq_ignore_ascii_case(b"application/json")
}

fn is_document(body: &[u8]) -> bool {
    // The two common ways to write it; any other is read as JSON.
    body == b"{\"id\": 1}"
        || body == b"{\"id\":1}"
        || serde_json::from_slice::<serde_json::Value>(body)
            .is_ok_and(|read| read == serde_json::json!({ "id": 1 }))
}

/// Seconds since 1970 of `Sun, 06 Nov 1994 08:49:37 GMT`. The day of the week is not looked at.
fn parsed(date: &[u8; 29]) -> Option<u64> {
    let shape = b"aaa, 00 aaa 0000 00:00:00 GMT";
    let fits = shape.iter().zip(date).all(|(shape, byte)| match shape {
        b'a' => byte.is_ascii_alphabetic(),
        b'0' => byte.is_ascii_digit(),
        exact => byte == exact,
    });
    let number = |from: usize, to: usize| {
        date[from..to].iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0'))
    };
    let month = fits.then(|| MONTHS.chunks(3).position(|name| name == &date[8..11]))??;
    let (day, year) = (number(5, 7), number(12, 16));
    let leap = |year: u64| {
        year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
    };
    if !(1..=31).contains(&day) || year < 1970 {
        return None;
    }
    let february = 28 + u64::from(leap(year));
    let months = [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
    let before: u64 = (1970..year).map(|year| 365 + u64::from(leap(year))).sum();
    let days = before + months.iter().take(month).sum::<u64>() + day - 1;
    Some(days * 86_400 + number(17, 19) * 3_600 + number(20, 22) * 60 + number(23, 25))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::participants::http::client::response::{Framing, read};
    use crate::participants::http::date::written;

    const DUE: Expected = Expected::Document { token: *b"0000abcd" };

    fn faults_of(text: &str, due: Expected, how: RequestKind) -> String {
        let mut faults = FaultLog::default();
        let answer = read(text.as_bytes(), Framing::Kept).unwrap().unwrap();
        let right = ResponseCheck::new().hold(&answer, due, how, &mut faults);
        assert_eq!(right, faults.is_empty());
        faults.to_json().to_string()
    }

    fn answer(date: &str, kind: &str, token: &str, body: &str) -> String {
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\nDate: {date}\r\nContent-Type: {kind}\r\ntoken: {token}\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        )
    }

    #[test]
    fn correct_values_are_right_in_every_notation() {
        let now = written(seconds());
        for (kind, body) in [
            ("application/json", "{\"id\": 1}"),
            ("Application/JSON; charset=utf-8", "{\"id\":1}"),
            ("application/json;x", " {\n\"id\" :1 }\n"),
        ] {
            let text = answer(&now, kind, "0000abcd", body);
            assert_eq!(faults_of(&text, DUE, RequestKind::Plain), "[]");
        }
    }

    #[test]
    fn each_fault_has_its_words() {
        let (json, body, token) = ("application/json", "{\"id\": 1}", "0000abcd");
        let now = written(seconds());
        for (text, words) in [
            (answer(&now, json, token, "{'id': 1}"), "{'id': 1}"),
            (answer(&now, json, token, "{\"id\": 1.5}"), "body other than"),
            (answer(&now, json, token, "{\"id\": 1, \"a\": 2}"), "body other than"),
            (answer(&now, "text/html", token, body), "Content-Type other than"),
            (answer(&now, json, "0000abce", body), "token other than"),
            (answer(&written(seconds() - 4), json, token, body), "s off"),
            (answer(&written(seconds() + 4), json, token, body), "s off"),
            (answer("yesterday", json, token, body), "Date more than 2 s off"),
            (answer(&now, json, token, body).replace("200 OK", "503 Busy"), "503 Busy"),
            (answer(&now, json, token, body).replace("Date", "Connection: close\r\nDate"), "close"),
            (answer(&now, json, token, body).replace("HTTP/1.1", "HTTP/1.0"), "no keep-alive"),
        ] {
            let found = faults_of(&text, DUE, RequestKind::Plain);
            assert!(found.contains(words), "{words}: {found}");
        }
    }

    #[test]
    fn a_path_that_is_not_there_wants_only_its_status() {
        let text = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n";
        assert_eq!(faults_of(text, Expected::NotFound, RequestKind::Unknown), "[]");
        let found =
            faults_of(&text.replace("404", "200"), Expected::NotFound, RequestKind::Unknown);
        assert!(found.contains("other than 404"), "{found}");
    }

    #[test]
    fn a_date_is_read_back_as_it_was_written() {
        assert_eq!(parsed(b"Sun, 06 Nov 1994 08:49:37 GMT"), Some(784_111_777));
        for seconds in (0..2_000_000_000).step_by(86_400 * 29 + 3_601) {
            let text: [u8; 29] = written(seconds).into_bytes().try_into().unwrap();
            assert_eq!(parsed(&text), Some(seconds));
        }
        assert_eq!(parsed(b"Sun, 06 Nov 1994 08:49:37 CET"), None);
        assert_eq!(parsed(b"Sun, 06 Abc 1994 08:49:37 GMT"), None);
    }
}
