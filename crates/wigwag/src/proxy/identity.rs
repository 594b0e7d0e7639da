//! The identity of a client that has no session, and what it may call.

use std::sync::Arc;

use wigwag_actor::{CallErrorKind, Caller, Schema};
use wigwag_net::clock;

use super::failure::Failure;
use crate::access::{IdentityPlace, NodeAccess, Permitted};

/// The identity of the client at the other end of a connection.
#[derive(Clone)]
pub(crate) struct ClientIdentity {
    pub(crate) caller: Caller,
    place: Arc<IdentityPlace>,
    access: Arc<NodeAccess>,
}

impl ClientIdentity {
    /// The identity of a client at the address `peer`, with its place among those of that identity.
    pub(crate) fn new(
        peer: Arc<str>,
        place: IdentityPlace,
        access: Arc<NodeAccess>,
    ) -> ClientIdentity {
        let caller = Caller::new(place.identity().principal.clone(), peer, None);
        ClientIdentity { caller, place: Arc::new(place), access }
    }

    /// The methods that the client may call of the actor, or of the members of the group, exported as
    /// `name`.
    ///
    /// # Errors
    /// It may call nothing: the failure is that of an actor that there is not.
    pub(crate) fn permitted(&self, name: &str, schema: &Schema) -> Result<Permitted, Failure> {
        match self.access.permitted(&self.caller.principal, name, schema) {
            Permitted::Nothing => Err(no_actor(name)),
            permitted => Ok(permitted),
        }
    }

    /// Counts a call.
    ///
    /// # Errors
    /// The client makes more calls than it may.
    pub(crate) fn admit(&self) -> Result<(), Failure> {
        match self.place.identity().admits(clock::now) {
            true => Ok(()),
            false => {
                let text = "the caller makes more calls a second than `IdentityLimits::calls_per_second` allows";
                Err(Failure::call(CallErrorKind::Overloaded, text))
            }
        }
    }
}

/// The failure of a call to an actor that there is not, for this client.
pub(crate) fn no_actor(name: &str) -> Failure {
    Failure::call(CallErrorKind::NoSuchActor, format!("no actor is exported as {name:?}"))
}
