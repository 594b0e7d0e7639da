//! Ctrl-C and SIGTERM.

use std::io;

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::unread;

/// Receives SIGINT (Ctrl-C) and SIGTERM.
pub(crate) struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupt {
    /// Catches the signals, and ends the process at them if a write blocks this thread by then.
    pub(crate) fn new() -> io::Result<Interrupt> {
        unread::end_at_signals()?;
        Interrupt::catch()
    }

    /// Installs the signal handlers.
    pub(crate) fn catch() -> io::Result<Interrupt> {
        let interrupt = signal(SignalKind::interrupt())?;
        Ok(Interrupt { interrupt, terminate: signal(SignalKind::terminate())? })
    }

    /// Waits for a signal.
    pub(crate) async fn recv(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
