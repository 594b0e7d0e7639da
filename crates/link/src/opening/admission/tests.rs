use alloc::string::String;
use alloc::vec::Vec;

use super::SessionProgress::{Established, Silent, SilentAndCut};
use super::*;
use crate::limits::Limits;

fn identity(node: u128) -> Identity {
    let (incarnation, nonce, offered, required) = (node + 100, node + 200, 0, 0);
    Identity { node, incarnation, nonce, offered, required, limits: Limits::default() }
}

/// The code of a refusal, or how the OPEN is admitted.
fn admitted(state: PeerState, ours: u128, peer: u128) -> Result<Admission, Code> {
    state.admit(&identity(ours), &identity(peer)).map_err(|error| match error {
        LinkError::Misbehaved { code, .. } => code,
        other => panic!("expected a refusal, got {other}"),
    })
}

/// Each state of a peer at a node that stays open.
fn states() -> Vec<PeerState> {
    let mut states = Vec::new();
    for session in [None, Some(Established), Some(Silent), Some(SilentAndCut)] {
        for (is_dialing, is_accepting) in
            [(false, false), (false, true), (true, false), (true, true)]
        {
            states.push(PeerState { session, is_dialing, is_accepting, is_closing: false });
        }
    }
    states
}

#[test]
fn an_open_is_refused_for_an_established_session_or_for_a_dial_of_the_lower_node() {
    for state in states() {
        for (ours, peer) in [(1, 2), (2, 1)] {
            let expected = match (state.session, state.is_dialing && ours < peer) {
                (Some(Established), _) => Err(Code::EXISTS),
                (_, true) => Err(Code::DIAL_TIE),
                (None, false) => Ok(Admission::Only),
                (Some(Silent | SilentAndCut), false) => Ok(Admission::Replacement),
            };
            assert_eq!(admitted(state, ours, peer), expected, "{state:?} of node {ours}");
        }
    }
}

#[test]
fn a_dialer_opens_only_if_no_other_session_is_on_its_way() {
    for state in states() {
        let is_alone = !state.is_dialing && !state.is_accepting;
        let expected = is_alone && matches!(state.session, None | Some(SilentAndCut));
        for (ours, peer) in [(1, 2), (2, 1)] {
            let opens = state.may_open(&identity(ours), &identity(peer));
            assert_eq!(opens, expected, "{state:?} of node {ours}");
        }
    }
}

#[test]
fn a_node_may_dial_itself_whatever_else_it_has() {
    for state in states() {
        assert_eq!(admitted(state, 1, 1), Ok(Admission::Loopback), "{state:?}");
        assert!(state.may_open(&identity(1), &identity(1)), "{state:?}");
    }
}

#[test]
fn a_node_that_closes_admits_nobody() {
    for state in states() {
        for peer in [1, 2] {
            let closing = PeerState { is_closing: true, ..state };
            assert_eq!(admitted(closing, 1, peer), Err(Code::DRAINING), "{closing:?}");
        }
    }
}

#[test]
fn a_dialer_waits_for_the_other_session_after_two_refusals_only() {
    let refused =
        |code| LinkError::ClosedByPeer { code, rule: String::new(), detail: String::new() };
    for code in [Code::EXISTS, Code::DIAL_TIE] {
        assert!(yields_to_another(&refused(code)), "{code}");
    }
    for code in [Code::BYE, Code::TOO_MANY, Code::DRAINING, Code::PROTOCOL] {
        assert!(!yields_to_another(&refused(code)), "{code}");
    }
    let ours = LinkError::Misbehaved { code: Code::EXISTS, rule: "" };
    assert!(!yields_to_another(&ours), "the refusal of this side");
}

/// A dial of one of two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Dial {
    /// HELLO is on its way.
    Greeting,
    /// OPEN is on its way.
    Opening,
    /// The listener has admitted it; each end starts the session on its own.
    Admitted { dialer: bool, listener: bool },
    /// REFUSED is on its way.
    Refused,
    /// The dialer uses another session.
    Yielded,
}

/// Two nodes that dial each other at once.
#[derive(Clone, Debug)]
struct Tie {
    states: [PeerState; 2],
    dials: [Dial; 2],
}

impl Tie {
    /// Every state that one step of node `from`'s dial may lead to; none if its dial is over.
    fn steps(&self, from: usize) -> Vec<Tie> {
        let to = 1 - from;
        let identities = [identity(1), identity(2)];
        let mut next = self.clone();
        let dial = &mut next.dials[from];
        match self.dials[from] {
            Dial::Greeting => {
                let opens = self.states[from].may_open(&identities[from], &identities[to]);
                next.states[from].is_dialing |= opens;
                *dial = if opens { Dial::Opening } else { Dial::Yielded };
            }
            Dial::Opening => match self.states[to].admit(&identities[to], &identities[from]) {
                Ok(admission) => {
                    assert_eq!(admission, Admission::Only, "{self:?}");
                    next.states[to].is_accepting = true;
                    *dial = Dial::Admitted { dialer: false, listener: false };
                }
                Err(_) => *dial = Dial::Refused,
            },
            Dial::Refused => {
                next.states[from].is_dialing = false;
                *dial = Dial::Yielded;
            }
            Dial::Admitted { dialer, listener } => return self.starts(from, dialer, listener),
            Dial::Yielded => return Vec::new(),
        }
        alloc::vec![next]
    }

    /// An end of the admitted session starts it. A session is found before its entry is removed.
    fn starts(&self, from: usize, dialer: bool, listener: bool) -> Vec<Tie> {
        let mut states = Vec::new();
        if !dialer {
            let mut next = self.clone();
            next.states[from].session = Some(Established);
            next.states[from].is_dialing = false;
            next.dials[from] = Dial::Admitted { dialer: true, listener };
            states.push(next);
        }
        if !listener {
            let mut next = self.clone();
            next.states[1 - from].session = Some(Silent);
            next.states[1 - from].is_accepting = false;
            next.dials[from] = Dial::Admitted { dialer, listener: true };
            states.push(next);
        }
        states
    }

    /// Goes on in every order; the number of orders.
    fn run(&self) -> usize {
        let next: Vec<Tie> = [0, 1].into_iter().flat_map(|from| self.steps(from)).collect();
        if !next.is_empty() {
            return next.iter().map(Tie::run).sum();
        }
        let admitted = self.dials.iter().filter(|dial| **dial != Dial::Yielded).count();
        let sessions = self.states.map(|state| state.session.is_some());
        assert_eq!((admitted, sessions), (1, [true; 2]), "{self:?}");
        1
    }
}

#[test]
fn two_nodes_that_dial_each_other_have_one_session_in_every_order_of_events() {
    let tie = Tie { states: [PeerState::default(); 2], dials: [Dial::Greeting; 2] };
    assert!(tie.run() > 50);
}
