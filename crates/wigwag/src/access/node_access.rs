//! The access control of a node: its keys, its rules, and the resources that each peer uses.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, Weak};

use wigwag_actor::{Principal, Schema};
use wigwag_link::budget::Pools;
use wigwag_link::{Code, LinkError};
use wigwag_net::clock;
use wigwag_wire::Time;

use super::GROUPS;
use super::identities::{CallRate, IdentityPlace, IdentityUse};
use super::key::SharedKey;
use super::rules::{Access, Permitted};
use crate::lock::lock;

/// The options of a node that are about access.
#[derive(Clone, Debug, Default)]
pub(crate) struct AccessOptions {
    /// The rules; without any, every peer may call everything.
    pub(crate) rules: Option<Access>,
    /// The key that this node proves when it dials.
    pub(crate) own_key: Option<SharedKey>,
    /// The keys of the peers that may dial.
    pub(crate) accepted_keys: Vec<SharedKey>,
    /// Peers that prove nothing are let in.
    pub(crate) is_insecure: bool,
    /// Peers may link their actors to all that they may call.
    pub(crate) accepts_links: bool,
}

/// Decides which peers are let in, and what they may call.
#[derive(Debug)]
pub(crate) struct NodeAccess {
    options: AccessOptions,
    pools: Arc<Pools>,
    identities: Mutex<HashMap<Principal, Known>>,
}

/// A peer that has a session, or has had one whose calls still count.
#[derive(Debug)]
struct Known {
    present: Weak<IdentityUse>,
    calls: Arc<CallRate>,
}

impl NodeAccess {
    pub(crate) fn new(options: AccessOptions, pools: Arc<Pools>) -> NodeAccess {
        NodeAccess { options, pools, identities: Mutex::default() }
    }

    /// The key that this node proves when it dials.
    pub(crate) fn own_key(&self) -> Option<&SharedKey> {
        self.options.own_key.as_ref()
    }

    /// True if a peer can prove a key to this node when it has dialed.
    pub(crate) fn accepts_keys(&self) -> bool {
        !self.options.accepted_keys.is_empty()
    }

    /// The accepted keys of this name: more than one while a key is replaced by another.
    pub(crate) fn accepted_keys(&self, name: &[u8]) -> impl Iterator<Item = &SharedKey> {
        self.options.accepted_keys.iter().filter(move |key| key.name().as_bytes() == name)
    }

    /// True if a listener that anybody can reach is all right.
    pub(crate) fn opens_to_all(&self) -> bool {
        self.options.is_insecure || self.accepts_keys()
    }

    /// Checks that a peer that has dialed has proven enough.
    pub(crate) fn check(&self, principal: &Principal) -> Result<(), LinkError> {
        let is_enough =
            principal.is_authenticated() || self.options.is_insecure || !self.accepts_keys();
        if is_enough {
            return Ok(());
        }
        let rule = "this node lets in peers that prove a shared key (NodeOptions::shared_key)";
        Err(LinkError::Misbehaved { code: Code::AUTH_REQUIRED, rule })
    }

    /// Checks that a dial of this node may use a session with its peer that there is already. A node that
    /// proves a key, or whose dial has met a certificate, wants a proof too, and the id by which a peer is
    /// recognized is none: any peer may say it.
    pub(crate) fn check_reused(
        &self,
        principal: &Principal,
        has_certificate: bool,
    ) -> Result<(), LinkError> {
        let needs_proof = has_certificate || self.own_key().is_some();
        if !needs_proof || principal.is_authenticated() {
            return Ok(());
        }
        let rule = "a session that there is already serves a dial with a key or with TLS only if the peer \
                    has proven over it who it is";
        Err(LinkError::Misbehaved { code: Code::AUTH_FAILED, rule })
    }

    /// Takes the place of a session for a peer. `old` is that of a session which gives way to this
    /// one: if it is of the same peer, the two count as one until the old one has ended.
    pub(crate) fn enter(
        &self,
        principal: &Principal,
        old: Option<&IdentityPlace>,
    ) -> Result<IdentityPlace, LinkError> {
        let rule = "this identity has as many sessions as it may";
        let full = LinkError::Misbehaved { code: Code::TOO_MANY, rule };
        let identity = self.identity(principal, clock::now());
        let gives_way = old.is_some_and(|old| Arc::ptr_eq(old.identity(), &identity));
        identity.enter(usize::from(gives_way)).ok_or(full)
    }

    /// The entry that counts what a peer uses of this node.
    fn identity(&self, principal: &Principal, now: Time) -> Arc<IdentityUse> {
        let mut identities = lock(&self.identities);
        if let Some(living) = identities.get(principal).and_then(|known| known.present.upgrade()) {
            return living;
        }
        identities.retain(|_, known| known.present.strong_count() > 0 || known.calls.counts(now));
        let rules = self.options.rules.as_ref();
        let limits = rules.map(|rules| rules.limits_of(principal)).unwrap_or_default();
        let calls = identities.get(principal).map(|known| known.calls.clone()).unwrap_or_default();
        let identity = IdentityUse::new(principal.clone(), limits, &self.pools, calls);
        let identity = Arc::new(identity);
        let present = Arc::downgrade(&identity);
        identities.insert(principal.clone(), Known { present, calls: identity.calls().clone() });
        identity
    }

    /// The methods that a peer may call of the actor, or the group, that is exported as `name`.
    pub(crate) fn permitted(
        &self,
        principal: &Principal,
        name: &str,
        schema: &Schema,
    ) -> Permitted {
        match &self.options.rules {
            // The directory lists what the peer may call, and so do the groups.
            Some(rules) if !name.is_empty() && name != GROUPS => {
                rules.permitted(principal, name, schema)
            }
            _ => Permitted::All,
        }
    }

    /// True if a peer may link its actors to the one that it fetches as `name`, or that the program
    /// has given it a reference to.
    pub(crate) fn permits_link(&self, principal: &Principal, name: Option<&str>) -> bool {
        let of_rules = |name| {
            let rules = self.options.rules.as_ref();
            rules.is_some_and(|rules| rules.permits_link(principal, name))
        };
        self.options.accepts_links || name.is_some_and(of_rules)
    }

    /// True if a peer may call everything that is exported.
    pub(crate) fn permits_everything(&self, principal: &Principal) -> bool {
        self.options.rules.as_ref().is_none_or(|rules| rules.permits_everything(principal))
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;
    use crate::access::{IdentityLimits, Peers};

    #[test]
    fn the_calls_of_a_session_that_has_ended_count_for_those_that_follow() {
        let limits = IdentityLimits::default().calls_per_second(10);
        let rules = Some(Access::new().limit(Peers::Any, limits));
        let access = NodeAccess::new(AccessOptions { rules, ..Default::default() }, Arc::default());
        // Each session makes as many calls as it may, and ends.
        let admitted = |peer: &str, millis: u64| {
            let now = Time::from_nanos(millis * 1_000_000);
            let identity = access.identity(&Principal::key(peer), now);
            (0..50).filter(|_| identity.admits(|| now)).count()
        };
        assert_eq!([admitted("a", 0), admitted("a", 0), admitted("a", 300)], [10, 0, 3]);
        assert_eq!(admitted("b", 300), 10, "another peer has calls of its own");
        // Peers whose calls count no longer are forgotten.
        assert_eq!(admitted("a", 5_000), 10);
        assert_eq!(lock(&access.identities).len(), 1);
    }
}
