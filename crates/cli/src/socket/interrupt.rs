//! Ctrl-C, SIGTERM, and SIGHUP, which comes when a terminal is closed.

use std::{fs, io};

use tokio::signal::unix::{Signal, SignalKind, signal};

use super::unread;

/// Receives SIGINT (Ctrl-C), SIGTERM and SIGHUP.
pub(crate) struct Interrupt {
    interrupt: Signal,
    terminate: Signal,
    /// `None` if the command was started so that it outlives its terminal, as by `nohup`.
    hangup: Option<Signal>,
}

impl Interrupt {
    /// Catches the signals, and ends the process at them if a write blocks this thread by then.
    pub(crate) fn new() -> io::Result<Interrupt> {
        // First, since a signal that only the other thread has seen would end nothing.
        let interrupt = Interrupt::catch()?;
        unread::end_at_signals()?;
        Ok(interrupt)
    }

    /// Installs the signal handlers.
    pub(crate) fn catch() -> io::Result<Interrupt> {
        let interrupt = signal(SignalKind::interrupt())?;
        let terminate = signal(SignalKind::terminate())?;
        // The programs of `--exec` have process groups of their own, so no terminal ends them.
        let hangup = match is_ignored(SignalKind::hangup()) {
            true => None,
            false => Some(signal(SignalKind::hangup())?),
        };
        Ok(Interrupt { interrupt, terminate, hangup })
    }

    /// Waits for a signal.
    pub(crate) async fn recv(&mut self) {
        let hangup = async {
            match &mut self.hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hangup => {}
        }
    }
}

/// True if this process was started with the signal ignored. A handler would undo that.
fn is_ignored(kind: SignalKind) -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask & (1 << (kind.as_raw_value() - 1)) != 0)
}
