//! A runtime for what is used outside of any: sockets, nodes, and time limits of calls.
//!
//! One thread named `wigwag` runs it from its first use until the process exits.

use std::future::pending;
use std::io;
use std::sync::{Mutex, PoisonError};
use std::thread;

use tokio::runtime::{Builder, Handle};

static BACKGROUND: Mutex<Option<Handle>> = Mutex::new(None);

/// The current runtime, or else the one in the background.
///
/// # Errors
/// There is none, and no thread can be started for one.
pub fn current_or_own() -> io::Result<Handle> {
    if let Ok(current) = Handle::try_current() {
        return Ok(current);
    }
    let mut own = BACKGROUND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(handle) = &*own {
        return Ok(handle.clone());
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let handle = runtime.handle().clone();
    thread::Builder::new()
        .name("wigwag".into())
        .spawn(move || runtime.block_on(pending::<()>()))?;
    *own = Some(handle.clone());
    Ok(handle)
}
