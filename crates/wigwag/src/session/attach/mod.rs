//! Opens channels to the peer's actors, at most as many at a time as the peer accepts unanswered.

pub(crate) mod routes;
pub(crate) mod kept;
mod detaching;

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};
use wigwag_actor::lifecycle::end_watchers::EndWatchers;
use wigwag_actor::{CallError, CallErrorKind};
use wigwag_link::frame::Frame;
use wigwag_link::limits::TARGET_BYTES_MAX;
use wigwag_link::{Limits, write};

use crate::replies::ask_origin::AskOrigin;
use crate::session::attach::routes::ActorIdentity;
use crate::session::statistics::tally::AskCounters;
use crate::session::{OutboundChannel, SendState, Session};

/// The contents of an ATTACHED frame.
pub(crate) struct Attached {
    pub(crate) schema_hash: u64,
    pub(crate) codec: u8,
    /// The actor, if the peer says which it is.
    pub(crate) actor: Option<ActorIdentity>,
    /// The number of references to it, if the peer knows references.
    pub(crate) reference: Option<u128>,
    /// The peer permits links to the actor.
    pub(crate) may_link: bool,
}

/// The actor that a channel is opened to.
#[derive(Clone, Copy)]
pub(crate) enum AttachTo<'a> {
    /// The one that is exported under this name.
    Name(&'a str),
    /// The one that references with this number lead to.
    Reference(u128),
    /// The one of a third node to which the peer has sent a reference with this number.
    Relayed(u128),
    /// The one that the answer to the ask in this slot leads to, which is sent next.
    Answer((u32, u32)),
}

/// The address of an actor that was received as a reference, for people.
pub(crate) fn target_of(peer: &str, reference: u128) -> Arc<str> {
    format!("{peer}/reference-{:08x}", reference >> 96).into()
}

/// The answer to an ATTACH, once it has come. It is closed with the session.
pub(crate) type AttachAnswer = oneshot::Receiver<Result<Attached, CallErrorKind>>;

/// A channel whose ATTACH was sent.
pub(crate) struct OpenedChannel {
    pub(crate) number: u64,
    /// The origin of its asks.
    pub(crate) origin: AskOrigin,
    pub(crate) counters: Arc<AskCounters>,
    pub(crate) answer: AttachAnswer,
}

/// An unanswered ATTACH and its waiting caller.
pub(super) struct Attaching {
    answer: oneshot::Sender<Result<Attached, CallErrorKind>>,
    /// Its permit among the unanswered ATTACHes. Released with the answer, even if the caller has
    /// gone away.
    _place: Option<OwnedSemaphorePermit>,
}

impl Attaching {
    pub(super) fn send(self, answer: Result<Attached, CallErrorKind>) {
        // The caller may have gone away; then no reference was made.
        let _ = self.answer.send(answer);
    }
}

/// One permit for each ATTACH that a peer with these limits accepts unanswered.
pub(super) fn attaches(peer: &Limits) -> Arc<Semaphore> {
    let most = usize::try_from(peer.attach_pending_max).unwrap_or(usize::MAX);
    Arc::new(Semaphore::new(most.min(Semaphore::MAX_PERMITS)))
}

impl Session {
    /// Sends ATTACH. Waits while the peer accepts no further unanswered ATTACH.
    ///
    /// The channel belongs to the caller, who must [detach](Session::detach) it.
    ///
    /// # Cancellation
    /// If dropped while it waits, nothing was sent.
    pub(crate) async fn send_attach(
        &self,
        to: AttachTo<'_>,
        schema_hash: u64,
        target: &Arc<str>,
    ) -> Result<OpenedChannel, CallError> {
        // The semaphore is never closed; the session itself may have ended.
        let place = self.attaches.clone().acquire_owned().await.ok();
        self.open_channel(place, to, schema_hash, target)
    }

    /// Sends ATTACH if the peer accepts another unanswered one. The channel may be used at once, for
    /// what every channel may use: the caller knows the actor's schema and codec.
    pub(crate) fn send_attach_at_once(
        &self,
        to: AttachTo<'_>,
        schema_hash: u64,
        target: &Arc<str>,
    ) -> Option<OpenedChannel> {
        let place = self.attaches.clone().try_acquire_owned().ok()?;
        let opened = self.open_channel(Some(place), to, schema_hash, target).ok()?;
        let initial = self.identity.limits.initial_units;
        self.sending().sender.attached(opened.number, initial);
        Some(opened)
    }

    /// Sends ATTACH for the actor that the answer to an ask leads to, in front of that ask. The channel
    /// may be used at once.
    pub(crate) fn send_attach_piped(
        &self,
        place: OwnedSemaphorePermit,
        asker: (u32, u32),
        schema_hash: u64,
        target: &Arc<str>,
    ) -> Option<OpenedChannel> {
        let to = AttachTo::Answer(asker);
        let opened = self.open_channel(Some(place), to, schema_hash, target).ok()?;
        let initial = self.identity.limits.initial_units;
        self.sending().sender.attached(opened.number, initial);
        Some(opened)
    }

    fn open_channel(
        &self,
        place: Option<OwnedSemaphorePermit>,
        to: AttachTo<'_>,
        schema_hash: u64,
        target: &Arc<str>,
    ) -> Result<OpenedChannel, CallError> {
        // The peer says the same of a name that fits into a frame. It ends the session of one that does
        // not, with the calls of everybody else.
        if let AttachTo::Name(name) = to
            && name.len() > TARGET_BYTES_MAX
        {
            let detail =
                format!("a name has at most {TARGET_BYTES_MAX} bytes, this one has {}", name.len());
            return Err(CallError::new(CallErrorKind::NoSuchActor, target).with_detail(&detail));
        }
        let (answer, attached) = oneshot::channel();
        let mut sending = self.sending();
        sending.check(target)?;
        let Some(channel) = sending.sender.open_channel() else {
            let detail = format!(
                "its node allows a peer {} references to actors in a session: raise \
                 `NodeOptions::actors_per_peer` or `IdentityLimits::channels` there",
                sending.sender.channels_max()
            );
            return Err(CallError::new(CallErrorKind::Overloaded, target).with_detail(&detail));
        };
        let at = channel as usize;
        if sending.channels.len() == at {
            sending.channels.push(OutboundChannel::new(target));
        }
        sending.forget_links(at);
        sending.channels_opened = sending.channels_opened.wrapping_add(1);
        sending.channels[at] = OutboundChannel {
            use_of: sending.channels_opened,
            attaching: Some(Attaching { answer, _place: place }),
            ..OutboundChannel::new(target)
        };
        let number;
        let (how, target) = match to {
            AttachTo::Name(name) => (0, name.as_bytes()),
            AttachTo::Reference(reference) => {
                number = reference.to_le_bytes();
                (1, &number[..])
            }
            AttachTo::Relayed(reference) => {
                number = reference.to_le_bytes();
                (2, &number[..])
            }
            AttachTo::Answer((slot, generation)) => {
                number = (u128::from(slot) | u128::from(generation) << 32).to_le_bytes();
                (3, &number[..8])
            }
        };
        let codec = self.codec;
        let attach = Frame::Attach { channel, how, target, schema_hash, codec };
        sending.sender.outbox.append(|out| write::any(out, &attach));
        let counters = sending.channels[at].tally.asks.clone();
        let origin = AskOrigin::new(channel, sending.channels[at].use_of);
        Ok(OpenedChannel { number: channel, origin, counters, answer: attached })
    }
}

impl SendState {
    /// Handles ATTACHED; returns the watchers of links that the peer does not permit.
    pub(crate) fn attached(&mut self, number: u64, attached: Attached) -> EndWatchers {
        let refused = match attached.may_link {
            true => EndWatchers::default(),
            false => self.links_refused(number),
        };
        let channel = self.channels.get_mut(usize::try_from(number).unwrap_or(usize::MAX));
        if let Some(answer) = channel.and_then(|channel| channel.attaching.take()) {
            answer.send(Ok(attached));
        }
        refused
    }
}
