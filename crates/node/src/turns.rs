//! What the current turn has sent and not yet published.
//!
//! Inside a turn (an actor's poll, a `wigwag::spawn` task's poll) calls and replies are encoded
//! into a buffer of this thread, with credit leased for the turn: no lock per message. When the
//! turn ends, or when a segment is full, the buffer is published and written with this thread.

use std::cell::RefCell;
use std::sync::Arc;
use std::task::Waker;

use wigwag_actor::turn;
use wigwag_link::limits::units;
use wigwag_link::{Code, write};
use wigwag_wire::{Buffer, Encode};

use crate::limits::{LEASE_UNITS_MAX, TURN_BYTES};
use crate::link::Link;

/// What this thread's turn has for one link.
struct Turned {
    link: Arc<Link>,
    encoded: Buffer,
    frames: u64,
    /// Credit taken for the turn: channel, units left.
    leases: Vec<(u64, u64)>,
    /// Something waits to be written that is not in `encoded`.
    flush: bool,
}

thread_local! {
    static TURNED: RefCell<Vec<Turned>> = const { RefCell::new(Vec::new()) };
}

/// Runs `work` on this turn's place for `link`; `None` outside a turn, or inside an encoder that
/// itself sends.
#[inline]
fn with<T>(link: &Arc<Link>, work: impl FnOnce(&mut Turned) -> T) -> Option<T> {
    if !turn::is_open() {
        return None;
    }
    TURNED.with(|turned| {
        let mut turned = turned.try_borrow_mut().ok()?;
        let at = turned
            .iter()
            .position(|place| Arc::ptr_eq(&place.link, link));
        let at = at.unwrap_or_else(|| {
            turned.push(Turned {
                link: link.clone(),
                encoded: Buffer::new(),
                frames: 0,
                leases: Vec::new(),
                flush: false,
            });
            turned.len() - 1
        });
        turn::at_end(publish_all);
        turned.get_mut(at).map(work)
    })
}

/// What encoding a call into the turn came to.
pub(crate) enum Encoded {
    Done,
    /// No credit or no room, somebody waits before us, or not in a turn: take the shared path.
    NotHere,
    /// The call is larger than the peer accepts.
    TooLarge,
}

/// Encodes a call. `encode` appends the frame and gives what its body measures; it may be called
/// only once, and what it wrote is taken back when the credit does not reach.
#[inline]
pub(crate) fn call(
    link: &Arc<Link>,
    channel: u64,
    encode: impl FnOnce(&mut Buffer) -> usize,
) -> Encoded {
    let encoded = with(link, |place| {
        let before = place.encoded.len();
        let body = encode(&mut place.encoded);
        if body as u64 > place.link.identity.limits.frame_max {
            place.encoded.truncate(before);
            return Encoded::TooLarge;
        }
        if !place.charge(channel, units(body)) {
            place.encoded.truncate(before);
            return Encoded::NotHere;
        }
        place.frames += 1;
        if place.encoded.len() >= TURN_BYTES {
            place.publish();
            place.link.flush();
        }
        Encoded::Done
    });
    encoded.unwrap_or(Encoded::NotHere)
}

/// Sends the answer to an ask: in the turn if there is one, at once otherwise.
pub(crate) fn answer(link: &Arc<Link>, asker: (u32, u32), value: &dyn Encode) {
    let frame_max = link.identity.limits.frame_max;
    let done = with(link, |place| {
        place.answer(asker, value, frame_max);
        if place.encoded.len() >= TURN_BYTES {
            place.publish();
            place.link.flush();
        }
    });
    if done.is_none() {
        let mut one = Turned {
            link: link.clone(),
            encoded: Buffer::new(),
            frames: 0,
            leases: Vec::new(),
            flush: false,
        };
        one.answer(asker, value, frame_max);
        one.publish();
        link.flush();
    }
}

/// Has `link` flushed when this turn ends, or now outside of one.
pub(crate) fn flush_soon(link: &Arc<Link>) {
    if with(link, |place| place.flush = true).is_none() {
        link.flush();
    }
}

/// Publishes what this turn has for `link`, so that what follows comes behind it.
pub(crate) fn publish(link: &Arc<Link>) {
    with(link, Turned::publish);
}

/// Publishes and flushes everything of this thread; the end of a turn.
pub(crate) fn publish_all() {
    TURNED.with(|turned| {
        let Ok(mut turned) = turned.try_borrow_mut() else {
            return;
        };
        for place in turned.iter_mut() {
            place.publish();
        }
        // Flushing is done without the borrow of a place's buffers being needed any more, but the
        // links stay here: the next turn of the thread most likely sends to the same.
        turned.retain_mut(|place| {
            if std::mem::take(&mut place.flush) {
                place.link.flush();
            }
            place.link.sending().ended.is_none()
        });
    });
}

impl Turned {
    /// Pays from the lease, which is filled up when it does not reach.
    #[inline]
    fn charge(&mut self, channel: u64, cost: u64) -> bool {
        if let Some((_, left)) = self
            .leases
            .iter_mut()
            .find(|(leased, _)| *leased == channel)
        {
            if *left >= cost {
                *left -= cost;
                return true;
            }
        }
        self.charge_anew(channel, cost)
    }

    #[cold]
    fn charge_anew(&mut self, channel: u64, cost: u64) -> bool {
        let mut sending = self.link.sending();
        if sending.ended.is_some()
            || sending.draining
            || !sending.sender.outbox.has_room_for_calls()
        {
            return false;
        }
        let free_for_all = sending
            .channels
            .get(channel as usize)
            .is_some_and(|channel| channel.gone.is_none() && channel.parked.is_empty());
        let Some(window) = sending.sender.window(channel).filter(|_| free_for_all) else {
            return false;
        };
        let most = (window.free() / 4).clamp(cost.max(16), LEASE_UNITS_MAX.max(cost));
        let lease = window.lease(most);
        let at = self
            .leases
            .iter()
            .position(|(leased, _)| *leased == channel);
        let at = at.unwrap_or_else(|| {
            self.leases.push((channel, 0));
            self.leases.len() - 1
        });
        let left = &mut self.leases[at].1;
        *left += lease;
        let enough = *left >= cost;
        if enough {
            *left -= cost;
        }
        enough
    }

    fn answer(&mut self, asker: (u32, u32), value: &dyn Encode, frame_max: u64) {
        let before = self.encoded.len();
        let body = write::reply(&mut self.encoded, asker, |out| value.encode(out));
        if body as u64 > frame_max {
            self.encoded.truncate(before);
            let text = format!("the reply has {body} bytes, the asker accepts {frame_max}");
            write::error(&mut self.encoded, asker, Code::TOO_LARGE, &text);
        }
        self.frames += 1;
        self.flush = true;
    }

    fn publish(&mut self) {
        if self.frames == 0 && self.leases.is_empty() {
            return;
        }
        let mut wakers: Vec<Waker> = Vec::new();
        let mut sending = self.link.sending();
        for (channel, left) in self.leases.drain(..) {
            if let Some(window) = sending.sender.window(channel) {
                window.give_back(left);
            }
            wakers.extend(sending.front(channel));
        }
        if sending.ended.is_some() {
            self.encoded.clear();
        } else {
            sending
                .sender
                .outbox
                .publish(&mut self.encoded, self.frames);
            self.flush |= self.frames > 0;
        }
        self.frames = 0;
        drop(sending);
        wakers.into_iter().for_each(Waker::wake);
    }
}
