//! Addresses that the command cannot use, and what to write instead.

use crate::exit::{Code, Failed};

/// Refuses an address of sockets within one process, and one for programs that speak HTTP.
pub(crate) fn check(address: &str) -> Result<(), Failed> {
    let (what, hint) = match address.split_once("://") {
        Some(("inproc", _)) => (
            "inproc:// connects sockets of one process, and this command is a process of its own",
            "use ipc:///tmp/NAME.sock or tcp://127.0.0.1:PORT at both ends",
        ),
        Some(("http" | "https", _)) => (
            "this command does not speak HTTP",
            "call a gateway with curl, or its actor NAME at ws://HOST:PORT/session/NAME",
        ),
        _ => return Ok(()),
    };
    Err(Failed::with_hint(Code::Usage, what, address, hint))
}
