//! The frames that the current turn has encoded for a session and not yet published.
//!
//! In a turn (one poll of an actor or of a `wigwag::spawn` task), calls and replies are encoded
//! into a buffer of this thread, with credit leased for the turn, without the lock that all senders
//! of the session share. When the turn ends, or a segment is full, this thread publishes the buffer
//! and writes it. A thread that sends to the same actor publishes it earlier ([`holders`]). The
//! buffers are found and published by the registry of the turn, [`wigwag_actor::turn::buffers`].
//!
//! Measured gain: `lab run remote`, without runs, cell *tell*, 1.75 times the rate of calls that
//! are encoded under the lock of the session; cell *ask* 1.5 times. Runs buy another 1.14 and 1.43
//! times; [`run_writer`] has the figure for calls that are encoded in place.

use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::Arc;

use wigwag_actor::reference::run_writer::{self, RunOwner};
use wigwag_actor::{CallErrorKind, turn};
use wigwag_link::credit::StreamId;
use wigwag_link::outbox::LongFrame;
use wigwag_link::{Code, write};
use wigwag_wire::Buffer;
use wigwag_wire::small::DynEncode;

use crate::limits::KEPT_SLOTS_MAX;
use crate::replies::ring::Ring;
use crate::session::Session;
use crate::session::buffers::buffer::SendBuffer;
use crate::session::buffers::encoded::EncodedValue;
use crate::session::buffers::encoding::{Arguments, Encoding};
use crate::session::buffers::frames::{Frames, TurnFrames};

mod buffer;
pub(crate) mod encoded;
pub(crate) mod encoding;
pub(crate) mod frames;
pub(crate) mod held;
pub(crate) mod holders;

/// Permission for the caller's reference to add further calls to the run that a call was joined to.
pub(crate) struct RunHandout<'a> {
    pub(crate) run_owner: RunOwner,
    /// The run owner belongs to one route for ever.
    pub(crate) is_of_one_route: bool,
    /// The method, by its number in the caller's own schema.
    pub(crate) method: u32,
    /// The receiver has the same numbers, so the caller may add calls of other methods too.
    pub(crate) has_same_numbers: bool,
    /// For asks: their ring, the number of the next ask, and how many may follow.
    pub(crate) ring: Option<(&'a Arc<Ring>, u64, usize)>,
}

/// The result of encoding a call into the turn's buffer.
pub(crate) enum EncodeOutcome {
    Done,
    /// There is no credit, no room, a sender that waited longer, or no turn: the caller takes the
    /// shared path.
    NotHere,
    /// The call is longer than a frame of the peer may be: the caller takes the shared path with it.
    Long(Box<LongFrame>),
}

/// The result of encoding an item into the turn's buffer.
pub(crate) enum ItemOutcome {
    /// The body of its frame has this length.
    Encoded(usize),
    /// The body would have this length, which is more than a frame of the peer may have.
    Long(usize),
    /// There is no room or no turn: the caller takes the shared path.
    NotHere,
    /// Items of the stream may be in the frames of another thread, which are published first.
    Elsewhere,
}

/// The target of a session's buffer in the registry.
#[inline(always)]
fn target(session: &Arc<Session>) -> NonZeroUsize {
    NonNull::from(&**session).addr()
}

/// Runs `work` on this turn's buffer for `session`. `None` outside a turn, and where a message that
/// is dropped, or a waker, itself sends.
#[inline(always)]
fn with<T>(session: &Arc<Session>, work: impl FnOnce(&mut SendBuffer) -> T) -> Option<T> {
    let make = |_| Some(Box::new(SendBuffer::new(session)));
    turn::buffers::with(target(session).get(), make, work)
}

/// Encodes a call: joins it to the run of the calls before it, or writes a frame. With a `handout`,
/// the caller may add the calls that follow by itself. Without credit, nothing is written.
#[inline(always)]
pub(crate) fn call(
    session: &Arc<Session>,
    call: &Encoding<'_, impl Arguments>,
    handout: Option<&RunHandout<'_>>,
) -> EncodeOutcome {
    if !turn::is_open() {
        return held::call(session, call, handout);
    }
    let target = target(session);
    take_back_from_others(target);
    with(session, |buffer| {
        let mut open = buffer.open();
        let outcome = open.call(target, call, handout);
        let encoded = open.frames.encoded.total();
        drop(open);
        buffer.publish_if_full(encoded);
        outcome
    })
    .unwrap_or(EncodeOutcome::NotHere)
}

/// Takes back a run that ends the buffer of another session.
#[inline(always)]
fn take_back_from_others(target: NonZeroUsize) {
    if let Some(elsewhere) = run_writer::handed_out().filter(|elsewhere| *elsewhere != target) {
        take_back_from(elsewhere);
    }
}

#[cold]
fn take_back_from(target: NonZeroUsize) {
    let take_back = |buffer: &mut SendBuffer| drop(buffer.open());
    turn::buffers::with_existing(target.get(), take_back);
}

/// Takes a free slot for an ask of this turn, and opens it.
#[inline(always)]
pub(crate) fn open_slot(session: &Arc<Session>) -> Option<(u32, u32)> {
    match with(session, SendBuffer::take_slot).flatten() {
        Some(number) => session.asks.open_taken(number),
        None => session.asks.open(),
    }
}

/// Frees the slot of an ask: for the turn's next ask, or for every sender outside a turn.
#[inline]
pub(crate) fn free_slot(session: &Arc<Session>, number: u32) {
    if with(session, |buffer| buffer.keep_slot(number, KEPT_SLOTS_MAX)).is_none() {
        session.free_slot(number);
    }
}

/// Encodes an item of a stream. `last` is where the item before may be, and then where this one is.
///
/// Measured gain: `lab run remote`, cell *stream*, together with items that are read in runs
/// (`crates/link/src/recv_half/items.rs`): 0.27 us of CPU an item instead of 0.35.
#[inline(always)]
pub(crate) fn item(
    session: &Arc<Session>,
    stream: StreamId,
    last: &mut Option<Arc<TurnFrames>>,
    encode: &dyn Fn(&mut Buffer),
) -> ItemOutcome {
    if !turn::is_open() {
        return ItemOutcome::NotHere;
    }
    with(session, |buffer| buffer.item(stream, last, encode)).unwrap_or(ItemOutcome::NotHere)
}

/// Sends answers that are encoded already: with the current turn, or at once outside a turn.
pub(crate) fn answers(session: &Arc<Session>, encoded: &mut Buffer, count: u64) {
    send_answers(session, |frames| frames.answers(encoded.as_slice(), count));
    encoded.clear();
}

/// Sends the answer to an ask: with the current turn, or at once outside a turn.
pub(crate) fn answer(session: &Arc<Session>, asker: (u32, u32), value: &dyn DynEncode) {
    if value.is_plain() {
        session.pipe_answered(asker, None);
        let encode = |out: &mut Buffer| value.encode(out);
        return send_answers(session, |frames| frames.answer(session, asker, &encode));
    }
    match EncodedValue::new(session, |out| value.encode(out)) {
        Ok(encoded) => {
            session.pipe_answered(asker, encoded.first_reference());
            let copy = |out: &mut Buffer| out.extend(encoded.bytes());
            send_answers(session, |frames| frames.answer(session, asker, &copy));
            encoded.sent();
        }
        Err(why) => {
            let code = Code(CallErrorKind::NotSerializable.code());
            publish(session);
            let mut sending = session.sending();
            sending.statistics.asks_failed += 1;
            sending.asks_answered += 1;
            if sending.ended.is_none() {
                sending.sender.outbox.append(|out| write::error(out, asker, code, why));
            }
            drop(sending);
            session.pipe_failed(asker, CallErrorKind::NotSerializable, why);
            flush_soon(session);
        }
    }
}

/// Appends answers to the turn's buffer, or to a temporary buffer outside a turn.
fn send_answers(session: &Arc<Session>, answers: impl Fn(&mut Frames)) {
    let done = with(session, |buffer| {
        let mut open = buffer.open();
        answers(&mut open.frames);
        open.watch();
        let encoded = open.frames.encoded.total();
        drop(open);
        buffer.publish_if_full(encoded);
    });
    if done.is_none() {
        let alone = TurnFrames::new(session);
        let mut frames = alone.lock();
        answers(&mut frames);
        frames.publish_turn(session, &alone);
        drop(frames);
        session.flush();
    }
}

/// Flushes `session` at the end of this turn, or now outside a turn.
pub(crate) fn flush_soon(session: &Arc<Session>) {
    if with(session, SendBuffer::flush_soon).is_none() {
        session.flush();
    }
}

/// Publishes this turn's buffer for `session`, so that later frames follow it. Nothing is written:
/// the caller goes on to send.
pub(crate) fn publish(session: &Arc<Session>) {
    let target = target(session).get();
    let publish = |buffer: &mut SendBuffer| buffer.publish_frames();
    if turn::is_open() {
        turn::buffers::with(target, |_| None, publish);
    } else {
        turn::buffers::with_existing(target, publish);
    }
}
