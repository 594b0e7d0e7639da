//! Addresses that the command cannot use, and what to write instead.

use crate::exit::{Code, Failed};

/// Refuses an address of sockets within one process.
pub(crate) fn check(address: &str) -> Result<(), Failed> {
    if !address.starts_with("inproc://") {
        return Ok(());
    }
    let what =
        "inproc:// connects sockets of one process, and this command is a process of its own";
    let hint = "use ipc:///tmp/NAME.sock or tcp://127.0.0.1:PORT at both ends";
    Err(Failed::with_hint(Code::Usage, what, address, hint))
}
