//! The only place that prints. Results go to standard output, all else to standard error; a reader
//! that went away (`| head`) ends the program without a word.

use std::io::{self, Write};

/// A line of a result.
pub(crate) fn line(text: &str) {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n"));
    if written.and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Bytes of a result as they are. An error says that the reader went away.
pub(crate) fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// A line for the person at the terminal.
pub(crate) fn error(text: &str) {
    // If even standard error is closed there is nobody to tell.
    let _ = writeln!(io::stderr().lock(), "{text}");
}
