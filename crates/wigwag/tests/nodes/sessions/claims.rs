//! The claims with which a dialer may resume a session, made by a hand-written dialer.

use std::time::Duration;

use tokio::time::{Instant, sleep_until, timeout};
use wigwag::{Actor, Node, NodeOptions, lifecycle::Alive, session::SessionChange};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::opening::resume::{Claim, PROOF_BYTES, Ticket};
use wigwag_link::opening::{Resumed, Step};
use wigwag_link::{Code, Identity, LinkError, Opening, features};
use wigwag_testkit::ledger::{Ledger, LedgerRef, in_time};
use wigwag_testkit::raw::{Raw, header, identity};
use wigwag_wire::ProtocolNumber;

use super::{PATIENCE, node};

const SESSION: u128 = 77;

fn prove(token: u128, bytes: &[u8]) -> [u8; PROOF_BYTES] {
    hmac_sha256::HMAC::mac(bytes, token.to_le_bytes())
}

/// An identity that can resume.
fn who() -> Identity {
    Identity { offered: features::RESUME, ..identity() }
}

/// Sends HELLO and reads the answer; returns the next step.
async fn greet(raw: &mut Raw, opening: &mut Opening, hello: &[u8]) -> Step {
    raw.say(&header(ProtocolNumber::PAIR1)).await;
    raw.header().await;
    raw.send(hello).await;
    opening.receive(&raw.message().await.unwrap()).unwrap()
}

/// Opens a session and attaches channel 0 to the ledger; returns the ticket to resume it.
async fn open(address: &str, who: Identity) -> (Raw, Ticket) {
    let mut raw = Raw::dial(address).await;
    let (mut opening, hello) = Opening::dial(who, SESSION);
    let Step::Send(open) = greet(&mut raw, &mut opening, hello.as_slice()).await else { panic!() };
    raw.send(open.as_slice()).await;
    let opened = opening.receive(&raw.message().await.unwrap());
    let Ok(Step::Opened(opened)) = opened else { panic!("{opened:?}") };
    assert_eq!(opened.ttl_ms, 60_000);
    let attach = Frame::Attach { channel: 0, how: 0, target: b"ledger", schema_hash: 0, codec: 0 };
    raw.tell(&[attach]).await;
    raw.until(kind::ATTACHED).await;
    (raw, Ticket::new(SESSION, opened.token))
}

/// Dials again with the claim as modified by `change`.
async fn come_back(
    address: &str,
    who: Identity,
    ticket: &mut Ticket,
    recv_next: u64,
    change: impl Fn(&mut Claim, &mut [u8; PROOF_BYTES]),
) -> (Raw, Result<Resumed, LinkError>) {
    let mut raw = Raw::dial(address).await;
    let (mut opening, hello) = Opening::redial(who);
    assert_eq!(greet(&mut raw, &mut opening, hello.as_slice()).await, Step::PeerKnown);
    let mut claim = ticket.claim(recv_next, opening.nonces().unwrap());
    let mut proof = ticket.prove(&claim, prove);
    change(&mut claim, &mut proof);
    raw.send(opening.resume(&claim, &proof).as_slice()).await;
    let answer = opening.receive(&raw.message().await.unwrap());
    let answer = answer.map(|step| match step {
        Step::Resumed(resumed) => resumed,
        other => panic!("{other:?}"),
    });
    if let Ok(resumed) = &answer {
        ticket.renew(resumed.token);
    }
    (raw, answer)
}

fn code<T>(outcome: &Result<T, LinkError>) -> Code {
    match outcome {
        Err(LinkError::ClosedByPeer { code, .. }) => *code,
        _ => panic!("it is refused"),
    }
}

fn note(number: u64) -> [u8; 4] {
    [0x93, 0, number as u8, 0xA0]
}

async fn listening() -> (Node, String, LedgerRef) {
    let node = node("listener");
    let ledger = Ledger::default().spawn();
    node.export("ledger", &ledger).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    (node, bound.to_string(), ledger)
}

async fn has_noted(ledger: &LedgerRef, count: u64) {
    in_time(PATIENCE, async {
        loop {
            let (noted, wrong) = ledger.noted(0).ask().await.unwrap();
            assert!(noted <= count && wrong == 0, "{noted} noted, {wrong} wrong");
            if noted == count {
                return;
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
}

/// The peer has everything and has not said so before the cut. It says it with its claim, and
/// nothing more.
#[tokio::test]
async fn a_flush_ends_with_the_resumption_that_says_that_all_has_arrived() {
    let (node, address, _ledger) = listening().await;
    let (old, mut ticket) = open(&address, who()).await;
    let mut flushed = std::pin::pin!(node.flush());
    assert!(timeout(Duration::ZERO, &mut flushed).await.is_err(), "nothing is acknowledged");
    let received = old.received;
    drop(old);
    let (_fresh, answer) = come_back(&address, who(), &mut ticket, received, |_, _| ()).await;
    assert!(answer.is_ok());
    in_time(PATIENCE, flushed).await.unwrap();
}

/// The deadline is that of the ask's first arrival, whatever connection the session has.
#[tokio::test]
async fn the_deadline_of_an_ask_stays_over_a_resumption() {
    const WITHIN: Duration = Duration::from_millis(20);
    let (node, address, ledger) = listening().await;
    let who = Identity { offered: features::RESUME | features::CANCELLING, ..identity() };
    let (mut old, mut ticket) = open(&address, who).await;
    ledger.handle().unwrap().suspend();
    let ask = |slot, within_ms| {
        let arguments = &[0x92, 0, 0][..];
        let (channel, generation, method) = (0, 0, 2);
        Frame::AskWithin { within_ms, channel, slot, generation, method, arguments }
    };
    old.tell(&[ask(0, WITHIN.as_millis() as u64), ask(1, 60_000)]).await;
    old.tell(&[Frame::Ping { id: 1, next_ms: 1000 }]).await;
    in_time(PATIENCE, old.until(kind::PONG)).await;
    let arrived = Instant::now();
    let received = old.received;
    drop(old);
    let (mut fresh, answer) = come_back(&address, who, &mut ticket, received, |_, _| ()).await;
    assert_eq!(answer.unwrap().recv_next, 3, "ATTACH and two asks");
    (fresh.sent, fresh.received) = (3, received);
    sleep_until(arrived + WITHIN).await;
    ledger.handle().unwrap().resume();
    let mut outcomes = Vec::new();
    while outcomes.len() < 2 {
        outcomes.extend(in_time(PATIENCE, fresh.frame()).await.unwrap().outcomes());
    }
    outcomes.sort_by_key(|(slot, _)| *slot);
    assert_eq!(outcomes[0], (0, Err(Code::DEADLINE_PASSED)));
    assert!(matches!(outcomes[1], (1, Ok(_))), "{outcomes:?}");
    assert_eq!(node.statistics()[0].session.asks_expired, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_holder_of_the_token_resumes_and_its_old_connection_is_ignored() {
    let (_node, address, ledger) = listening().await;
    let who = who();
    let (mut old, mut ticket) = open(&address, who).await;
    let tell = |number: u64| note(number);
    let (first, second, third) = (tell(0), tell(1), tell(2));
    old.tell(&[Frame::Tell { channel: 0, method: 1, arguments: &first }]).await;
    has_noted(&ledger, 1).await;

    let (_, wrong) = come_back(&address, who, &mut ticket, 1, |_, proof| proof[7] ^= 1).await;
    assert_eq!(code(&wrong), Code::TOKEN_BAD);
    let (_, other) = come_back(&address, who, &mut ticket, 1, |claim, _| claim.session = 78).await;
    assert_eq!(code(&other), Code::SESSION_UNKNOWN);
    old.tell(&[Frame::Tell { channel: 0, method: 1, arguments: &second }]).await;
    has_noted(&ledger, 2).await;

    let (mut fresh, answer) = come_back(&address, who, &mut ticket, 1, |_, _| ()).await;
    assert_eq!(answer.unwrap().recv_next, 3, "ATTACH and two tells");
    // The old connection is still open and its bytes arrive, but they are ignored.
    old.tell(&[Frame::Tell { channel: 0, method: 1, arguments: &third }]).await;
    // Acks may be under way; after them the connection is closed.
    in_time(PATIENCE, old.rest()).await;
    (fresh.sent, fresh.received) = (2, 1);
    // An accepted message is sent again, and then one that was not accepted.
    fresh.tell(&[Frame::Tell { channel: 0, method: 1, arguments: &second }]).await;
    fresh.tell(&[Frame::Tell { channel: 0, method: 1, arguments: &third }]).await;
    has_noted(&ledger, 3).await;

    let late = come_back(&address, who, &mut ticket, 1, |claim, _| claim.epoch = 3).await;
    assert_eq!(code(&late.1), Code::TOKEN_BAD, "an epoch that was used, and not proved");
}

/// The first batch over the new connection shows that its token has arrived.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_token_whose_successor_was_used_is_good_for_nothing() {
    let (_node, address, ledger) = listening().await;
    let who = who();
    let (_old, mut ticket) = open(&address, who).await;
    let mut stale = ticket;
    let (mut fresh, answer) = come_back(&address, who, &mut ticket, 1, |_, _| ()).await;
    (fresh.sent, fresh.received) = (answer.unwrap().recv_next, 1);
    let first = note(0);
    fresh.tell(&[Frame::Tell { channel: 0, method: 1, arguments: &first }]).await;
    has_noted(&ledger, 1).await;
    stale.claim(1, [0, 0]);
    let (_, refused) = come_back(&address, who, &mut stale, 1, |_, _| ()).await;
    assert_eq!(code(&refused), Code::TOKEN_BAD);
}

/// A node puts its name and incarnation into every HELLO, so any node that it has dialed knows
/// them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_in_the_name_of_another_is_refused_and_its_session_goes_on() {
    let (node, address, ledger) = listening().await;
    let mut events = node.session_events();
    let who = who();
    let (mut owner, mut ticket) = open(&address, who).await;
    let thief = async || {
        let mut raw = Raw::dial(&address).await;
        let (mut opening, hello) = Opening::dial(who, 78);
        let greeted = greet(&mut raw, &mut opening, hello.as_slice()).await;
        let Step::Send(open) = greeted else { panic!("{greeted:?}") };
        raw.send(open.as_slice()).await;
        opening.receive(&in_time(PATIENCE, raw.message()).await.unwrap())
    };
    assert_eq!(code(&thief().await), Code::EXISTS);
    let first = note(0);
    owner.tell(&[Frame::Tell { channel: 0, method: 1, arguments: &first }]).await;
    has_noted(&ledger, 1).await;
    // The claim is also refused while the session's owner is about to reconnect.
    drop(owner);
    assert_eq!(code(&thief().await), Code::EXISTS);
    let (mut owner, answer) = come_back(&address, who, &mut ticket, 1, |_, _| ()).await;
    (owner.sent, owner.received) = (answer.unwrap().recv_next, 1);
    let second = note(1);
    owner.tell(&[Frame::Tell { channel: 0, method: 1, arguments: &second }]).await;
    has_noted(&ledger, 2).await;
    while let Ok(Some(event)) = timeout(Duration::ZERO, events.next()).await {
        assert!(!matches!(event.what, SessionChange::Ended { .. }), "{event:?}");
    }
}

/// The dialer may never have learned that the session is open, so it must not wait for its end.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_over_which_nothing_came_gives_way_to_the_next_of_its_dialer() {
    let (node, address, _ledger) = listening().await;
    let who = who();
    let mut silent = Raw::dial(&address).await;
    silent.open(who).await;
    let (_owner, _) = open(&address, who).await;
    in_time(PATIENCE, silent.rest()).await;
    assert_eq!(node.statistics().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_to_have_accepted_what_was_never_sent_ends_the_session() {
    let (node, address, _ledger) = listening().await;
    let who = who();
    let (mut old, mut ticket) = open(&address, who).await;
    let (mut fresh, answer) = come_back(&address, who, &mut ticket, 500, |_, _| ()).await;
    assert_eq!(code(&answer), Code::ACK_BEYOND_SENT);
    in_time(PATIENCE, old.rest()).await;
    assert!(in_time(PATIENCE, fresh.message()).await.is_none());
    assert!(node.statistics().is_empty());
    let again = come_back(&address, who, &mut ticket, 1, |_, _| ()).await;
    assert_eq!(code(&again.1), Code::SESSION_UNKNOWN);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_that_keeps_no_sessions_offers_none() {
    let node = Node::with(NodeOptions::default().keep_sessions(Duration::ZERO));
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let mut raw = Raw::dial(&bound.to_string()).await;
    let (mut opening, hello) = Opening::dial(who(), SESSION);
    let Step::Send(open) = greet(&mut raw, &mut opening, hello.as_slice()).await else { panic!() };
    assert_eq!(opening.peer().unwrap().offered & features::RESUME, 0);
    raw.send(open.as_slice()).await;
    let opened = opening.receive(&raw.message().await.unwrap());
    assert!(matches!(opened, Ok(Step::Opened(opened)) if opened.ttl_ms == 0));
}
