//! The frames that the current turn has encoded and not yet published.
//!
//! In a turn (one poll of an actor or of a `wigwag::spawn` task), calls and replies are encoded
//! into a buffer of this thread, with credit leased for the turn: no lock per message. When the
//! turn ends, or a segment is full, this thread publishes the buffer and writes it.

use std::cell::RefCell;
use std::sync::Arc;

use wigwag_actor::reference::run_writer::{self, RunOwner};
use wigwag_actor::turn;
use wigwag_wire::Buffer;
use wigwag_wire::run::RunBuilder;
use wigwag_wire::small::DynEncode;

use crate::limits::{KEPT_SLOTS_MAX, LINKS_KEPT_MAX, TURN_BYTES};
use crate::replies::ring::Ring;
use crate::session::Session;
use crate::session::buffers::buffer::SendBuffer;

mod buffer;

/// The send buffers of the current turn, one per session.
struct SendBuffers {
    /// A turn is open, and its end publishes the buffers.
    publishes_at_end: bool,
    /// The first session's buffer is handed out to the caller's reference: it ends in the current
    /// run.
    is_handed_out: bool,
    sessions: Vec<SendBuffer>,
}

thread_local! {
    static BUFFERS: RefCell<SendBuffers> =
        const { RefCell::new(SendBuffers { publishes_at_end: false, is_handed_out: false, sessions: Vec::new() }) };
}

/// Permission to add further calls to the run that a call was joined to.
pub(crate) struct RunHandout<'a> {
    pub(crate) run_owner: RunOwner,
    /// The method, by its number in the caller's own schema.
    pub(crate) method: u32,
    /// For asks: their ring, the number of the next ask, and how many may follow.
    pub(crate) ring: Option<(&'a Arc<Ring>, u64, usize)>,
}

impl SendBuffers {
    /// Takes back the run that was handed out. False inside an encoder that itself sends: that
    /// encoder holds the run.
    #[inline(always)]
    fn take_back_run(&mut self) -> bool {
        !self.is_handed_out || self.take_back_run_now()
    }

    fn take_back_run_now(&mut self) -> bool {
        let Some(buffer) = self.sessions.first_mut() else { return true };
        let Some(added) = run_writer::take_back(&mut buffer.encoded) else { return false };
        self.is_handed_out = false;
        buffer.run.note_items(added);
        buffer.calls += added as u64;
        buffer.credit = buffer.credit.saturating_sub(added as u64);
        if let Some((ring, first)) = buffer.ring.take() {
            ring.raise_sent(first + added as u64);
        }
        true
    }

    /// Hands out the run that a call was just joined to, if the run has room.
    fn hand_out_run(&mut self, handout: &RunHandout<'_>) {
        let Some(buffer) = self.sessions.first_mut() else { return };
        let most = handout.ring.map_or(usize::MAX, |(_, _, most)| most);
        let room = buffer.run.room().min(buffer.credit as usize).min(most);
        if room > 0 {
            run_writer::hand_out(handout.run_owner, handout.method, room, &mut buffer.encoded);
            buffer.ring = handout.ring.map(|(ring, next, _)| (ring.clone(), next));
            self.is_handed_out = true;
        }
    }

    /// The buffer for `session`; `None` outside a turn.
    #[inline]
    fn find(&mut self, session: &Arc<Session>) -> Option<&mut SendBuffer> {
        if !self.publishes_at_end {
            if !turn::is_open() {
                return None;
            }
            turn::at_end(publish_all);
            self.publishes_at_end = true;
        }
        if self.sessions.first().is_some_and(|first| Arc::ptr_eq(&first.session, session)) {
            return self.sessions.first_mut();
        }
        let at = self.find_or_add(session);
        self.sessions.get_mut(at)
    }

    #[cold]
    fn find_or_add(&mut self, session: &Arc<Session>) -> usize {
        let at = self.sessions.iter().position(|buffer| Arc::ptr_eq(&buffer.session, session));
        at.unwrap_or_else(|| {
            self.sessions.push(SendBuffer::new(session));
            self.sessions.len() - 1
        })
    }
}

/// Runs `work` on this turn's buffer for `session`. `None` outside a turn, or inside an encoder
/// that itself sends.
#[inline(always)]
fn with<T>(session: &Arc<Session>, work: impl FnOnce(&mut SendBuffer) -> T) -> Option<T> {
    BUFFERS.with(|buffers| {
        let mut buffers = buffers.try_borrow_mut().ok()?;
        if buffers.take_back_run() { buffers.find(session).map(work) } else { None }
    })
}

/// The result of encoding a call into the turn's buffer.
pub(crate) enum EncodeOutcome<T> {
    Done(T),
    /// There is no credit, no room, a sender that waited longer, or no turn: the caller takes the
    /// shared path.
    NotHere,
    /// The call is larger than the peer accepts.
    TooLarge,
}

/// Joins a call to the run that this turn has just encoded, if the call is of the same kind and the
/// lease has credit. With a `handout`, the caller adds the calls that follow by itself. False if
/// the call is still to be sent.
#[inline(always)]
pub(crate) fn join(
    session: &Arc<Session>,
    channel: u64,
    handout: Option<&RunHandout<'_>>,
    join: impl FnOnce(&mut RunBuilder, &mut Buffer) -> bool,
) -> bool {
    BUFFERS.with(|buffers| {
        // Outside a turn no buffer has a current channel.
        let Ok(mut buffers) = buffers.try_borrow_mut() else { return false };
        if !buffers.take_back_run() {
            return false;
        }
        let Some(buffer) = buffers.sessions.first_mut() else { return false };
        let is_open =
            Arc::ptr_eq(&buffer.session, session) && buffer.channel == channel && buffer.credit > 0;
        if !is_open || !join(&mut buffer.run, &mut buffer.encoded) {
            return false;
        }
        buffer.credit -= 1;
        buffer.call_written();
        if let Some(handout) = handout {
            buffers.hand_out_run(handout);
        }
        true
    })
}

/// Encodes a call: `encode` appends the frame and returns the size of its body, `note` says what
/// may be joined to it. Without credit, the bytes are removed again.
#[inline(always)]
pub(crate) fn call(
    session: &Arc<Session>,
    channel: u64,
    encode: impl FnOnce(&mut Buffer) -> usize,
    note: impl FnOnce(&mut RunBuilder),
) -> EncodeOutcome<()> {
    let encoded = with(session, |buffer| {
        let encoded = buffer.call(channel, encode);
        if let (EncodeOutcome::Done(()), true) = (&encoded, buffer.session.runs) {
            note(&mut buffer.run);
        }
        encoded
    });
    encoded.unwrap_or(EncodeOutcome::NotHere)
}

/// Encodes an ask from a free slot, whose number and generation are passed to `encode`.
#[inline(always)]
pub(crate) fn ask(
    session: &Arc<Session>,
    channel: u64,
    encode: impl FnOnce(&mut Buffer, (u32, u32)) -> usize,
) -> EncodeOutcome<(u32, u32)> {
    let encoded = with(session, |buffer| {
        let number = buffer.slots.pop().or_else(|| buffer.take_slots())?;
        let generation = session.asks.hot(number)?.open();
        let asker = (number, generation);
        match buffer.call(channel, |out| encode(out, asker)) {
            EncodeOutcome::Done(()) => Some(EncodeOutcome::Done(asker)),
            refused => {
                session.asks.slot(number)?.close_unsent(generation);
                buffer.slots.push(number);
                match refused {
                    EncodeOutcome::TooLarge => Some(EncodeOutcome::TooLarge),
                    _ => None,
                }
            }
        }
    });
    encoded.flatten().unwrap_or(EncodeOutcome::NotHere)
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
    send_answers(session, |buffer| {
        buffer.run.close(&mut buffer.encoded);
        buffer.encoded.extend(frames.as_slice());
        buffer.answers += count;
        buffer.flush = true;
    });
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
        alone.publish();
        session.flush();
    }
}

/// Flushes `session` at the end of this turn, or now outside a turn.
pub(crate) fn flush_soon(session: &Arc<Session>) {
    if with(session, |buffer| buffer.flush = true).is_none() {
        session.flush();
    }
}

/// Publishes this turn's buffer for `session`, so that later frames follow it.
pub(crate) fn publish(session: &Arc<Session>) {
    with(session, SendBuffer::publish);
}

/// Publishes and flushes all buffers of this thread, at the end of a turn.
pub(crate) fn publish_all() {
    BUFFERS.with(|buffers| {
        let Ok(mut buffers) = buffers.try_borrow_mut() else {
            return;
        };
        // No encoder runs between two turns.
        buffers.take_back_run();
        buffers.publishes_at_end = false;
        // The buffers stay: the next turn of this thread most likely sends to the same sessions.
        buffers.sessions.retain_mut(|buffer| {
            buffer.publish();
            if std::mem::take(&mut buffer.flush) {
                buffer.session.flush();
            }
            !buffer.session.has_ended()
        });
        buffers.sessions.truncate(LINKS_KEPT_MAX);
    });
}
