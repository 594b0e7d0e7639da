//! An outbound channel: calls to one actor of the peer.

use std::sync::Arc;

use wigwag_actor::lifecycle::end_watchers::EndWatchers;
use wigwag_actor::{CallErrorKind, Parked, Reason, Ticket};
use wigwag_link::limits::FRAME_UNITS;

use crate::session::attach::Attaching;
use crate::session::buffers::holders::Holders;
use crate::session::links::ChannelLinks;
use crate::session::rejected::MethodNames;
use crate::session::statistics::tally::Tally;

/// The state of an outbound channel, apart from its credit.
pub(crate) struct OutboundChannel {
    /// The actor's address.
    pub(crate) target: Arc<str>,
    /// Which use of the channel's number this is.
    pub(in crate::session) use_of: u32,
    pub(crate) tally: Tally,
    pub(crate) names: MethodNames,
    pub(crate) parked: Parked,
    /// The cost of the call that the first of the parked senders waits with, if that is a long one:
    /// what it still lacks would never come if others took it.
    pub(in crate::session) long_waiting: u64,
    /// The turns that may hold calls on this channel.
    pub(crate) holders: Holders,
    /// The last reference was dropped; detach when no turn holds calls.
    pub(crate) detach_wanted: bool,
    /// The receiver has closed the channel; calls fail with this.
    pub(crate) gone: Option<CallErrorKind>,
    /// Why the actor has stopped, if it has and the peer has said so.
    pub(crate) end_reason: Option<Reason>,
    /// Told when no later call can reach the actor: the channel is gone, or the session has ended.
    pub(crate) end_watchers: EndWatchers,
    pub(in crate::session) links: ChannelLinks,
    pub(in crate::session) attaching: Option<Attaching>,
}

impl OutboundChannel {
    pub(in crate::session) fn new(target: &Arc<str>) -> OutboundChannel {
        OutboundChannel {
            target: target.clone(),
            use_of: 0,
            tally: Tally::default(),
            names: MethodNames::default(),
            parked: Parked::default(),
            long_waiting: 0,
            holders: Holders::default(),
            detach_wanted: false,
            gone: None,
            end_reason: None,
            end_watchers: EndWatchers::default(),
            links: ChannelLinks::default(),
            attaching: None,
        }
    }

    /// The units that are kept for a sender in front of the holder of `ticket`, or of a newcomer,
    /// which waits with a long call.
    pub(crate) fn kept_for_long_call(&self, ticket: Option<&Ticket>) -> u64 {
        let is_first = ticket.is_some_and(|ticket| self.parked.may_pass(ticket, 1));
        if self.parked.is_empty() || is_first { 0 } else { self.long_waiting }
    }

    /// Records that the holder of `ticket`, which was parked, lacks the credit for a call of `units`.
    pub(crate) fn lacks_credit(&mut self, ticket: &Ticket, units: u64) {
        if self.parked.may_pass(ticket, 1) {
            self.long_waiting = if units > FRAME_UNITS { units } else { 0 };
        }
    }

    /// True, once, if the channel is to be detached and no turn holds calls any more.
    pub(crate) fn take_detach(&mut self) -> bool {
        self.holders.is_empty() && std::mem::take(&mut self.detach_wanted)
    }
}
