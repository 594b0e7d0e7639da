//! Telling the peer that asks are cancelled.

use std::sync::Arc;
use std::task::Waker;

use wigwag_actor::turn;

use crate::session::Session;
use crate::session::buffers;

/// Sends a CANCEL for each of these asks, behind them. The slot of each stays in use until its
/// answer has arrived, so a session holds at most one CANCEL a slot. A long ask of which parts are
/// left to be sent is taken back instead, unless it belongs to a pipeline, whose answers come in
/// order.
pub(crate) fn send_cancels(session: &Arc<Session>, asks: impl IntoIterator<Item = (u32, u32)>) {
    // The turn may still hold the asks.
    buffers::publish(session);
    let mut sending = session.sending();
    if sending.ended.is_some() {
        return;
    }
    let (floor, mut withdrawn) = (session.asks.rings.floor(), Vec::new());
    for asker in asks {
        if asker.0 < floor && sending.sender.take_back(asker) {
            withdrawn.push(asker);
        } else {
            sending.sender.cancel(asker);
        }
    }
    let wakers = sending.wakers_behind_long_calls();
    drop(sending);
    withdrawn.into_iter().for_each(|asker| session.ask_withdrawn(asker));
    wakers.into_iter().for_each(Waker::wake);
    if turn::is_open() {
        buffers::flush_soon(session);
    } else {
        session.wake_driver();
    }
}
