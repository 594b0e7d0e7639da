//! Permissions: which peers may call which methods of which actors.

use wigwag_actor::schema::FIRST_METHOD;
use wigwag_actor::{Principal, Schema};

use super::identities::IdentityLimits;

/// The peers that a rule is for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Peers {
    /// Every peer that is let in.
    Any,
    /// Every peer with a proven identity.
    Authenticated,
    /// The peer with this identity.
    One(Principal),
}

impl From<Principal> for Peers {
    fn from(principal: Principal) -> Peers {
        Peers::One(principal)
    }
}

impl Peers {
    fn contains(&self, principal: &Principal) -> bool {
        match self {
            Peers::Any => true,
            Peers::Authenticated => principal.is_authenticated(),
            Peers::One(one) => one == principal,
        }
    }
}

/// The calls that peers may make, and how much of a node each peer may use.
///
/// A call that no rule allows is forbidden, and a peer gets the answer that it would get if the actor or the
/// method were not there. The rules are looked at when a peer fetches a reference, and hold as long as
/// the reference. They are about the names under which actors are exported: a reference that the
/// program itself gives to a peer, as an argument or a reply, may be used for all methods of its actor.
///
/// The module's [example](crate::access) has two rules for one actor.
#[derive(Clone, Debug, Default)]
pub struct Access {
    rules: Vec<Rule>,
    /// The peers that may link their actors to the one that is exported under a name.
    links: Vec<(Peers, String)>,
    limits: Vec<(Peers, IdentityLimits)>,
}

#[derive(Clone, Debug)]
struct Rule {
    peers: Peers,
    /// The name under which the actor is exported; `None` for all of them.
    actor: Option<String>,
    /// `None` for all methods.
    methods: Option<Vec<String>>,
}

/// The methods of one actor that a peer may call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Permitted {
    /// Nothing: the actor is not there for it.
    Nothing,
    /// All methods.
    All,
    /// The methods whose bits are set, counted from the first method on.
    Methods(Box<[u64]>),
}

impl Access {
    /// Nothing is allowed.
    pub fn new() -> Access {
        Access::default()
    }

    /// Lets `peers` call all methods of the actor or the group that is exported as `actor`.
    #[must_use]
    pub fn allow(self, peers: impl Into<Peers>, actor: &str) -> Access {
        self.rule(peers.into(), Some(actor), None)
    }

    /// Lets `peers` call these methods of the actor or the group that is exported as `actor`. Names
    /// that the actor does not have allow nothing.
    #[must_use]
    pub fn allow_methods<M: Into<String>>(
        self,
        peers: impl Into<Peers>,
        actor: &str,
        methods: impl IntoIterator<Item = M>,
    ) -> Access {
        let methods = methods.into_iter().map(Into::into).collect();
        self.rule(peers.into(), Some(actor), Some(methods))
    }

    /// Lets `peers` call everything that is exported. Only such peers may subscribe to what actors
    /// publish, because a SUB is sent everything.
    #[must_use]
    pub fn allow_all_actors(self, peers: impl Into<Peers>) -> Access {
        self.rule(peers.into(), None, None)
    }

    /// Lets `peers` link their actors to the one that is exported as `actor`, if they may call it: each
    /// of the two ends with the other, so such a peer can end this one. It allows no call.
    /// [`NodeOptions::accept_links`](crate::NodeOptions::accept_links) lets all peers do so with all
    /// actors.
    #[must_use]
    pub fn allow_links(mut self, peers: impl Into<Peers>, actor: &str) -> Access {
        self.links.push((peers.into(), actor.to_owned()));
        self
    }

    /// Limits what each of `peers` may use, all of its sessions together. Of several limits that are
    /// for one peer, the first applies.
    #[must_use]
    pub fn limit(mut self, peers: impl Into<Peers>, limits: IdentityLimits) -> Access {
        self.limits.push((peers.into(), limits));
        self
    }

    fn rule(mut self, peers: Peers, actor: Option<&str>, methods: Option<Vec<String>>) -> Access {
        self.rules.push(Rule { peers, actor: actor.map(str::to_owned), methods });
        self
    }

    /// The limits of a peer.
    pub(crate) fn limits_of(&self, principal: &Principal) -> IdentityLimits {
        let found = self.limits.iter().find(|(peers, _)| peers.contains(principal));
        found.map(|(_, limits)| limits.clone()).unwrap_or_default()
    }

    /// True if a peer may link its actors to the one that is exported as `name`.
    pub(crate) fn permits_link(&self, principal: &Principal, name: &str) -> bool {
        self.links.iter().any(|(peers, actor)| actor == name && peers.contains(principal))
    }

    /// True if a peer may call everything.
    pub(crate) fn permits_everything(&self, principal: &Principal) -> bool {
        let mut rules = self.rules.iter().filter(|rule| rule.peers.contains(principal));
        rules.any(|rule| rule.actor.is_none() && rule.methods.is_none())
    }

    /// The methods that a peer may call of the actor that is exported as `name`.
    pub(crate) fn permitted(
        &self,
        principal: &Principal,
        name: &str,
        schema: &Schema,
    ) -> Permitted {
        let mut bits = vec![0_u64; schema.methods.len().div_ceil(64)];
        let mut is_there = false;
        for rule in &self.rules {
            let is_for = rule.actor.as_ref().is_none_or(|actor| actor == name);
            if !is_for || !rule.peers.contains(principal) {
                continue;
            }
            let Some(methods) = &rule.methods else { return Permitted::All };
            for (at, method) in schema.methods.iter().enumerate() {
                if methods.iter().any(|allowed| allowed == method.name) {
                    bits[at / 64] |= 1 << (at % 64);
                    is_there = true;
                }
            }
        }
        if is_there { Permitted::Methods(bits.into()) } else { Permitted::Nothing }
    }
}

impl Permitted {
    /// True if this method may be called.
    pub(crate) fn contains(&self, method: u32) -> bool {
        match self {
            Permitted::Nothing => false,
            Permitted::All => true,
            Permitted::Methods(bits) => {
                let at = method.wrapping_sub(FIRST_METHOD) as usize;
                bits.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
            }
        }
    }
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use wigwag_actor::Method;
    use wigwag_wire::fields::Fields;

    use super::*;

    const fn method(name: &'static str) -> Method {
        let (former, arguments, reply) = (&[], &[], "()");
        let (reply_fields, is_stream, comment, routes) = (Fields::NONE, false, "", &[]);
        Method { name, former, arguments, reply, reply_fields, is_stream, comment, routes }
    }

    const SCHEMA: &Schema =
        &Schema::new("A", const { &[method("get"), method("set"), method("stop")] });

    fn methods(access: &Access, principal: &Principal, name: &str) -> Vec<u32> {
        let permitted = access.permitted(principal, name, SCHEMA);
        (0..200).filter(|number| permitted.contains(*number)).collect()
    }

    #[test]
    fn calls_that_no_rule_allows_are_forbidden() {
        let (key, other) = (Principal::key("a"), Principal::certificate("a"));
        let access = Access::new()
            .allow_methods(Peers::Any, "one", ["get"])
            .allow_methods(Peers::Authenticated, "one", ["stop", "absent"])
            .allow(key.clone(), "two");
        assert_eq!(methods(&access, &Principal::Anonymous, "one"), [1]);
        assert_eq!(methods(&access, &other, "one"), [1, 3]);
        assert_eq!(access.permitted(&other, "two", SCHEMA), Permitted::Nothing);
        assert_eq!(access.permitted(&key, "two", SCHEMA), Permitted::All);
        assert_eq!(access.permitted(&key, "three", SCHEMA), Permitted::Nothing);
        assert!(!access.permits_everything(&key));
        let access = access.allow_all_actors(Principal::User(0));
        assert_eq!(access.permitted(&Principal::User(0), "three", SCHEMA), Permitted::All);
        assert!(access.permits_everything(&Principal::User(0)) && !access.permits_everything(&key));
    }

    #[test]
    fn a_rule_that_names_no_method_of_the_actor_hides_it() {
        let access = Access::new().allow_methods(Peers::Any, "one", ["absent"]);
        assert_eq!(access.permitted(&Principal::Process, "one", SCHEMA), Permitted::Nothing);
    }

    #[test]
    fn the_first_limit_of_a_peer_applies() {
        let most = |calls| IdentityLimits::default().calls_per_second(calls);
        let access =
            Access::new().limit(Principal::key("a"), most(1)).limit(Peers::Authenticated, most(2));
        let calls = |principal| access.limits_of(&principal).calls_per_second;
        assert_eq!(calls(Principal::key("a")), Some(1));
        assert_eq!(calls(Principal::key("b")), Some(2));
        assert_eq!(calls(Principal::Anonymous), None);
    }
}
