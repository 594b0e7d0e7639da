//! The frames that the current turn has encoded for a session and not yet published.
//!
//! In a turn (one poll of an actor or of a `wigwag::spawn` task), calls and replies are encoded
//! into a buffer of this thread, with credit leased for the turn: no lock per message. When the
//! turn ends, or a segment is full, this thread publishes the buffer and writes it. The buffers are
//! found and published by the registry of the turn, [`wigwag_actor::turn::buffers`].
//!
//! Measured gain: `lab run remote`, without runs, cell *tell*, 1.75 times the rate of calls that
//! are encoded under the lock of the session; cell *ask* 1.5 times. Runs buy another 1.14 and 1.43
//! times; [`run_writer`] has the figure for calls that are encoded in place.

use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::Arc;

use wigwag_actor::reference::run_writer::{self, RunOwner};
use wigwag_actor::turn;
use wigwag_wire::Buffer;
use wigwag_wire::small::DynEncode;

use crate::limits::{KEPT_SLOTS_MAX, TURN_BYTES};
use crate::replies::ring::Ring;
use crate::session::Session;
use crate::session::buffers::buffer::SendBuffer;
use crate::session::buffers::encoding::{Arguments, Encoding};

mod buffer;
pub(crate) mod encoding;

/// Permission for the caller's reference to add further calls to the run that a call was joined to.
pub(crate) struct RunHandout<'a> {
    pub(crate) run_owner: RunOwner,
    /// The method, by its number in the caller's own schema.
    pub(crate) method: u32,
    /// For asks: their ring, the number of the next ask, and how many may follow.
    pub(crate) ring: Option<(&'a Arc<Ring>, u64, usize)>,
}

/// The result of encoding a call into the turn's buffer.
pub(crate) enum EncodeOutcome {
    Done,
    /// There is no credit, no room, a sender that waited longer, or no turn: the caller takes the
    /// shared path.
    NotHere,
    /// The call, with this many bytes, is larger than the peer accepts.
    TooLarge(usize),
}

/// The target of a session's buffer in the registry.
#[inline(always)]
fn target(session: &Arc<Session>) -> NonZeroUsize {
    NonNull::from(&**session).addr()
}

/// Runs `work` on this turn's buffer for `session`. `None` outside a turn, and inside an encoder
/// that itself sends.
#[inline(always)]
fn with<T>(session: &Arc<Session>, work: impl FnOnce(&mut SendBuffer) -> T) -> Option<T> {
    let make = |_| Some(Box::new(SendBuffer::new(session)));
    let done = turn::buffers::with(target(session).get(), make, |buffer: &mut SendBuffer| {
        buffer.take_back_run().then(|| work(buffer))
    });
    done.flatten()
}

/// Encodes a call: joins it to the run of the calls before it, or writes a frame. With a `handout`,
/// the caller may add the calls that follow by itself. Without credit, nothing is written.
#[inline(always)]
pub(crate) fn call(
    session: &Arc<Session>,
    call: &Encoding<'_, impl Arguments>,
    handout: Option<&RunHandout<'_>>,
) -> EncodeOutcome {
    let target = target(session);
    if let Some(elsewhere) = run_writer::handed_out().filter(|elsewhere| *elsewhere != target) {
        take_back_from(elsewhere);
    }
    with(session, |buffer| {
        if buffer.join(call) {
            if let Some(handout) = handout {
                buffer.hand_out_run(target, handout);
            }
            return EncodeOutcome::Done;
        }
        buffer.call(call)
    })
    .unwrap_or(EncodeOutcome::NotHere)
}

/// Takes back the run that ends another session's buffer.
#[cold]
fn take_back_from(target: NonZeroUsize) {
    let make = |_| None;
    turn::buffers::with(target.get(), make, SendBuffer::take_back_run);
}

/// Takes a free slot for an ask of this turn, and opens it.
#[inline(always)]
pub(crate) fn open_slot(session: &Arc<Session>) -> Option<(u32, u32)> {
    let number = with(session, |buffer| buffer.slots.pop().or_else(|| buffer.take_slots()));
    match number.flatten() {
        Some(number) => Some((number, session.asks.hot(number)?.open())),
        None => session.asks.open(),
    }
}

/// Frees the slot of an ask: for the turn's next ask, or for every sender outside a turn.
#[inline]
pub(crate) fn free_slot(session: &Arc<Session>, number: u32) {
    let kept = with(session, |buffer| {
        buffer.slots.push(number);
        if buffer.slots.len() >= KEPT_SLOTS_MAX {
            buffer.release_slots();
        }
    });
    if kept.is_none() {
        session.free_slot(number);
    }
}

/// Sends answers that are encoded already: with the current turn, or at once outside a turn.
pub(crate) fn answers(session: &Arc<Session>, frames: &mut Buffer, count: u64) {
    send_answers(session, |buffer| buffer.answers(frames.as_slice(), count));
    frames.clear();
}

/// Sends the answer to an ask: with the current turn, or at once outside a turn.
pub(crate) fn answer(session: &Arc<Session>, asker: (u32, u32), value: &dyn DynEncode) {
    let frame_max = session.identity.limits.frame_max;
    send_answers(session, |buffer| buffer.answer(asker, value, frame_max));
}

/// Appends answers to the turn's buffer, or to a temporary buffer outside a turn.
fn send_answers(session: &Arc<Session>, answers: impl Fn(&mut SendBuffer)) {
    let done = with(session, |buffer| {
        answers(buffer);
        if buffer.encoded.len() >= TURN_BYTES {
            buffer.publish_and_flush();
        }
    });
    if done.is_none() {
        let mut alone = SendBuffer::new(session);
        answers(&mut alone);
        alone.publish_and_flush();
    }
}

/// Flushes `session` at the end of this turn, or now outside a turn.
pub(crate) fn flush_soon(session: &Arc<Session>) {
    if with(session, |buffer| buffer.flush = true).is_none() {
        session.flush();
    }
}

/// Publishes this turn's buffer for `session`, so that later frames follow it. Nothing is written:
/// the caller goes on to send.
pub(crate) fn publish(session: &Arc<Session>) {
    let target = target(session).get();
    turn::buffers::with(
        target,
        |_| None,
        |buffer: &mut SendBuffer| {
            if buffer.take_back_run() {
                buffer.publish_frames();
            }
        },
    );
}
