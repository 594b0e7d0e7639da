//! Ends the command at its signals (`interrupt.rs`) while its output is not read.
//!
//! A write to a full pipe blocks the thread of the runtime, which then sees no signal until somebody
//! reads. So a second thread waits for signals too, and looks whether a write goes on.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use tokio::runtime::Builder;

use super::{Interrupt, kill_all};
use crate::exit::Code;
use crate::writes::{ERR, OUT};

/// Time after a signal in which a write that is under way may still end.
const GRACE: Duration = Duration::from_millis(400);

/// Starts the thread, once in a process. The signals are caught from here on.
pub(crate) fn end_at_signals() -> io::Result<()> {
    static STARTED: AtomicBool = AtomicBool::new(false);
    if STARTED.swap(true, Ordering::Relaxed) {
        return Ok(());
    }
    let runtime = Builder::new_current_thread().enable_all().build()?;
    let interrupt = {
        let _inside = runtime.enter();
        Interrupt::catch()?
    };
    let watch = move || runtime.block_on(end_if_unread(interrupt));
    thread::Builder::new().name("signals".to_owned()).spawn(watch)?;
    Ok(())
}

/// Waits for a signal, and from then on for a write that makes no headway.
async fn end_if_unread(mut interrupt: Interrupt) {
    interrupt.recv().await;
    loop {
        let before = [&OUT, &ERR].map(|writes| (writes, writes.under_way()));
        tokio::time::sleep(GRACE).await;
        if before.iter().any(|(writes, one)| one.is_some() && writes.under_way() == *one) {
            kill_all();
            std::process::exit(Code::Interrupted as i32);
        }
    }
}
