//! Links between actors of this node and actors of the peer.
//!
//! The actor that links is on one side, and its side keeps two things: a watcher of the other actor's
//! end, among those of the channel, and the number under which the other side knows the link. LINK
//! and UNLINK tell that side, which delivers the end of the first actor as that of a linked one. Both
//! sides tell their actor when the session ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use wigwag_actor::lifecycle::end_watchers::{EndWatchers, NotLinked};
use wigwag_actor::reference::route::RemoteLink;
use wigwag_actor::{Handle, Reason};
use wigwag_link::features;
use wigwag_link::frame::Frame;
use wigwag_link::limits::LINKS_MAX;
use wigwag_link::write;
use wigwag_wire::peer_text;

use crate::lock::lock;
use crate::replies::ask_origin::AskOrigin;
use crate::session::buffers;
use crate::session::{SendState, Session};

/// Bytes of the name of an actor's type that the peer is told.
const ACTOR_BYTES_MAX: usize = 255;

const REFUSED: &str = "its node accepts no links to it (NodeOptions::accept_links)";
const UNKNOWN: &str = "its node runs a release that knows no links";

/// The links that the peer has made to actors of this node.
pub(crate) struct SessionLinks {
    /// The peer knows links.
    are_known: bool,
    /// By the channel and the peer's number.
    inbound: Mutex<BTreeMap<(u64, u64), LinkedActor>>,
}

/// An actor of this node that one of the peer is linked to.
struct LinkedActor {
    actor: Handle,
    /// The address of the peer, and the type of its actor.
    target: Arc<str>,
}

/// The links over one channel to an actor of the peer, by the numbers of this node's actors.
#[derive(Default)]
pub(super) struct ChannelLinks {
    /// The peer has answered that it permits no links.
    are_refused: bool,
    /// Links that the peer was told of, perhaps before its answer.
    open: BTreeSet<u64>,
}

impl SessionLinks {
    pub(super) fn new(features: u64) -> SessionLinks {
        SessionLinks { are_known: features::has_links(features), inbound: Mutex::default() }
    }

    /// True if the peer knows links.
    pub(crate) fn are_known(&self) -> bool {
        self.are_known
    }
}

impl LinkedActor {
    fn tell(&self, session: &Session, reason: &Reason) {
        self.actor.exited_elsewhere(self.target.clone(), reason, session.caller());
    }
}

impl Session {
    /// Handles LINK.
    pub(crate) fn linked(&self, channel: u64, link: u64, actor: Handle, name: &[u8]) {
        let name = peer_text::line(&name[..name.len().min(ACTOR_BYTES_MAX)]);
        let linked = LinkedActor { actor, target: format!("{}/{name}", self.peer).into() };
        let mut inbound = lock(&self.links.inbound);
        if !self.has_ended() {
            inbound.insert((channel, link), linked);
            return;
        }
        drop(inbound);
        // Behind the end of the session, which tells those that it finds.
        let reason = self.sending().ended.as_ref().map(|ended| ended.reason());
        linked.tell(self, &reason.unwrap_or(Reason::Unknown));
    }

    /// Handles UNLINK.
    pub(crate) fn unlinked(&self, channel: u64, link: u64, reason: &[u8]) {
        let linked = lock(&self.links.inbound).remove(&(channel, link));
        if let (Some(linked), false) = (linked, reason.is_empty()) {
            linked.tell(self, &Reason::from_wire(reason));
        }
    }

    /// The peer has closed the channel, and its links with it.
    pub(crate) fn undo_links(&self, channel: u64) {
        let links = (channel, 0)..=(channel, u64::MAX);
        lock(&self.links.inbound).extract_if(links, |_, _| true).for_each(drop);
    }

    /// Tells the actors of this node that are linked to some of the peer: the session is over.
    pub(super) fn end_links(&self, reason: &Reason) {
        let linked = std::mem::take(&mut *lock(&self.links.inbound));
        linked.values().for_each(|linked| linked.tell(self, reason));
    }

    /// Links an actor of this node to that of a channel.
    pub(crate) fn link(
        self: &Arc<Session>,
        origin: AskOrigin,
        link: RemoteLink,
    ) -> Result<(), NotLinked> {
        if !self.links.are_known {
            return Err(NotLinked::Refused(UNKNOWN.into()));
        }
        let RemoteLink { number, actor, ended } = link;
        let mut sending = self.sending();
        if sending.ended.is_some() {
            return Err(NotLinked::Ended);
        }
        let is_full = sending.links >= LINKS_MAX;
        let channel = sending.channel_of(origin).filter(|channel| channel.gone.is_none());
        let channel = channel.ok_or(NotLinked::Ended)?;
        if channel.links.are_refused {
            return Err(NotLinked::Refused(REFUSED.into()));
        }
        let is_new = !channel.links.open.contains(&number);
        if is_new && is_full {
            return Err(NotLinked::TooMany);
        }
        channel.end_watchers.add(watcher(number), Box::new(move |reason| ended(reason)))?;
        if !channel.links.open.insert(number) {
            return Ok(());
        }
        sending.links += 1;
        let actor = &actor.as_bytes()[..actor.len().min(ACTOR_BYTES_MAX)];
        // Before ATTACHED too: the actor may end before that has come, and the other one with it.
        let link = Frame::Link { channel: origin.channel() as u64, link: number, actor };
        sending.sender.outbox.append(|out| write::any(out, &link));
        drop(sending);
        buffers::flush_soon(self);
        Ok(())
    }

    /// Ends a link of an actor of this node: with the reason of its end, or because it is undone.
    pub(crate) fn unlink(
        self: &Arc<Session>,
        origin: AskOrigin,
        number: u64,
        reason: Option<&Reason>,
    ) {
        let mut sending = self.sending();
        let has_ended = sending.ended.is_some();
        let Some(channel) = sending.channel_of(origin) else { return };
        let told = channel.end_watchers.remove(watcher(number));
        let was_open = channel.links.open.remove(&number);
        let is_open = was_open && channel.gone.is_none() && !has_ended;
        sending.links -= usize::from(was_open);
        if is_open {
            let (channel, reason) =
                (origin.channel() as u64, reason.map(Reason::to_wire).unwrap_or_default());
            let unlink = Frame::Unlink { channel, link: number, reason: &reason };
            sending.sender.outbox.append(|out| write::any(out, &unlink));
        }
        drop(sending);
        drop(told);
        buffers::flush_soon(self);
    }
}

impl SendState {
    /// ATTACHED says that the peer permits no links to its actor, and it has ignored those that it was
    /// sent. Returns their watchers.
    pub(super) fn links_refused(&mut self, number: u64) -> EndWatchers {
        let mut refused = EndWatchers::default();
        let at = usize::try_from(number).unwrap_or(usize::MAX);
        let Some(channel) = self.channels.get_mut(at) else { return refused };
        channel.links.are_refused = true;
        for link in std::mem::take(&mut channel.links.open) {
            self.links -= 1;
            if let Some(told) = channel.end_watchers.remove(watcher(link)) {
                // There is room, since it is one of those that there were.
                let _ = refused.add(watcher(link), told);
            }
        }
        refused
    }

    /// The links over a channel that ends. Their watchers are among those of the channel.
    pub(super) fn forget_links(&mut self, at: usize) {
        if let Some(channel) = self.channels.get_mut(at) {
            self.links -= std::mem::take(&mut channel.links).open.len();
        }
    }
}

/// The reason for which links are refused that were made before ATTACHED.
pub(super) fn refused() -> Reason {
    Reason::LinkRefused(REFUSED.into())
}

/// The number of a link among the watchers of its channel, in a range of its own apart from monitors.
fn watcher(link: u64) -> u64 {
    link | 1 << 63
}

#[cfg(test)]
mod tests;
