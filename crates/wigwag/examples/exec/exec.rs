//! `exec://PROGRAM ARGUMENTS`: the peer is a child process.
//!
//! A dial starts the program, whose standard input and output carry the messages; the program
//! listens at `stdio://-` (`stdio.rs`). So `exec://ssh host program` reaches a program on another
//! machine without an open port, and ssh decides about access. Each dial starts another process,
//! also a dial that follows a cut.
//!
//! Spaces separate the words of the address; `%` and two hex digits encode a byte within a word.

use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::process::Stdio;
use std::time::Duration;

use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::process::{Child, Command};
use wigwag::Address;
use wigwag::transport::{
    Boxed, Connection, DialOptions, ListenOptions, Listener, NetError, NetErrorKind, Transport,
};

use crate::pipes::connection;

/// How long a program may go on after its connection has ended. Then it is killed, because a dialer
/// that dials again and again must not gather processes.
const END_MAX: Duration = Duration::from_secs(2);

/// The transport, for [`register`](wigwag::transport::register).
pub(crate) struct Exec;

impl Transport for Exec {
    fn scheme(&self) -> &'static str {
        "exec"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        _options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        let rule = "a program is dialed; it listens at stdio://-";
        Box::pin(async move { Err(NetError::new(address, NetErrorKind::BadAddress { rule })) })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        _options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let bad = |rule| NetError::new(address, NetErrorKind::BadAddress { rule });
            let words = words(address.rest()).map_err(bad)?;
            // Within another error, the reason stays as it is: "not found" would become "nobody
            // listens there".
            start(&words).map_err(|error| NetError::new(address, io::Error::other(error)))
        })
    }
}

/// The words of an address: a program, and its arguments.
fn words(rest: &str) -> Result<Vec<OsString>, &'static str> {
    let words: Vec<_> = rest.split(' ').map(decoded).collect::<Result<_, _>>()?;
    if words.iter().any(|word| word.is_empty()) {
        return Err("exec:// is followed by a program and its arguments, with one space between");
    }
    Ok(words)
}

fn decoded(word: &str) -> Result<OsString, &'static str> {
    let mut pieces = word.split('%');
    let mut bytes = pieces.next().unwrap_or_default().as_bytes().to_vec();
    for piece in pieces {
        let digit = |at| piece.chars().nth(at).and_then(|digit: char| digit.to_digit(16));
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return Err("% is followed by two hex digits");
        };
        bytes.push((16 * high + low) as u8);
        bytes.extend_from_slice(&piece.as_bytes()[2..]);
    }
    Ok(OsString::from_vec(bytes))
}

/// Starts the program, and connects to it.
fn start(words: &[OsString]) -> io::Result<Connection> {
    let mut child = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()?;
    let (Some(to), Some(from)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(io::ErrorKind::BrokenPipe.into());
    };
    let to = Sender::from_owned_fd(to.into_owned_fd()?)?;
    let from = Receiver::from_owned_fd(from.into_owned_fd()?)?;
    let peer = match child.id() {
        Some(id) => format!("{} (process {id})", words[0].display()),
        None => words[0].display().to_string(),
    };
    let (connection, gone) = connection(from, to, peer);
    tokio::spawn(end(child, gone));
    Ok(connection)
}

/// Waits for the end of the program, which is to come soon when its connection is gone.
async fn end(mut child: Child, gone: impl Future<Output = ()>) {
    tokio::select! {
        _ = child.wait() => return,
        () = gone => {}
    }
    if tokio::time::timeout(END_MAX, child.wait()).await.is_err() {
        // An error means that the process has ended in this moment.
        let _ = child.kill().await;
    }
}
