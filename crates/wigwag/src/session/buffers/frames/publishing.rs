//! The frames of a turn become those of the session: at the end of the turn, or earlier for another
//! thread.

use std::sync::Arc;
use std::task::Waker;

use wigwag_actor::turn::buffers;

use super::{Frames, Lease, TurnFrames};
use crate::limits::TENURE_CALLS;
use crate::session::Session;
use crate::session::buffers::holders::RunRest;
use crate::session::outcome::UnsentCalls;
use crate::sync::MutexGuard;

/// The party that publishes the frames of a turn. `rest` is the run that another thread has closed.
enum Publisher {
    /// The turn itself, or a thread that publishes calls held between turns: all leases are over.
    Turn { rest: Option<RunRest> },
    /// Another thread, which is about to send on `channel`, or the watchdog, which sends on none.
    Other { channel: u64, rest: Option<RunRest> },
}

impl TurnFrames {
    /// Publishes the frames of a turn that takes long, or that a thread holds between its turns while
    /// the driver does not come. The caller flushes.
    #[cold]
    pub(crate) fn publish_late(
        self: &Arc<TurnFrames>,
        mut frames: MutexGuard<'_, Frames>,
        session: &Session,
    ) {
        frames.publish_by_other(session, self, u64::MAX);
        frames.flush = false;
    }

    /// Publishes what the thread holds between its turns. The caller flushes.
    #[cold]
    pub(crate) fn publish_between_turns(
        self: &Arc<TurnFrames>,
        mut frames: MutexGuard<'_, Frames>,
        session: &Session,
    ) {
        if !frames.is_held {
            return;
        }
        frames.publish_held(session, self);
    }

    /// Publishes the frames for another thread, which is about to send an item of a stream behind those
    /// that are here, or its end.
    #[cold]
    pub(crate) fn publish_items(self: &Arc<TurnFrames>, session: &Session) {
        self.publish_for_other(session, u64::MAX);
    }

    /// Publishes the frames for another thread, which is about to send on `channel`.
    #[cold]
    pub(crate) fn publish_for_other(self: &Arc<TurnFrames>, session: &Session, channel: u64) {
        // A waker that itself sends may run under the lock of its own turn's frames. It must not
        // wait for another turn's frames.
        let mut frames = match buffers::is_busy() {
            false => self.lock(),
            true => match self.try_lock() {
                Some(frames) => frames,
                None => return,
            },
        };
        if frames.is_held {
            session.sending().rest_holders(channel);
        }
        frames.publish_by_other(session, self, channel);
    }
}

impl Frames {
    /// Publishes the frames of the turn itself and gives its leases back. The caller flushes.
    pub(crate) fn publish_turn(&mut self, session: &Session, turn: &Arc<TurnFrames>) {
        self.publish(session, turn, Publisher::Turn { rest: None });
        self.turns += 1;
    }

    /// Publishes what is held between turns. No lease is kept for calls that may not come.
    fn publish_held(&mut self, session: &Session, turn: &Arc<TurnFrames>) {
        let rest = self.close_run();
        self.publish(session, turn, Publisher::Turn { rest });
        self.turns += 1;
    }

    /// Publishes for another thread, which is about to send on `channel`, or for the watchdog. Calls
    /// held between turns have no end of a turn that would give their leases back.
    fn publish_by_other(&mut self, session: &Session, turn: &Arc<TurnFrames>, channel: u64) {
        if self.is_held {
            return self.publish_held(session, turn);
        }
        let rest = self.close_run();
        self.publish(session, turn, Publisher::Other { channel, rest });
    }

    fn publish(&mut self, session: &Session, turn: &Arc<TurnFrames>, publisher: Publisher) {
        self.run.close(&mut self.encoded);
        self.store_lease();
        self.is_held = false;
        if self.of_no_channel == 0 && self.called_channels.is_empty() {
            return;
        }
        let mut frames = std::mem::take(&mut self.of_no_channel);
        let mut unsent: Vec<UnsentCalls> = Vec::new();
        let mut wakers: Vec<Waker> = Vec::new();
        let mut to_detach = Vec::new();
        let mut sending = session.sending();
        sending.asks_answered += std::mem::take(&mut self.answered);
        let ended = sending.ended.clone();
        let leases = &mut self.leases;
        self.called_channels.retain(|&channel| {
            let Some(lease) = leases.get_mut(channel as usize) else { return false };
            let calls = std::mem::take(&mut lease.calls);
            lease.published += calls;
            frames += calls;
            let is_over = match &publisher {
                Publisher::Turn { .. } => true,
                // A turn that goes on sending keeps its lease for a while, so that two threads
                // which send to one actor do not change places at each call.
                Publisher::Other { channel: called, .. } => {
                    // Behind a long call the turn waits as every sender does.
                    let gives_way = calls == 0
                        || lease.published >= TENURE_CALLS
                        || sending.sender.is_long_under_way(channel);
                    ended.is_some() || (*called == channel && gives_way)
                }
            };
            unsent.extend(sending.publish_closed_runs(channel));
            if let Some(state) = sending.channels.get_mut(channel as usize) {
                state.tally.called += calls;
                if is_over {
                    state.holders.release(turn);
                }
                if state.take_detach() {
                    to_detach.push(channel);
                }
            }
            if is_over {
                let Lease { credit, .. } = std::mem::take(lease);
                if let Some(window) = sending.sender.window(channel) {
                    window.give_back(credit);
                }
                wakers.extend(sending.wakers_with_room(channel));
            }
            !is_over
        });
        let (Publisher::Turn { rest } | Publisher::Other { rest, .. }) = publisher;
        if let Some(rest) = rest
            && let Some(state) = sending.channels.get_mut(rest.channel as usize)
        {
            state.holders.add_closed(rest);
        }
        if ended.is_some() {
            unsent.push(UnsentCalls::in_frames(&self.encoded.flat(0..usize::MAX), &mut sending));
            self.encoded.clear();
        } else {
            sending.sender.outbox.publish(&mut self.encoded, frames);
            self.flush |= frames > 0;
        }
        drop(sending);
        if let Some(ended) = ended {
            // Of this buffer, only its own asks are known never to have left.
            for calls in unsent {
                wakers.append(&mut calls.fail(session, &ended.why));
            }
            session.announce_end();
        }
        wakers.into_iter().for_each(Waker::wake);
        to_detach.into_iter().for_each(|channel| session.detach(channel));
    }
}
