//! The only module that prints.
//!
//! Results go to standard output, everything else to standard error. A closed standard output
//! (`| head`) ends the program silently; any other write that fails is an error.

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use crate::exit::{Code, Failed};
use crate::writes::{ERR, OUT};

/// Why a result is not on standard output.
pub(crate) enum Unprinted {
    /// The reader has closed the pipe.
    ReaderGone,
    /// The write has failed, for example on a full disk.
    Failed(Failed),
}

impl From<io::Error> for Unprinted {
    fn from(error: io::Error) -> Unprinted {
        if error.kind() == ErrorKind::BrokenPipe {
            return Unprinted::ReaderGone;
        }
        let what = format!("a result cannot be written: {error}");
        let hint = "look at what standard output leads to; the result is lost";
        Unprinted::Failed(Failed::with_hint(Code::Unwritten, &what, "standard output", hint))
    }
}

/// Prints bytes of a result unchanged.
pub(crate) fn bytes(bytes: &[u8]) -> Result<(), Unprinted> {
    let mut out = io::stdout().lock();
    Ok(OUT.during(|| out.write_all(bytes).and_then(|()| out.flush()))?)
}

/// Prints a whole result, after which the command ends: a closed pipe is not an error.
pub(crate) fn result(bytes: &[u8]) -> Result<(), Failed> {
    ended(self::bytes(bytes))
}

/// The outcome of a whole result that something else has printed, as [`result`] does.
pub(crate) fn printed(outcome: io::Result<()>) -> Result<(), Failed> {
    ended(outcome.and_then(|()| io::stdout().flush()).map_err(Unprinted::from))
}

fn ended(outcome: Result<(), Unprinted>) -> Result<(), Failed> {
    match outcome {
        Ok(()) | Err(Unprinted::ReaderGone) => Ok(()),
        Err(Unprinted::Failed(failed)) => Err(failed),
    }
}

/// Prints a text of a result. Ends the process if that fails.
pub(crate) fn text(text: &str) {
    let code = match bytes(text.as_bytes()) {
        Ok(()) => return,
        Err(Unprinted::ReaderGone) => Code::Ok,
        Err(Unprinted::Failed(failed)) => failed.print(),
    };
    std::process::exit(code as i32);
}

/// Prints a line of a result. Ends the process if that fails.
pub(crate) fn line(line: &str) {
    text(&format!("{line}\n"));
}

/// Prints a line on standard error. It may hold the words of a peer, which the terminal must not obey.
pub(crate) fn error(text: &str) {
    let text = clean(text);
    let mut err = io::stderr().lock();
    // If standard error is closed as well, the line is lost.
    let _ = ERR.during(|| writeln!(err, "{text}"));
}

/// The text with a sign in place of each control character, except line ends.
pub(crate) fn clean(text: &str) -> String {
    let is_obeyed = |c: char| c.is_control() && c != '\n';
    // Marks that change the direction of a line are obeyed too.
    let is_mark = |c: char| matches!(c, '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    text.chars().map(|c| if is_obeyed(c) || is_mark(c) { '\u{FFFD}' } else { c }).collect()
}

impl Failed {
    /// Prints the error on standard error and returns the exit code of the process.
    pub(crate) fn report(self) -> ExitCode {
        self.print().into()
    }

    /// Prints the error on standard error and returns its code; for commands that continue.
    pub(crate) fn print(&self) -> Code {
        error(&format!("error: {self:#}"));
        self.code
    }
}
