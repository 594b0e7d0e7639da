//! The only module that prints.
//!
//! Results go to standard output, everything else to standard error. A closed standard output
//! (`| head`) ends the program silently.

use std::io::{self, Write};

/// Prints a line of a result.
pub(crate) fn line(text: &str) {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.write_all(b"\n"));
    if written.and_then(|()| out.flush()).is_err() {
        std::process::exit(0);
    }
}

/// Prints bytes of a result unchanged. An error means that the reader has closed the pipe.
pub(crate) fn bytes(bytes: &[u8]) -> io::Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(bytes)?;
    out.flush()
}

/// Prints a line on standard error.
pub(crate) fn error(text: &str) {
    // If standard error is closed as well, the line is lost.
    let _ = writeln!(io::stderr().lock(), "{text}");
}
