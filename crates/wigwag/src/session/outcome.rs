//! The outcome of the calls of a session that has ended.
//!
//! Each call was certainly handled, or certainly not, or the outcome is unknown here. Frames that
//! were published and never reached the peer are still in the outbox, and each names its channel
//! and asker; so nothing is kept per call while the session lives.

use std::collections::HashMap;
use std::sync::Arc;
use std::task::Waker;

use wigwag_actor::CallErrorKind;
use wigwag_link::frame::{Frame, kind};
use wigwag_link::outbox::Outbox;
use wigwag_wire::Reader;
use wigwag_wire::run::{Run, is_run};

use crate::events::Delivery;
use crate::replies::slot::Completion;
use crate::session::{OutboundChannel, SendState, Session};

/// The calls that never reached the peer.
#[derive(Default)]
pub(crate) struct UnsentCalls {
    /// The number of their tells per channel.
    tells: HashMap<u64, u64>,
    /// Their asks: first slot, generation, and the number of consecutive slots.
    asks: Vec<(u32, u32, u32)>,
    /// The end of the session is not announced before [`fail`](Self::fail).
    is_awaited: bool,
}

impl UnsentCalls {
    pub(crate) fn in_outbox(outbox: &Outbox) -> UnsentCalls {
        let mut unsent = UnsentCalls::default();
        outbox.each_unsent(|kind, body| unsent.add(kind, body));
        unsent
    }

    /// The calls in frames that were encoded and not published. Their tells are counted, and the end
    /// of the session is not announced until their asks are too: [`fail`](Self::fail) must follow.
    pub(crate) fn in_frames(encoded: &[u8], sending: &mut SendState) -> UnsentCalls {
        let (mut unsent, mut reader) = (UnsentCalls::default(), Reader::new(encoded));
        while let Ok((kind, body)) = Frame::next(&mut reader, u64::MAX) {
            unsent.add(kind, body);
        }
        for (channel, tells) in &unsent.tells {
            if let Some(channel) = sending.channels.get_mut(*channel as usize) {
                channel.tally.hold_back(*tells);
            }
        }
        unsent.is_awaited = true;
        sending.unsent_to_fail += 1;
        unsent
    }

    fn add(&mut self, kind: u8, body: &[u8]) {
        if is_run(kind) && kind != kind::REPLIES {
            let Some((run, count)) = Run::parse_checked(kind, body) else { return };
            match run.asker {
                None => *self.tells.entry(run.channel).or_default() += count as u64,
                Some((slot, generation)) => self.asks.push((slot, generation, count as u32)),
            }
            return;
        }
        match Frame::parse(kind, body) {
            Ok(Frame::Tell { channel, .. }) => *self.tells.entry(channel).or_default() += 1,
            Ok(
                Frame::Ask { slot, generation, .. }
                | Frame::AskWithin { slot, generation, .. }
                | Frame::AskItems { slot, generation, .. },
            ) => {
                self.asks.push((slot as u32, generation as u32, 1));
            }
            _ => {}
        }
    }

    /// Fails and counts their asks; returns the wakers of those that wait. The asks of pipelines
    /// fail when all asks end. If the announcement of the session's end has waited for this, it is
    /// made.
    pub(crate) fn fail(self, session: &Session, why: &Arc<str>) -> Vec<Waker> {
        const KIND: CallErrorKind = CallErrorKind::NotDelivered;
        let (asks, mut failed) = (&session.asks, Vec::new());
        for (slot, generation, _) in &self.asks {
            asks.mark_unsent_from((*slot, *generation));
        }
        let singles = self.asks.iter().flat_map(|(slot, generation, count)| {
            (*slot..slot.saturating_add(*count)).map(|slot| (slot, *generation))
        });
        let mut wakers = Vec::new();
        for asker in singles {
            let origin = asks.origin(asker.0);
            match asks.fail(asker, || Box::new((KIND, why.to_string().into()))) {
                Completion::Stored(waker) => {
                    failed.push((origin, KIND));
                    wakers.extend(waker);
                }
                Completion::Unwanted => failed.push((origin, KIND)),
                Completion::NotOpen => {}
            }
        }
        let mut sending = session.sending();
        sending.asks_failed(failed);
        if self.is_awaited {
            sending.unsent_to_fail -= 1;
            drop(sending);
            session.announce_end();
        }
        wakers
    }

    /// The outcome of the calls on each channel that had any. `counts_tells` says that the peer
    /// counts the tells that it has taken.
    pub(crate) fn deliveries(
        &self,
        channels: &[OutboundChannel],
        counts_tells: bool,
    ) -> Arc<[Delivery]> {
        let known = channels.iter().enumerate().filter_map(|(number, channel)| {
            let unsent = self.tells.get(&(number as u64)).copied().unwrap_or(0);
            channel.tally.delivery(&channel.target, unsent, counts_tells)
        });
        known.collect()
    }
}
