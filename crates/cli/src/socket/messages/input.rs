//! The source of messages to send: a text, a file, or standard input by lines or as a whole.
//!
//! A separate thread reads standard input, because a blocking read cannot be cancelled. It reads at
//! most a few messages ahead.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;
use std::thread;

use tokio::sync::mpsc;
use wigwag::Bytes;

use crate::exit::{Code, Failed};

/// Largest message from a file or from standard input, in bytes; several fit into the memory of a
/// small machine.
const INPUT_BYTES_MAX: usize = 64 << 20;

/// Messages that the thread reads ahead.
const READ_AHEAD_MESSAGES: usize = 64;

/// A source of messages.
pub(crate) enum Input {
    /// One message, repeated `left` more times; `None` means without end.
    Fixed { body: Bytes, left: Option<u64> },
    /// One message per line, at most `left` more.
    Lines { lines: mpsc::Receiver<io::Result<Vec<u8>>>, left: Option<u64> },
    /// No messages.
    Empty,
}

impl Input {
    /// Repeats `body` the given number of times; `None` means without end.
    pub(crate) fn fixed(body: Bytes, times: Option<u64>) -> Input {
        Input::Fixed { body, left: times }
    }

    /// Reads standard input, one message per line, at most `count`.
    pub(crate) fn lines(count: Option<u64>) -> Input {
        let (emit, lines) = mpsc::channel(READ_AHEAD_MESSAGES);
        // The thread ends with its input, with the receiver, or with the process.
        thread::spawn(move || {
            read_lines(io::stdin().lock(), |line| emit.blocking_send(line).is_ok())
        });
        Input::Lines { lines, left: count }
    }

    /// Whether the source ends by itself. Standard input from a terminal does not.
    pub(crate) fn is_finite(&self) -> bool {
        match self {
            Input::Fixed { left, .. } => left.is_some(),
            Input::Lines { .. } => !io::stdin().is_terminal(),
            Input::Empty => true,
        }
    }

    /// Returns the next message, or `None` at the end.
    ///
    /// # Cancellation
    ///
    /// Dropping the future loses no message.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Failed> {
        match self {
            Input::Empty => Ok(None),
            Input::Fixed { left, .. } | Input::Lines { left, .. } if *left == Some(0) => Ok(None),
            Input::Fixed { body, left } => {
                *left = left.map(|left| left - 1);
                Ok(Some(body.clone()))
            }
            Input::Lines { lines, left } => match lines.recv().await {
                None => Ok(None),
                Some(Ok(line)) => {
                    *left = left.map(|left| left - 1);
                    Ok(Some(Bytes::from(line)))
                }
                Some(Err(error)) => Err(read_failure("standard input", &error)),
            },
        }
    }
}

/// Reads a whole file as one message; `-` is standard input.
pub(crate) fn whole(path: &Path) -> Result<Bytes, Failed> {
    let name = path.display().to_string();
    let read = |mut from: &mut dyn Read| {
        let mut bytes = Vec::new();
        let taken = (&mut from).take(INPUT_BYTES_MAX as u64 + 1).read_to_end(&mut bytes);
        taken.and_then(|_| within_limit(bytes))
    };
    let bytes = match name.as_str() {
        "-" => read(&mut io::stdin().lock()),
        _ => File::open(path).and_then(|mut file| read(&mut file)),
    };
    bytes.map(Bytes::from).map_err(|error| read_failure(&name, &error))
}

/// Passes each line, without its line end, to `emit` until that returns false.
fn read_lines(from: impl Read, emit: impl Fn(io::Result<Vec<u8>>) -> bool) {
    let mut from = BufReader::new(from);
    loop {
        let mut line = Vec::new();
        let read = (&mut from).take(INPUT_BYTES_MAX as u64 + 2).read_until(b'\n', &mut line);
        let line = match read {
            Ok(0) => return,
            Ok(_) => {
                if line.last() == Some(&b'\n') {
                    line.pop();
                }
                within_limit(line)
            }
            Err(error) => Err(error),
        };
        let failed = line.is_err();
        if !emit(line) || failed {
            return;
        }
    }
}

fn within_limit(bytes: Vec<u8>) -> io::Result<Vec<u8>> {
    if bytes.len() > INPUT_BYTES_MAX {
        let why = format!("it has a message longer than {INPUT_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(bytes)
}

fn read_failure(name: &str, error: &io::Error) -> Failed {
    let what = format!("the input cannot be read: {error}");
    Failed::with_hint(Code::Usage, &what, name, "check its name, permissions and size")
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    fn lines(text: &[u8]) -> Vec<Vec<u8>> {
        let emitted = RefCell::new(Vec::new());
        read_lines(text, |line| {
            emitted.borrow_mut().push(line.unwrap());
            true
        });
        emitted.into_inner()
    }

    #[test]
    fn each_line_is_a_message_without_its_line_end() {
        assert_eq!(lines(b"a\n\nb"), [b"a".to_vec(), b"".to_vec(), b"b".to_vec()]);
        assert_eq!(lines(b"a\r\n"), [b"a\r".to_vec()], "a carriage return belongs to the message");
        assert!(lines(b"").is_empty());
    }

    #[tokio::test]
    async fn a_fixed_text_is_repeated_the_given_number_of_times() {
        let mut input = Input::fixed(Bytes::from_static(b"x"), Some(2));
        assert!(input.next().await.unwrap().is_some());
        assert!(input.next().await.unwrap().is_some());
        assert!(input.next().await.unwrap().is_none());
    }

    #[test]
    fn the_error_for_a_missing_file_names_it() {
        let refused = whole(Path::new("/nowhere/at/all")).unwrap_err().to_string();
        assert!(refused.contains("/nowhere/at/all") && refused.contains("hint: "), "{refused}");
    }
}
