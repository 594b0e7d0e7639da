//! What is sent: a text of the command line, a file, or standard input line by line or whole.
//!
//! Standard input is read by a thread of its own, because a read from it cannot be taken back; it
//! reads a few messages ahead and no more.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal, Read};
use std::path::Path;
use std::thread;

use tokio::sync::mpsc;
use wigwag::Bytes;

use crate::exit::{Code, Failed};

/// Bytes of one message that is read from a file or from standard input: what fits the memory of a
/// small machine several times over.
const INPUT_BYTES_MAX: usize = 64 << 20;

/// Messages that are read ahead.
const READ_AHEAD_MESSAGES: usize = 64;

/// Where messages come from.
pub(crate) enum Input {
    /// The same one, so often; `None`: for ever.
    Fixed { body: Bytes, left: Option<u64> },
    /// One for each line, at most so many more.
    Lines { lines: mpsc::Receiver<io::Result<Vec<u8>>>, left: Option<u64> },
    /// Nothing.
    Empty,
}

impl Input {
    /// `body`, so often.
    pub(crate) fn fixed(body: Bytes, times: Option<u64>) -> Input {
        Input::Fixed { body, left: times }
    }

    /// Standard input, a message a line, at most `count`.
    pub(crate) fn lines(count: Option<u64>) -> Input {
        let (emit, lines) = mpsc::channel(READ_AHEAD_MESSAGES);
        // The thread ends with its input, with us, or with the process.
        thread::spawn(move || {
            read_lines(io::stdin().lock(), |line| emit.blocking_send(line).is_ok())
        });
        Input::Lines { lines, left: count }
    }

    /// Whether it comes to an end without anybody's doing: a person at a terminal does not.
    pub(crate) fn is_finite(&self) -> bool {
        match self {
            Input::Fixed { left, .. } => left.is_some(),
            Input::Lines { .. } => !io::stdin().is_terminal(),
            Input::Empty => true,
        }
    }

    /// The next message; `None` when there is none any more. A dropped future has taken nothing.
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

/// All of a file as one message; `-` is standard input.
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

/// Gives each line to `give`, without its end, until that refuses one.
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
        let why = format!("a message of it is longer than {INPUT_BYTES_MAX} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    Ok(bytes)
}

fn read_failure(name: &str, error: &io::Error) -> Failed {
    let what = format!("what was to be sent cannot be read: {error}");
    Failed::with_mend(Code::Usage, &what, name, "check its name, rights and size")
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
    fn a_line_is_a_message_without_its_end_and_an_empty_one_is_one_too() {
        assert_eq!(lines(b"a\n\nb"), [b"a".to_vec(), b"".to_vec(), b"b".to_vec()]);
        assert_eq!(lines(b"a\r\n"), [b"a\r".to_vec()], "bytes are not ours to take");
        assert!(lines(b"").is_empty());
    }

    #[tokio::test]
    async fn a_fixed_text_comes_so_often_and_then_no_more() {
        let mut input = Input::fixed(Bytes::from_static(b"x"), Some(2));
        assert!(input.next().await.unwrap().is_some());
        assert!(input.next().await.unwrap().is_some());
        assert!(input.next().await.unwrap().is_none());
    }

    #[test]
    fn a_missing_file_is_named() {
        let refused = whole(Path::new("/nowhere/at/all")).unwrap_err().to_string();
        assert!(refused.contains("/nowhere/at/all") && refused.contains("mend: "), "{refused}");
    }
}
