//! Frames that open and close channels and move credit; all that is no call and no answer.

use std::sync::Arc;
use std::task::Waker;

use wigwag_link::frame::Frame;
use wigwag_link::{Code, LinkError, write};
use wigwag_net::clock;

use crate::lanes::{ChannelOwner, ChannelPlace};
use crate::limits::CODEC_MESSAGEPACK;
use crate::link::{Attached, Link};
use crate::reading::{Inbound, Open, Reading};

/// What the peer wants a channel to.
struct Wanted<'a> {
    target: &'a [u8],
    schema_hash: u64,
    codec: u8,
}

impl Reading {
    pub(crate) fn control(&mut self, link: &Link, frame: Frame<'_>) -> Result<(), LinkError> {
        match frame {
            Frame::Credit { channel, limit, handled } => credited(link, channel, limit, handled),
            Frame::Need { channel, limit_wanted } => {
                link.sending().sender.needed(channel, limit_wanted);
            }
            Frame::Revoke { channel, limit_wanted } => revoke(link, channel, limit_wanted)?,
            Frame::Attach { channel, how, target, schema_hash, codec } => {
                let wanted = Wanted { target, schema_hash, codec };
                self.attach(link, channel, (how == 0).then_some(wanted))?;
            }
            Frame::Attached { channel, limit, schema_hash, codec, .. } => {
                link.sending().attached(channel, limit, Attached { schema_hash, codec });
            }
            Frame::Detach { channel } => self.detach(link, channel),
            Frame::Detached { channel, code, .. } => {
                let parked = link.sending().detached(channel, code);
                parked.into_iter().for_each(Waker::wake);
            }
            Frame::Ping { id, next_ms } => link.sending().sender.pinged(id, next_ms),
            Frame::Pong { id } => ponged(link, id),
            Frame::Drain { .. } => drain(link),
            Frame::Close { code, rule, detail } => {
                let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                let (rule, detail) = (text(rule), text(detail));
                return Err(LinkError::ToldByPeer { code, rule, detail });
            }
            // A handler that has begun goes on; its completion frees the slot. Nothing else of
            // these needs an answer.
            Frame::Cancel { .. }
            | Frame::Revoked { .. }
            | Frame::Release { .. }
            | Frame::Skipped { .. } => {}
            Frame::Tell { .. }
            | Frame::Ask { .. }
            | Frame::Reply { .. }
            | Frame::Error { .. }
            | Frame::NotUnderstood { .. } => {
                return Err(LinkError::protocol("a call in a place for control frames"));
            }
        }
        Ok(())
    }

    fn attach(
        &mut self,
        link: &Link,
        channel: u64,
        wanted: Option<Wanted<'_>>,
    ) -> Result<(), LinkError> {
        // What came for the number's last use is answered before it has a new one.
        self.publish();
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        let wanted = wanted.filter(|wanted| wanted.codec <= link.codec);
        // Asks the actor whether it lives, so it is done without the lock.
        let found = wanted.and_then(|wanted| Some((self.exports.find(wanted.target)?, wanted)));
        spare_channels(link);
        let mut sending = link.sending();
        // The check of the number comes first: it bounds the table.
        let limit = sending.sender.grant(channel, self.ours.initial_units)?;
        if self.channels.len() <= at {
            self.channels.resize_with(at + 1, || None);
        }
        sending.sender.answer_attach(self.ours.attach_pending_max)?;
        let place =
            self.link.upgrade().and_then(|link| ChannelPlace::take(&link, self.ours.channels_max));
        let (actor, wanted, place) = match (found, place) {
            (Some((actor, wanted)), Some(place)) => (actor, wanted, place),
            (found, _) => {
                let code = if found.is_some() { Code::OVERLOADED } else { Code::NO_SUCH_ACTOR };
                sending.sender.withdraw(channel);
                let refusal = Some(Inbound::Refused(code, limit));
                let before = std::mem::replace(&mut self.channels[at], refusal);
                let refused = Frame::Detached { channel, code, accepted: 0 };
                sending.sender.outbox.append(|out| write::any(out, &refused));
                // The number's last use goes when the lock is free: its owner takes it too.
                drop(sending);
                drop(before);
                return Ok(());
            }
        };
        self.attaches += 1;
        if sending.grants.len() <= at {
            sending.grants.resize(at + 1, 0);
        }
        sending.grants[at] = self.attaches;
        let schema_hash = actor.schema().hash;
        // Whose types may be others has every value marked.
        let same = schema_hash == wanted.schema_hash;
        let codec = if same { wanted.codec } else { CODEC_MESSAGEPACK };
        let attached = Frame::Attached { channel, limit, schema_hash, codec, reference: &[] };
        sending.sender.outbox.append(|out| write::any(out, &attached));
        drop(sending);
        let owner = Arc::new(ChannelOwner::new(place, channel, self.attaches));
        let lane = actor.open_inbound_queue(owner.clone());
        let open = Open { actor, lane, owner, used: 0, limit, dirty: false };
        self.channels[at] = Some(Inbound::Open(open));
        Ok(())
    }

    fn detach(&mut self, link: &Link, channel: u64) {
        self.publish();
        let at = usize::try_from(channel).unwrap_or(usize::MAX);
        let Some(inbound) = self.channels.get_mut(at) else {
            return;
        };
        let Some(inbound) = inbound.take() else {
            return;
        };
        let mut sending = link.sending();
        if let Inbound::Open(open) = &inbound {
            open.owner.withdraw(&mut sending);
        }
        let attach = sending.grants.get_mut(at).map(std::mem::take);
        if attach.unwrap_or(0) == 0 {
            // It was refused or its actor has stopped: the peer was told so, and a second DETACHED
            // would look like the answer to its next ATTACH of the number.
            return;
        }
        let code = Code::OK;
        let detached = Frame::Detached { channel, code, accepted: 0 };
        sending.sender.outbox.append(|out| write::any(out, &detached));
        // The lane goes when the lock is free: its owner takes it too.
        drop(sending);
        drop(inbound);
    }
}

/// Where few channels are left, the session goes that has been cut for longest: it holds some.
fn spare_channels(link: &Link) {
    if link.pools.channels.is_low()
        && let Some(node) = link.node.upgrade()
    {
        let cut = node.sessions().take_cut();
        cut.inspect(|cut| cut.dismiss(Code::TOO_MANY, "its channels were needed for others"));
    }
}

fn credited(link: &Link, channel: u64, limit: u64, handled: u64) {
    let mut sending = link.sending();
    let called = usize::try_from(channel).ok().and_then(|at| sending.channels.get_mut(at));
    if let Some(called) = called {
        called.handled = called.handled.max(handled);
    }
    let raised = sending.sender.window(channel).is_some_and(|window| window.raise(limit));
    let woken = if raised { sending.woken(channel) } else { Vec::new() };
    drop(sending);
    woken.into_iter().for_each(Waker::wake);
}

fn revoke(link: &Link, channel: u64, limit_wanted: u64) -> Result<(), LinkError> {
    let mut sending = link.sending();
    let window = sending.sender.window(channel);
    if let Some(limit) = window.map(|window| window.revoke(limit_wanted)) {
        sending.sender.answer_revoke()?;
        let revoked = Frame::Revoked { channel, limit };
        sending.sender.outbox.append(|out| write::any(out, &revoked));
    }
    Ok(())
}

/// The peer's distance is known, and with it how much may be under way.
fn ponged(link: &Link, id: u64) {
    let mut sending = link.sending();
    let room = sending.sender.ponged(id, clock::now());
    let fronts = if room { sending.fronts() } else { Vec::new() };
    drop(sending);
    fronts.into_iter().for_each(Waker::wake);
}

/// The peer takes no new calls: those who wait for room hear so.
fn drain(link: &Link) {
    let mut sending = link.sending();
    sending.draining = true;
    let fronts = sending.fronts();
    drop(sending);
    fronts.into_iter().for_each(Waker::wake);
}
