//! The channels that the peer calls on: opened, paid for, and closed (sections 4 and 5).
//!
//! A call is held against the credit of its channel before the application sees it. The limit that
//! was looked up last is kept here, so that nearly all calls are paid for without the send half.

use alloc::collections::BTreeSet;
use alloc::format;
use alloc::vec::Vec;

use wigwag_wire::call::Calls;
use wigwag_wire::trace::TraceContext;

use crate::code::Code;
use crate::dispatch::application::{Application, LongCall};
use crate::error::LinkError;
use crate::features;
use crate::flow_control::credit;
use crate::frames::write;
use crate::limits::{GATHERED_UNITS, Limits};
use crate::recv_half::ChannelCalls;
use crate::send_half::SendHalf;

mod arrived;
mod opening;
mod links;
mod prefetch;

use prefetch::PREFETCHED_CHANNELS;

pub(crate) use arrived::Arrived;

/// The method that every actor has: it is answered with the actor's schema.
const DESCRIBE: u64 = 0;

/// The inbound channels of a session; `C` is the application's part of each.
#[derive(Debug)]
pub(crate) struct InboundChannels<C> {
    ours: Limits,
    knows_references: bool,
    knows_pipes: bool,
    knows_links: bool,
    /// Links of all channels.
    links: usize,
    channels: Vec<Option<Inbound<C>>>,
    /// Open channels with calls that are not published.
    unpublished: Vec<usize>,
    /// The units of these calls.
    unpublished_units: u64,
    /// Calls that come next and whose channels were prefetched.
    prefetched_calls: usize,
    /// The trace context of the call that comes next, if it has one.
    pub(crate) trace: Option<TraceContext>,
}

#[derive(Debug)]
enum Inbound<C> {
    Open(Open<C>),
    /// Tells are discarded, and asks are answered with `code`. `left`: the units that the peer may
    /// still use, which it had before it was told of the refusal.
    Refused {
        code: Code,
        left: u64,
    },
}

#[derive(Debug)]
struct Open<C> {
    channel: C,
    /// Units that the peer has used since ATTACH.
    used: u64,
    /// The limit that the peer was known to have when it was looked up last; 0 if each use is to be
    /// looked up, because the actor has a bound.
    limit: u64,
    is_unpublished: bool,
    /// The peer was told that it may link its actors to this one.
    may_link: bool,
    /// The peer's links.
    links: BTreeSet<u64>,
}

impl<C> Open<C> {
    /// Pays for calls. False when the actor has stopped and the peer did not know yet.
    #[inline]
    fn pay<A>(&mut self, channel: u64, units: u64, app: &mut A) -> Result<bool, LinkError>
    where
        A: Application<Channel = C>,
    {
        self.used += units;
        if self.used <= self.limit { Ok(true) } else { self.look_up(channel, &mut app.send_half()) }
    }

    #[cold]
    fn look_up(&mut self, channel: u64, send: &mut SendHalf) -> Result<bool, LinkError> {
        let Some(grant) = send.granted(channel) else {
            // The peer may use the credit that it was told of until it hears that the actor
            // stopped.
            let known = send.last_limit(channel).max(self.limit);
            return if self.used <= known { Ok(false) } else { Err(credit::exceeded()) };
        };
        grant.check(self.used)?;
        self.limit = if grant.is_bounded() { 0 } else { grant.announced() };
        Ok(true)
    }
}

impl<C> InboundChannels<C> {
    pub(crate) fn new(ours: &Limits, features: u64) -> InboundChannels<C> {
        InboundChannels {
            ours: *ours,
            knows_references: features & features::REFERENCES != 0,
            knows_pipes: features::has_pipes(features),
            knows_links: features::has_links(features),
            links: 0,
            channels: Vec::new(),
            unpublished: Vec::new(),
            unpublished_units: 0,
            prefetched_calls: 0,
            trace: None,
        }
    }

    /// True if the session knows references to actors.
    pub(crate) fn knows_references(&self) -> bool {
        self.knows_references
    }

    pub(crate) fn clear(&mut self) {
        self.unpublished.clear();
        self.unpublished_units = 0;
        self.links = 0;
        self.channels.clear();
    }

    /// Hands over calls: no lock, no allocation.
    #[inline]
    pub(crate) fn calls<A>(&mut self, run: &ChannelCalls<'_>, app: &mut A) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        match self.admit(run, app)? {
            Some(channel) => app.calls(channel, run)?,
            None => return Ok(()),
        }
        if self.unpublished.len() >= PREFETCHED_CHANNELS && self.are_scattered() {
            self.publish(app);
        }
        Ok(())
    }

    /// Hands over a call that came in parts.
    #[cold]
    pub(crate) fn long_call<A>(&mut self, call: LongCall, app: &mut A) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        match self.admit(&call.run(), app)? {
            Some(channel) => app.long_call(channel, call),
            None => Ok(()),
        }
    }

    /// Pays for calls, and gives the channel that they are for. `None` if they reach no actor.
    #[inline(always)]
    fn admit<A>(&mut self, run: &ChannelCalls<'_>, app: &mut A) -> Result<Option<&mut C>, LinkError>
    where
        A: Application<Channel = C>,
    {
        let at = index(run.channel);
        if !matches!(self.channels.get(at), Some(Some(Inbound::Open(_)))) {
            let code = self.pay_nobody(run.channel, run.units)?;
            all_undeliverable(run, code, app);
            return Ok(None);
        }
        let Some(Some(Inbound::Open(open))) = self.channels.get_mut(at) else {
            return Ok(None);
        };
        if !open.pay(run.channel, run.units, app)? {
            let code = app.send_half().end_code(run.channel);
            all_undeliverable(run, code, app);
            return Ok(None);
        }
        if !open.is_unpublished {
            open.is_unpublished = true;
            self.unpublished.push(at);
        }
        self.unpublished_units += run.units;
        Ok(Some(&mut open.channel))
    }

    /// Pays for a call that begins to come in parts.
    #[cold]
    pub(crate) fn begin_call<A>(
        &mut self,
        channel: u64,
        units: u64,
        app: &mut A,
    ) -> Result<(), LinkError>
    where
        A: Application<Channel = C>,
    {
        match self.channels.get_mut(index(channel)) {
            Some(Some(Inbound::Open(open))) => open.pay(channel, units, app).map(|_| ()),
            _ => self.pay_nobody(channel, units).map(|_| ()),
        }
    }

    /// Takes back what [`begin_call`](Self::begin_call) was paid: the call is whole, and pays as any
    /// other.
    #[cold]
    pub(crate) fn call_is_whole(&mut self, channel: u64, units: u64) {
        match self.channels.get_mut(index(channel)) {
            Some(Some(Inbound::Open(open))) => open.used = open.used.saturating_sub(units),
            Some(Some(Inbound::Refused { left, .. })) => *left += units,
            _ => {}
        }
    }

    /// The rest of a call in parts will not come. Its units are given back.
    #[cold]
    pub(crate) fn drop_call<A>(&mut self, channel: u64, units: u64, app: &mut A)
    where
        A: Application<Channel = C>,
    {
        if let Some(Some(Inbound::Open(open))) = self.channels.get_mut(index(channel)) {
            app.discarded(&mut open.channel, units);
        }
    }

    /// One call in a frame of its own: *describe*, or a call whose extras were read and taken off.
    #[cold]
    pub(crate) fn call<A>(
        &mut self,
        call: &Arrived<'_>,
        units: u64,
        app: &mut A,
    ) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        let Arrived { channel, method, arguments, asker, .. } = *call;
        if let (Some(Some(Inbound::Open(open))), DESCRIBE, Some(asker)) =
            (self.channels.get_mut(index(channel)), method, asker)
        {
            if open.pay(channel, units, app)? {
                app.describe(&mut open.channel, asker, arguments, units);
            } else {
                let code = app.send_half().end_code(channel);
                undeliverable(Some(asker), code, "", app);
            }
            return Ok(());
        }
        let frame = call.stored(self.trace.take());
        let run = ChannelCalls { channel, calls: 1, units, bytes: frame.as_slice() };
        self.calls(&run, app)
    }

    /// A call with an extra that must be understood and is not: it is paid for, and reaches nobody.
    #[cold]
    pub(crate) fn not_understood<A>(
        &mut self,
        tag: u64,
        channel: u64,
        asker: Option<(u32, u32)>,
        units: u64,
        app: &mut A,
    ) -> Result<(), A::Error>
    where
        A: Application<Channel = C>,
    {
        match self.channels.get_mut(index(channel)) {
            Some(Some(Inbound::Open(open))) => {
                if open.pay(channel, units, app)? {
                    app.discarded(&mut open.channel, units);
                }
            }
            _ => drop(self.pay_nobody(channel, units)?),
        }
        undeliverable(asker, Code::BAD_ARGUMENTS, &format!("extra {tag} is not known here"), app);
        Ok(())
    }

    /// Pays for calls on a channel that was refused or is over; gives the code for their askers.
    #[cold]
    fn pay_nobody(&mut self, channel: u64, units: u64) -> Result<Code, LinkError> {
        match self.channels.get_mut(index(channel)) {
            Some(Some(Inbound::Refused { code, left })) => {
                *left = left.checked_sub(units).ok_or_else(credit::exceeded)?;
                Ok(*code)
            }
            _ => Err(LinkError::protocol("a call on a channel that was never attached")),
        }
    }

    /// Publishes the calls of every channel that got some, unless these are so few for each channel
    /// that more should be gathered.
    pub(crate) fn publish_gathered<A>(&mut self, app: &mut A)
    where
        A: Application<Channel = C>,
    {
        let channels = self.unpublished.len() as u64;
        if self.unpublished_units >= GATHERED_UNITS * channels {
            self.publish(app);
        }
    }

    /// Publishes the calls of every channel that got some.
    pub(crate) fn publish<A>(&mut self, app: &mut A)
    where
        A: Application<Channel = C>,
    {
        self.unpublished_units = 0;
        let are_scattered = self.are_scattered();
        if are_scattered {
            self.prefetch_publish(app);
            app.publishing_begins();
        }
        for at in self.unpublished.drain(..) {
            if let Some(Some(Inbound::Open(open))) = self.channels.get_mut(at) {
                open.is_unpublished = false;
                app.publish(&mut open.channel);
            }
        }
        if are_scattered {
            app.publishing_ends();
        }
    }
}

/// A channel's place in the table; one that cannot be there for a number beyond it.
#[inline]
fn index(channel: u64) -> usize {
    usize::try_from(channel).unwrap_or(usize::MAX)
}

/// Calls that reach no actor.
#[cold]
fn all_undeliverable<A: Application>(run: &ChannelCalls<'_>, code: Code, app: &mut A) {
    for call in Calls::new(run.bytes) {
        app.undelivered(call.arguments, code);
        undeliverable(call.asker, code, "", app);
    }
}

/// Tells the caller that a call reached nobody, if it has asked.
#[cold]
fn undeliverable<A: Application>(asker: Option<(u32, u32)>, code: Code, detail: &str, app: &mut A) {
    match asker {
        Some(asker) => {
            app.ask_lost(asker, code, detail);
            app.send_half().outbox.append(|out| write::error(out, asker, code, detail));
        }
        None => app.tell_lost(),
    }
}
