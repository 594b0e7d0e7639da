//! The members of groups as values, without their interface.
//!
//! The actor that hands out changes of groups is one for all interfaces, so it sends references that
//! it does not know the type of; the node that follows a group knows it.

use std::fmt;
use std::sync::Arc;

use wigwag_actor::{Interface, Ref};
use wigwag_macros::Message;
use wigwag_wire::{Buffer, Decode, DecodeError, Encode, Reader};

use crate::references::take_held;
use crate::session::Session;
use crate::session::references::scope;
use crate::session::references::taken::TakenReference;
use crate::session::references::value::SentReference;

/// A change of a group, or a part of its members at first.
#[derive(Debug, Message)]
pub(crate) struct GroupChange {
    /// The members have joined; otherwise they have left.
    pub(crate) joined: bool,
    /// Each once for each membership.
    pub(crate) members: Vec<MemberReference>,
}

/// A reference to a member.
pub(crate) struct MemberReference(Place);

enum Place {
    /// An actor of this process, and what encodes its reference.
    Own(Arc<dyn Fn(&mut Buffer) + Send + Sync>),
    /// A reference that has come over a session.
    Received(Arc<Session>, SentReference, TakenReference),
}

impl MemberReference {
    /// The reference to a member of this process.
    pub(crate) fn own<I: Interface>(reference: &I::Ref) -> MemberReference {
        let reference: Ref<I> = reference.as_ref().clone();
        MemberReference(Place::Own(Arc::new(move |out| I::encode_reference(&reference, out))))
    }

    /// The number of a reference that was received, which all references to its actor have.
    pub(crate) fn number(&self) -> Option<u128> {
        match &self.0 {
            Place::Own(_) => None,
            Place::Received(_, value, _) => Some(value.reference),
        }
    }

    /// The reference, if it was received and leads to an actor of its giver with this interface.
    pub(crate) fn typed<I: Interface>(self) -> Option<I::Ref> {
        match self.0 {
            Place::Own(_) => None,
            Place::Received(session, value, taken) => {
                // A node vouches for its own actors alone.
                if value.incarnation != session.identity.incarnation {
                    return None;
                }
                take_held::<I>(&session, value, taken).ok().map(Into::into)
            }
        }
    }
}

impl Encode for MemberReference {
    fn encode(&self, out: &mut Buffer) {
        match &self.0 {
            Place::Own(encode) => encode(out),
            // It is never sent on.
            Place::Received(..) => ().encode(out),
        }
    }
}

impl<'a> Decode<'a> for MemberReference {
    fn decode(reader: &mut Reader<'a>) -> Result<MemberReference, DecodeError> {
        let value = SentReference::decode(reader)?;
        let session = scope::read(value.reference).ok_or(DecodeError::NeedsSession)?;
        let taken = TakenReference::new(&session, value.reference)?;
        Ok(MemberReference(Place::Received(session, value, taken)))
    }
}

impl fmt::Debug for MemberReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("MemberReference").field(&self.number()).finish()
    }
}
