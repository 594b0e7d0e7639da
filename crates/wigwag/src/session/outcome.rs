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
use wigwag_wire::run::Run;

use crate::events::Delivery;
use crate::replies::asks::AskTable;
use crate::replies::slot::Completion;
use crate::session::OutboundChannel;

/// The calls that never reached the peer.
#[derive(Default)]
pub(crate) struct UnsentCalls {
    /// Their number per channel.
    calls: HashMap<u64, u64>,
    /// Their asks: first slot, generation, and the number of consecutive slots.
    asks: Vec<(u32, u32, u32)>,
}

impl UnsentCalls {
    pub(crate) fn in_outbox(outbox: &Outbox) -> UnsentCalls {
        let mut unsent = UnsentCalls::default();
        outbox.each_unsent(|kind, body| unsent.add(kind, body));
        unsent
    }

    /// The calls in frames that were encoded and not published.
    pub(crate) fn in_frames(encoded: &[u8]) -> UnsentCalls {
        let (mut unsent, mut reader) = (UnsentCalls::default(), Reader::new(encoded));
        while let Ok((kind, body)) = Frame::next(&mut reader, u64::MAX) {
            unsent.add(kind, body);
        }
        unsent
    }

    fn add(&mut self, kind: u8, body: &[u8]) {
        if let kind::TELLS | kind::ASKS = kind {
            let Some(run) = Run::parse(kind, body) else { return };
            let count = run.items.checked_count().unwrap_or(0);
            *self.calls.entry(run.channel).or_default() += count as u64;
            let asked = run.asker.map(|(slot, generation)| (slot, generation, count as u32));
            self.asks.extend(asked);
            return;
        }
        match Frame::parse(kind, body) {
            Ok(Frame::Tell { channel, .. }) => *self.calls.entry(channel).or_default() += 1,
            Ok(Frame::Ask { channel, slot, generation, .. }) => {
                *self.calls.entry(channel).or_default() += 1;
                self.asks.push((slot as u32, generation as u32, 1));
            }
            _ => {}
        }
    }

    /// Fails their asks; returns the wakers of those that wait. The asks of pipelines fail when all
    /// asks end.
    pub(crate) fn fail(&self, asks: &AskTable, why: &Arc<str>) -> Vec<Waker> {
        for (slot, generation, _) in &self.asks {
            asks.mark_unsent_from((*slot, *generation));
        }
        let singles = self.asks.iter().flat_map(|(slot, generation, count)| {
            (*slot..slot.saturating_add(*count)).map(|slot| (slot, *generation))
        });
        let failed = singles.filter_map(|asker| {
            let failure = || Box::new((CallErrorKind::NotDelivered, why.to_string().into()));
            match asks.fail(asker, failure) {
                Completion::Stored(waker) => waker,
                _ => None,
            }
        });
        failed.collect()
    }

    /// The outcome of the calls on each channel that had any.
    pub(crate) fn deliveries(&self, channels: &[OutboundChannel]) -> Arc<[Delivery]> {
        let called = channels.iter().enumerate().filter(|(_, channel)| channel.called > 0);
        let known = called.map(|(number, channel)| {
            let unsent = self.calls.get(&(number as u64)).copied().unwrap_or(0);
            let not_delivered = (unsent + channel.held_back).min(channel.called);
            let delivered = channel.handled.min(channel.called - not_delivered);
            Delivery {
                target: channel.target.clone(),
                delivered,
                unknown: channel.called - not_delivered - delivered,
                not_delivered,
            }
        });
        known.collect()
    }
}
