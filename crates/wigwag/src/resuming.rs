//! How a session comes to its next connection.
//!
//! Who dialed it dials again, at once and then after ever longer pauses. Who was dialed waits, and
//! decides for how long. Each connection has a greater epoch than the one before, which shuts the old
//! one out.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};
use wigwag_link::opening::Resumed;
use wigwag_link::resume::{Claim, PROOF_BYTES, Proved, Ticket, Tickets};
use wigwag_link::{Code, Identity, LinkError, Opening};
use wigwag_net::backoff::Backoff;
use wigwag_net::{Address, Connection, NetErrorKind, Redial};
use wigwag_wire::{Buffer, ReadBuf};

use crate::carrier::Carrier;
use crate::error::NodeError;
use crate::events::SessionChange;
use crate::limits::{REDIAL_LEAST, REDIAL_MOST, REDIAL_PATIENCE};
use crate::link::Link;
use crate::node::lock;
use crate::{opening, random};

/// What a session needs to outlive its connection.
pub(crate) struct Resuming {
    session: u128,
    /// How long it is kept after a cut; zero: it is not.
    ttl: Duration,
    right: Mutex<Right>,
    /// The epoch of the connection that carries it.
    epoch: watch::Sender<u64>,
}

/// What entitles to the next connection.
pub(crate) enum Right {
    /// We dialed, at this address.
    Dialer(Ticket, Address),
    /// We were dialed.
    Listener(Tickets),
}

/// Where a session goes after a cut.
pub(crate) enum Next {
    /// On, over this connection.
    On(Box<(Connection, ReadBuf, Arc<Carrier>)>),
    /// On, with somebody else who cares for it.
    Elsewhere,
    /// Nowhere.
    End(String),
}

/// A try that came to nothing.
enum Failed {
    /// The next one may do better.
    ForNow(String),
    /// The peer that we knew is no more, or not for us.
    ForGood(String),
}

/// The proof of a claim: HMAC-SHA-256 (RFC 2104), with the token as its key.
pub(crate) fn prove(token: u128, bytes: &[u8]) -> [u8; PROOF_BYTES] {
    hmac_sha256::HMAC::mac(bytes, token.to_le_bytes())
}

impl Resuming {
    pub(crate) fn new(session: u128, ttl: Duration, right: Right) -> Resuming {
        Resuming { session, ttl, right: Mutex::new(right), epoch: watch::Sender::new(0) }
    }

    /// The session's id.
    pub(crate) fn session(&self) -> u128 {
        self.session
    }

    /// True when the session outlives its connection.
    pub(crate) fn is_on(&self) -> bool {
        !self.ttl.is_zero()
    }

    /// True when this is the session that a peer has dialed here under that id.
    pub(crate) fn is_claimed_by(&self, claim: &Claim) -> bool {
        let was_dialed = matches!(*lock(&self.right), Right::Listener(_));
        was_dialed && self.is_on() && self.session == claim.session
    }

    /// A batch has come over the newest connection: the token that it brought is known to the dialer.
    pub(crate) fn confirm(&self) {
        if let Right::Listener(tickets) = &mut *lock(&self.right) {
            tickets.confirm();
        }
    }

    /// Looks at the claim of a dialer, and has the next one need the new token.
    fn check(
        &self,
        claim: &Claim,
        proof: &[u8; PROOF_BYTES],
        fresh: u128,
    ) -> Result<Proved, LinkError> {
        match &mut *lock(&self.right) {
            Right::Listener(tickets) => {
                let proved = tickets.check(claim, proof, prove)?;
                tickets.renew(&proved, fresh);
                Ok(proved)
            }
            Right::Dialer(..) => Err(LinkError::protocol("only who has dialed dials again")),
        }
    }

    /// The connection of `epoch` carries the session from now on.
    fn moves(&self, epoch: u64) {
        self.epoch.send_if_modified(|newest| {
            let newer = epoch > *newest;
            *newest = epoch.max(*newest);
            newer
        });
    }

    /// Waits until the session has left the connection of `epoch`.
    pub(crate) async fn has_left(&self, epoch: u64) {
        // The sender is ours, so it cannot have gone away.
        let _ = self.epoch.subscribe().wait_for(|newest| *newest > epoch).await;
    }
}

/// Lets a dialer back in: its old connection is shut out, and the message says from where on it is to
/// send again.
pub(crate) fn let_in(
    link: &Link,
    claim: &Claim,
    proof: &[u8; PROOF_BYTES],
) -> Result<Buffer, LinkError> {
    let fresh = random::id();
    link.resuming.check(claim, proof, fresh)?;
    let Some(mut reading) = link.reading.shut(claim.epoch) else {
        let rule = "another connection of the session was newer";
        return Err(LinkError::Misbehaved { code: Code::TOKEN_BAD, rule });
    };
    let in_range = link.sending().sender.outbox.check_resume(claim.recv_next);
    if let Err(error) = in_range {
        // It is the peer, by its proof, and it breaks the rules.
        drop(reading);
        link.end(&error.to_string());
        link.halt();
        return Err(error);
    }
    reading.is_unconfirmed = true;
    let message = Opening::resumed(claim, reading.receiver.recv_next(), fresh);
    drop(reading);
    link.resuming.moves(claim.epoch);
    link.carrier().leave.notify_one();
    Ok(message)
}

/// Finds the next connection of a session that was cut, or the end.
pub(crate) async fn next(link: &Arc<Link>, epoch: u64, why: &str) -> Next {
    let dialed = match &*lock(&link.resuming.right) {
        Right::Dialer(_, address) => Some(address.clone()),
        Right::Listener(_) => None,
    };
    let Some(address) = dialed else {
        return wait(link, epoch, why).await;
    };
    let end = Instant::now() + link.resuming.ttl + REDIAL_PATIENCE;
    tokio::select! {
        next = redial(link, &address, end, why) => next,
        () = link.halted() => Next::End("the session was closed here".to_owned()),
    }
}

/// The side that was dialed waits for the dialer; not beyond the short life of a session over which
/// nothing has come.
async fn wait(link: &Link, epoch: u64, why: &str) -> Next {
    let ttl = link.resuming.ttl;
    let ttl = if link.is_silent() { ttl.min(link.silent_left()) } else { ttl };
    tokio::select! {
        () = link.resuming.has_left(epoch) => Next::Elsewhere,
        () = link.halted() => Next::End("the session was closed here".to_owned()),
        () = sleep(ttl) => {
            Next::End(format!("{why}, and the peer did not come back within {ttl:?}"))
        }
    }
}

async fn redial(link: &Arc<Link>, address: &Address, end: Instant, why: &str) -> Next {
    let bounds = Redial::new(REDIAL_LEAST, REDIAL_MOST).unwrap_or_default();
    let mut pauses = Backoff::immediate(bounds);
    let mut last = "it did not answer".to_owned();
    while Instant::now() < end {
        let pause = pauses.next(random::id() as u64);
        sleep_until((Instant::now() + pause).min(end)).await;
        match timeout_at(end, dial(link, address)).await {
            Ok(Ok(found)) => return Next::On(Box::new(found)),
            Ok(Err(Failed::ForGood(found))) => return Next::End(format!("{why}; {found}")),
            Ok(Err(Failed::ForNow(found))) => {
                tracing::debug!(peer = %link.peer, %found, "a session waits for its peer");
                last = found;
            }
            Err(_) => {}
        }
    }
    Next::End(format!("{why}, and the peer was not found again: {last}"))
}

/// One try.
async fn dial(
    link: &Arc<Link>,
    address: &Address,
) -> Result<(Connection, ReadBuf, Arc<Carrier>), Failed> {
    let for_now = |error: NodeError| Failed::ForNow(first_line(&error.to_string()));
    let dialing = wigwag_net::transport::dial(address).await;
    let mut connection = dialing.map_err(|error| for_now(error.into()))?;
    let mut input = ReadBuf::new();
    let ours = Identity { nonce: random::id(), ..link.ours };
    let taken = opening::resume(&mut connection, &mut input, ours, link).await;
    let outlet = connection.outlet.clone();
    let outcome = match taken {
        Ok((epoch, resumed)) => carry_on(link, epoch, &connection, resumed),
        Err(error) => Err(judge(link, error)),
    };
    match outcome {
        Ok(carrier) => Ok((connection, input, carrier)),
        Err(failed) => {
            outlet.close();
            Err(failed)
        }
    }
}

fn carry_on(
    link: &Arc<Link>,
    epoch: u64,
    connection: &Connection,
    resumed: Resumed,
) -> Result<Arc<Carrier>, Failed> {
    if let Right::Dialer(ticket, _) = &mut *lock(&link.resuming.right) {
        ticket.renew(resumed.token);
    }
    match link.carry_on(epoch, connection, resumed.recv_next) {
        Ok(Some(carrier)) => Ok(carrier),
        Ok(None) => Err(Failed::ForGood("the session is over".to_owned())),
        Err(error) => Err(Failed::ForGood(error.to_string())),
    }
}

/// What a failed try says of the peer.
fn judge(link: &Link, error: NodeError) -> Failed {
    let text = first_line(&error.to_string());
    match &error {
        NodeError::Link { error: LinkError::ToldByPeer { code, .. }, .. }
            if [Code::SESSION_UNKNOWN, Code::TOKEN_BAD].contains(code) =>
        {
            Failed::ForGood("the peer knows the session no more".to_owned())
        }
        NodeError::Restarted => Failed::ForGood("the peer was started anew".to_owned()),
        NodeError::Link { error: LinkError::NotWigwag, .. } => {
            link.announce(SessionChange::PeerChanged { found: text.as_str().into() });
            Failed::ForNow(text)
        }
        NodeError::Net(net) if matches!(net.kind, NetErrorKind::Header(_)) => {
            link.announce(SessionChange::PeerChanged { found: text.as_str().into() });
            Failed::ForNow(text)
        }
        _ => Failed::ForNow(text),
    }
}

/// Whether the node at the peer's address is our peer.
pub(crate) fn recognize(link: &Link, found: &Identity) -> Result<(), NodeError> {
    let known = &link.identity;
    if found.incarnation == known.incarnation {
        return Ok(());
    }
    let nameless = |who: &Identity| who.node == who.incarnation;
    if found.node == known.node || nameless(found) && nameless(known) {
        return Err(NodeError::Restarted);
    }
    let found = "another node listens at the address of the peer";
    link.announce(SessionChange::PeerChanged { found: found.into() });
    Err(NodeError::AnotherNode)
}

/// The claim for the next connection, and its proof.
pub(crate) fn claim(
    link: &Link,
    nonces: [u128; 2],
) -> Result<(Claim, [u8; PROOF_BYTES]), LinkError> {
    let Right::Dialer(ticket, _) = &mut *lock(&link.resuming.right) else {
        return Err(LinkError::protocol("only who has dialed dials again"));
    };
    // The old connection is not read any more, so this number stays.
    let recv_next = link.reading.inside().receiver.recv_next();
    let claim = ticket.claim(recv_next, nonces);
    let overtaken = || LinkError::protocol("another connection of the session was newer");
    link.reading.shut(claim.epoch).ok_or_else(overtaken)?;
    Ok((claim, ticket.prove(&claim, prove)))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[cfg(all(test, not(wigwag_loom)))]
mod tests {
    use super::*;

    /// The text behind `"name": "`, once for each time that it stands there.
    fn all<'a>(text: &'a str, name: &str) -> impl Iterator<Item = &'a str> {
        let key = format!("\"{name}\": \"");
        let rest = text.split(&key).skip(1).collect::<Vec<_>>();
        rest.into_iter().filter_map(|rest| Some(rest.split_once('"')?.0))
    }

    fn bytes(hex: &str) -> Vec<u8> {
        let digits = hex.as_bytes().chunks_exact(2);
        let byte = |two| u8::from_str_radix(str::from_utf8(two).ok()?, 16).ok();
        digits.map(|two| byte(two).expect("it is hex")).collect()
    }

    /// They were made by another implementation of HMAC-SHA-256.
    #[test]
    fn proofs_are_those_of_the_vectors() {
        let vectors = include_str!("../../../docs/vectors/link/opening.json");
        let resumes = vectors.split("\"RESUME\"").skip(1);
        let mut seen = 0;
        for resume in resumes {
            let of = |name| all(resume, name).next().expect("it has one");
            let token = u128::from_str_radix(&of("token")[2..], 16).expect("it is hex");
            assert_eq!(prove(token, &bytes(of("claim"))).to_vec(), bytes(of("proof")));
            seen += 1;
        }
        assert_eq!(seen, 2);
    }
}
