//! The runtime of a command.

use tokio::runtime::Builder;

use crate::exit::{Code, Failed};

/// Runs a command on a single-threaded runtime.
pub(crate) fn run<F>(command: impl FnOnce() -> F) -> Result<Code, Failed>
where
    F: Future<Output = Result<Code, Failed>>,
{
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(command())
}
