//! The check of each call that comes over a channel with permissions or a limit.

use std::sync::Arc;

use wigwag_actor::CallGate;
use wigwag_net::clock;

use super::identities::IdentityUse;
use super::rules::Permitted;

/// Checks the calls of one peer to one actor.
#[derive(Debug)]
pub(crate) struct MethodGate {
    methods: Permitted,
    identity: Arc<IdentityUse>,
}

impl MethodGate {
    /// The gate for what `identity` may call; `None` if it may call everything, as often as it likes.
    pub(crate) fn new(methods: Permitted, identity: &Arc<IdentityUse>) -> Option<MethodGate> {
        let is_needed = methods != Permitted::All || identity.is_counting();
        is_needed.then(|| MethodGate { methods, identity: identity.clone() })
    }
}

impl CallGate for MethodGate {
    fn permits(&self, method: u32) -> bool {
        self.methods.contains(method)
    }

    fn admits(&self) -> bool {
        self.identity.admits(clock::now)
    }

    fn is_counting(&self) -> bool {
        self.identity.is_counting()
    }
}
