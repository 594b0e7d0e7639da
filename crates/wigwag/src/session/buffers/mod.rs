//! What the current turn has sent and not yet published.
//!
//! Inside a turn (an actor's poll, a `wigwag::spawn` task's poll) calls and replies are encoded
//! into a buffer of this thread, with credit leased for the turn: no lock per message. When the
//! turn ends, or when a segment is full, the buffer is published and written with this thread.

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

/// What this thread's turn has for all links.
struct SendBuffers {
    /// The turn is open and will publish at its end.
    armed: bool,
    /// The first place's buffer is with those who call: it ends in the run at hand.
    lent: bool,
    places: Vec<SendBuffer>,
}

thread_local! {
    static PLACES: RefCell<SendBuffers> =
        const { RefCell::new(SendBuffers { armed: false, lent: false, places: Vec::new() }) };
}

/// Who may add calls to the run that a call was joined to.
pub(crate) struct RunHandout<'a> {
    pub(crate) run_owner: RunOwner,
    /// The method, by the number that the caller's own schema gives it.
    pub(crate) method: u32,
    /// Those calls are asks from these slots: the number of the next one, and how many may follow.
    pub(crate) ring: Option<(&'a Arc<Ring>, u64, usize)>,
}

impl SendBuffers {
    /// Takes back what was lent. False: this is an encoder that itself sends, and it has it.
    #[inline(always)]
    fn settle(&mut self) -> bool {
        !self.lent || self.settle_now()
    }

    fn settle_now(&mut self) -> bool {
        let Some(place) = self.places.first_mut() else { return true };
        let Some(added) = run_writer::take_back(&mut place.encoded) else { return false };
        self.lent = false;
        place.joiner.note_items(added);
        place.calls += added as u64;
        place.left = place.left.saturating_sub(added as u64);
        if let Some((ring, first)) = place.ring.take() {
            ring.raise_sent(first + added as u64);
        }
        true
    }

    /// Lends the run that a call was just joined to, if there is room in it.
    fn handout(&mut self, handout: &RunHandout<'_>) {
        let Some(place) = self.places.first_mut() else { return };
        let most = handout.ring.map_or(usize::MAX, |(_, _, most)| most);
        let room = place.joiner.room().min(place.left as usize).min(most);
        if room > 0 {
            run_writer::hand_out(handout.run_owner, handout.method, room, &mut place.encoded);
            place.ring = handout.ring.map(|(ring, next, _)| (ring.clone(), next));
            self.lent = true;
        }
    }

    /// The place for `session`; `None` outside a turn.
    #[inline]
    fn find(&mut self, session: &Arc<Session>) -> Option<&mut SendBuffer> {
        if !self.armed {
            if !turn::is_open() {
                return None;
            }
            turn::at_end(publish_all);
            self.armed = true;
        }
        if self.places.first().is_some_and(|first| Arc::ptr_eq(&first.session, session)) {
            return self.places.first_mut();
        }
        let at = self.find_or_add(session);
        self.places.get_mut(at)
    }

    #[cold]
    fn find_or_add(&mut self, session: &Arc<Session>) -> usize {
        let at = self.places.iter().position(|place| Arc::ptr_eq(&place.session, session));
        at.unwrap_or_else(|| {
            self.places.push(SendBuffer::new(session));
            self.places.len() - 1
        })
    }
}

/// Runs `work` on this turn's place for `session`; `None` outside a turn, or inside an encoder that
/// itself sends.
#[inline(always)]
fn with<T>(session: &Arc<Session>, work: impl FnOnce(&mut SendBuffer) -> T) -> Option<T> {
    PLACES.with(|places| {
        let mut places = places.try_borrow_mut().ok()?;
        if places.settle() { places.find(session).map(work) } else { None }
    })
}

/// What encoding a call into the turn came to.
pub(crate) enum EncodeOutcome<T> {
    Done(T),
    /// No credit or no room, somebody waits before us, or not in a turn: take the shared path.
    NotHere,
    /// The call is larger than the peer accepts.
    TooLarge,
}

/// Joins a call to those that this turn has sent just before, if it is of their kind, and they have
/// left credit for it; those that follow need not come here. False: it is still to be sent.
#[inline(always)]
pub(crate) fn join(
    session: &Arc<Session>,
    channel: u64,
    handout: Option<&RunHandout<'_>>,
    join: impl FnOnce(&mut RunBuilder, &mut Buffer) -> bool,
) -> bool {
    PLACES.with(|places| {
        // Outside a turn no place has a channel at hand.
        let Ok(mut places) = places.try_borrow_mut() else { return false };
        if !places.settle() {
            return false;
        }
        let Some(place) = places.places.first_mut() else { return false };
        let is_open =
            Arc::ptr_eq(&place.session, session) && place.channel == channel && place.left > 0;
        if !is_open || !join(&mut place.joiner, &mut place.encoded) {
            return false;
        }
        place.left -= 1;
        place.written();
        if let Some(handout) = handout {
            places.handout(handout);
        }
        true
    })
}

/// Encodes a call: `encode` appends the frame and gives what its body measures, and `note` says what
/// may be joined to it. What was written is taken back when the credit does not reach.
#[inline(always)]
pub(crate) fn call(
    session: &Arc<Session>,
    channel: u64,
    encode: impl FnOnce(&mut Buffer) -> usize,
    note: impl FnOnce(&mut RunBuilder),
) -> EncodeOutcome<()> {
    let encoded = with(session, |place| {
        let encoded = place.call(channel, encode);
        if let (EncodeOutcome::Done(()), true) = (&encoded, place.session.runs) {
            note(&mut place.joiner);
        }
        encoded
    });
    encoded.unwrap_or(EncodeOutcome::NotHere)
}

/// Encodes an ask from a free slot, whose number and generation `encode` gets.
#[inline(always)]
pub(crate) fn ask(
    session: &Arc<Session>,
    channel: u64,
    encode: impl FnOnce(&mut Buffer, (u32, u32)) -> usize,
) -> EncodeOutcome<(u32, u32)> {
    let encoded = with(session, |place| {
        let number = place.slots.pop().or_else(|| place.take_slots())?;
        let generation = session.asks.hot(number)?.open();
        let asker = (number, generation);
        match place.call(channel, |out| encode(out, asker)) {
            EncodeOutcome::Done(()) => Some(EncodeOutcome::Done(asker)),
            refused => {
                session.asks.slot(number)?.close_unsent(generation);
                place.slots.push(number);
                match refused {
                    EncodeOutcome::TooLarge => Some(EncodeOutcome::TooLarge),
                    _ => None,
                }
            }
        }
    });
    encoded.flatten().unwrap_or(EncodeOutcome::NotHere)
}

/// The slot of an ask is free again: in the turn for its next ask, for everybody otherwise.
#[inline]
pub(crate) fn free_slot(session: &Arc<Session>, number: u32) {
    let kept = with(session, |place| {
        place.slots.push(number);
        if place.slots.len() >= KEPT_SLOTS_MAX {
            place.give_slots_back();
        }
    });
    if kept.is_none() {
        session.free_slot(number);
    }
}

/// Sends answers that are encoded already: in the turn if there is one, at once otherwise.
pub(crate) fn answers(session: &Arc<Session>, frames: &mut Buffer, count: u64) {
    give(session, |place| {
        place.joiner.close(&mut place.encoded);
        place.encoded.extend(frames.as_slice());
        place.answers += count;
        place.flush = true;
    });
    frames.clear();
}

/// Sends the answer to an ask, in the same way.
pub(crate) fn answer(session: &Arc<Session>, asker: (u32, u32), value: &dyn DynEncode) {
    let frame_max = session.identity.limits.frame_max;
    give(session, |place| place.answer(asker, value, frame_max));
}

/// Has the turn's place take answers in, or a place for them alone.
fn give(session: &Arc<Session>, answers: impl Fn(&mut SendBuffer)) {
    let done = with(session, |place| {
        answers(place);
        if place.encoded.len() >= TURN_BYTES {
            place.publish_and_flush();
        }
    });
    if done.is_none() {
        let mut alone = SendBuffer::new(session);
        answers(&mut alone);
        alone.publish();
        session.flush();
    }
}

/// Has `session` flushed when this turn ends, or now outside of one.
pub(crate) fn flush_soon(session: &Arc<Session>) {
    if with(session, |place| place.flush = true).is_none() {
        session.flush();
    }
}

/// Publishes what this turn has for `session`, so that what follows comes behind it.
pub(crate) fn publish(session: &Arc<Session>) {
    with(session, SendBuffer::publish);
}

/// Publishes and flushes everything of this thread; the end of a turn.
pub(crate) fn publish_all() {
    PLACES.with(|places| {
        let Ok(mut places) = places.try_borrow_mut() else {
            return;
        };
        // Between two turns nobody encodes.
        places.settle();
        places.armed = false;
        // The links stay here: the next turn of the thread most likely sends to the same.
        places.places.retain_mut(|place| {
            place.publish();
            if std::mem::take(&mut place.flush) {
                place.session.flush();
            }
            !place.session.is_over()
        });
        places.places.truncate(LINKS_KEPT_MAX);
    });
}
