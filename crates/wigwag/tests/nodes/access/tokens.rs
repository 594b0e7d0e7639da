//! The token of a session, which only its own identity can use.

use wigwag::access::{Access, Peers, SharedKey};
use wigwag_link::opening::resume::Ticket;
use wigwag_link::opening::{Resumed, Step};
use wigwag_link::{Code, Identity, LinkError, Opening, features};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::raw::{Raw, header, identity};
use wigwag_wire::ProtocolNumber;

use super::super::sessions::PATIENCE;
use super::{key, proof, vault_at};

const SESSION: u128 = 99;

/// Exchanges headers and HELLOs, and proves `key`. Returns the step after HELLO.
async fn greet(raw: &mut Raw, opening: &mut Opening, hello: &[u8], key: &SharedKey) -> Step {
    raw.say(&header(ProtocolNumber::PAIR1)).await;
    raw.header().await;
    raw.send(hello).await;
    let step = opening.receive(&raw.message().await.unwrap()).unwrap();
    raw.send(&proof(opening, key)).await;
    step
}

/// The answer behind the listener's own proof.
async fn answer(raw: &mut Raw, opening: &mut Opening) -> Result<Step, LinkError> {
    let first = opening.receive(&in_time(PATIENCE, raw.message()).await.unwrap())?;
    assert!(matches!(first, Step::Proved(_)), "{first:?}");
    opening.receive(&in_time(PATIENCE, raw.message()).await.unwrap())
}

async fn resume(
    address: &str,
    who: Identity,
    ticket: &mut Ticket,
    key: &SharedKey,
) -> Result<Resumed, LinkError> {
    let mut raw = Raw::dial(address).await;
    let (opening, hello) = Opening::redial(who);
    let mut opening = opening.with_keys(true);
    let known = greet(&mut raw, &mut opening, hello.as_slice(), key).await;
    assert_eq!(known, Step::PeerKnown);
    let claim = ticket.claim(0, opening.nonces().unwrap());
    let proof =
        ticket.prove(&claim, |token, bytes| hmac_sha256::HMAC::mac(bytes, token.to_le_bytes()));
    raw.send(opening.resume(&claim, &proof).as_slice()).await;
    match answer(&mut raw, &mut opening).await? {
        Step::Resumed(resumed) => Ok(resumed),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_stolen_token_is_of_no_use_without_the_identity() {
    let [owner, thief] = ["owner", "thief"].map(key);
    let access = Access::new().allow_all_actors(Peers::Any);
    let (_node, address, _vault) = vault_at("tcp://127.0.0.1:0", &[&owner, &thief], access).await;
    let who = Identity { offered: features::RESUME, ..identity() };
    let mut raw = Raw::dial(&address).await;
    let (opening, hello) = Opening::dial(who, SESSION);
    let mut opening = opening.with_keys(true);
    let step = greet(&mut raw, &mut opening, hello.as_slice(), &owner).await;
    let Step::Send(open) = step else { panic!("{step:?}") };
    raw.send(open.as_slice()).await;
    let opened = answer(&mut raw, &mut opening).await.unwrap();
    let Step::Opened(opened) = opened else { panic!("{opened:?}") };
    // Something has come over it, so it is kept.
    raw.tell(&[]).await;
    let mut ticket = Ticket::new(SESSION, opened.token);

    // With the session's own token, and every number right.
    let stolen = resume(&address, who, &mut ticket, &thief).await.unwrap_err();
    let LinkError::ClosedByPeer { code, .. } = stolen else { panic!("{stolen:?}") };
    assert_eq!(code, Code::SESSION_UNKNOWN, "as if there were no such session");
    assert!(resume(&address, who, &mut ticket, &owner).await.is_ok());
}
