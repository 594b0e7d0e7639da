//! The actor that a channel of the peer leads to, and whether the channel may be opened.
//!
//! The program names an actor for its peers, gives a reference to one, or answers an ask with one.
//! An actor that the peer may not call is answered for like one that there is not.

use std::sync::Arc;

use wigwag_actor::{Exported, Schema};
use wigwag_link::Code;
use wigwag_link::credit::ActorBound;
use wigwag_link::dispatch::application::{ActorReference, Attach, Found, Target};

use crate::access::{MethodGate, Permitted};
use crate::exports::references::ReferredActor;
use crate::limits::CODEC_MESSAGEPACK;
use crate::session::receive::Inbound;
use crate::session::receive::inbound::ChannelPermit;

/// The target of a channel, and the permit for the channel.
pub(super) struct FoundActor {
    pub(super) target: FoundTarget,
    /// The name by which the peer has fetched it, if it has.
    pub(super) name: Option<Arc<str>>,
    /// The check of each call, if there is one.
    pub(super) gate: Option<MethodGate>,
    pub(super) permit: ChannelPermit,
}

pub(super) enum FoundTarget {
    /// An exported actor, or one of a reference.
    Actor(Arc<ReferredActor>),
    /// The actor that the answer to this ask of the peer leads to, called by an interface with this
    /// hash.
    Answer((u32, u32), u64),
}
impl Inbound<'_> {
    /// The check of the calls to an actor that the peer attaches to.
    ///
    /// # Errors
    /// The peer may call nothing of it: the answer is that to an actor that there is not.
    fn gate(&self, target: &Target<'_>, schema: &Schema) -> Result<Option<MethodGate>, Code> {
        let permitted = match target {
            Target::Name(name) => {
                let name = std::str::from_utf8(name).map_err(|_| Code::NO_SUCH_ACTOR)?;
                self.session.access.permitted(self.session.principal(), name, schema)
            }
            // The program itself has given the reference to this peer, or gives it with its answer.
            Target::Reference(_) | Target::Relayed(_) | Target::Answer(..) => Permitted::All,
        };
        match permitted {
            Permitted::Nothing => Err(Code::NO_SUCH_ACTOR),
            permitted => Ok(MethodGate::new(permitted, self.session.identity_place.identity())),
        }
    }

    /// True if the peer may link its actors to one that it attaches to.
    fn may_link(&self, target: &Target<'_>, actor: &dyn Exported) -> bool {
        // An actor of a third node is linked to at its node.
        if !self.session.links.are_known() || actor.handle().is_none() {
            return false;
        }
        let name = match target {
            Target::Name(name) => std::str::from_utf8(name).ok(),
            _ => None,
        };
        self.session.access.permits_link(self.session.principal(), name)
    }

    /// The actor that an ATTACH names, with a permit for its channel.
    pub(super) fn find_actor(&mut self, attach: &Attach<'_>) -> Result<Found<FoundActor>, Code> {
        let is_known = attach.codec <= self.session.codec;
        if let (Target::Answer(slot, generation), true) = (attach.target, is_known) {
            return self.find_answer(attach, (slot, generation));
        }
        let find = || match attach.target {
            Target::Name(name) => {
                self.exports.find(name).map(|actor| self.exports.references.refer(actor))
            }
            Target::Reference(number) => self.exports.references.find(number),
            Target::Relayed(number) => {
                let relay = self.session.relay_of(number)?;
                Some(self.exports.references.refer(relay))
            }
            Target::Answer(..) => None,
        };
        let referred = is_known.then(find).flatten().ok_or(Code::NO_SUCH_ACTOR)?;
        let actor = &referred.exported;
        let gate = self.gate(&attach.target, actor.schema())?;
        let permit = self.permit()?;
        let schema_hash = actor.schema().hash;
        // Where the types may differ, each value carries its type.
        let is_same = schema_hash == attach.schema_hash;
        let codec = if is_same { attach.codec } else { CODEC_MESSAGEPACK };
        let bound = actor.remote_bound().map(|bound| ActorBound::new(bound.calls, bound.free));
        let may_link = self.may_link(&attach.target, &**actor);
        let reference =
            ActorReference { number: actor.number(), reference: referred.reference, may_link };
        let name = match attach.target {
            Target::Name(name) => std::str::from_utf8(name).ok().map(Arc::from),
            _ => None,
        };
        let actor = FoundActor { target: FoundTarget::Actor(referred), name, gate, permit };
        Ok(Found { actor, schema_hash, codec, bound, reference: Some(reference) })
    }

    /// Finds out whether a channel may be opened to the actor that the answer to an ask leads to.
    fn find_answer(
        &self,
        attach: &Attach<'_>,
        asker: (u32, u32),
    ) -> Result<Found<FoundActor>, Code> {
        match self.session.pipes.have_room_for(asker) {
            None => return Err(Code::NO_SUCH_ACTOR),
            Some(false) => return Err(Code::OVERLOADED),
            Some(true) => {}
        }
        let permit = self.permit()?;
        let schema_hash = attach.schema_hash;
        let target = FoundTarget::Answer(asker, schema_hash);
        // Without a hash, the types may differ.
        let codec = if schema_hash == 0 { CODEC_MESSAGEPACK } else { attach.codec };
        let gate = MethodGate::new(Permitted::All, self.session.identity_place.identity());
        let actor = FoundActor { target, name: None, gate, permit };
        Ok(Found { actor, schema_hash, codec, bound: None, reference: None })
    }

    /// Takes a permit for a channel of the peer.
    fn permit(&self) -> Result<ChannelPermit, Code> {
        self.free_channels();
        let session = self.weak.upgrade().ok_or(Code::OVERLOADED)?;
        ChannelPermit::take(&session, self.ours.channels_max).ok_or(Code::OVERLOADED)
    }

    /// When few channels are left, ends the session that has been cut for longest and holds some.
    fn free_channels(&self) {
        if self.session.pools.channels.is_low()
            && let Some(owner) = self.session.owner.upgrade()
        {
            owner.free_channels();
        }
    }
}
