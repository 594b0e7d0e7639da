//! Telling the peer that asks are cancelled.

use std::sync::Arc;

use wigwag_actor::turn;
use wigwag_link::frame::Frame;
use wigwag_link::write;

use crate::session::Session;
use crate::session::buffers;

/// Sends a CANCEL for each of these asks, behind them. The slot of each stays in use until its
/// answer has arrived, so a session holds at most one CANCEL a slot.
pub(crate) fn send_cancels(session: &Arc<Session>, asks: impl IntoIterator<Item = (u32, u32)>) {
    // The turn may still hold the asks.
    buffers::publish(session);
    let mut sending = session.sending();
    if sending.ended.is_some() {
        return;
    }
    for (slot, generation) in asks {
        let cancel = Frame::Cancel { slot: slot.into(), generation: generation.into() };
        sending.sender.outbox.append(|out| write::any(out, &cancel));
    }
    drop(sending);
    if turn::is_open() {
        buffers::flush_soon(session);
    } else {
        session.wake_driver();
    }
}
