//! The differences between the raw protocols: the header on the wire, and the choice of the pipe.

use bytes::Bytes;
use wigwag_wire::ProtocolNumber;

use crate::headers::backtrace::{self, WORD_BYTES};
use crate::headers::hops::{self, HOPS_BYTES};
use crate::{Head, PipeId, Refusal};

/// The protocol of a raw socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RawKind {
    /// pair, version 0.
    Pair0,
    /// pair, version 1.
    Pair1,
    /// pair, version 1, with many peers.
    Pair1Many,
    /// req.
    Req,
    /// rep.
    Rep,
    /// pub.
    Pub,
    /// sub; it has no topics and receives everything.
    Sub,
    /// push.
    Push,
    /// pull.
    Pull,
    /// surveyor.
    Surveyor,
    /// respondent.
    Respondent,
    /// bus.
    Bus,
    /// star; it forwards nothing by itself.
    Star,
}

impl RawKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [RawKind; 13] = [
        RawKind::Pair0,
        RawKind::Pair1,
        RawKind::Pair1Many,
        RawKind::Req,
        RawKind::Rep,
        RawKind::Pub,
        RawKind::Sub,
        RawKind::Push,
        RawKind::Pull,
        RawKind::Surveyor,
        RawKind::Respondent,
        RawKind::Bus,
        RawKind::Star,
    ];
}

/// How the pipe of a message is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Routing {
    /// This side never sends.
    ReceiveOnly,
    /// The only peer.
    OnlyPeer,
    /// The next peer in turn.
    RoundRobin,
    /// Every peer, except the origin if the header names it.
    Broadcast,
    /// The pipe that the header names.
    Named,
    /// The pipe that the header names, or the next peer in turn if it names none.
    NamedOrRoundRobin,
}

/// The header in front of the body on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WireHeader {
    Nothing,
    /// A backtrace.
    Words,
    /// The hop count of pair1 and star.
    Hops,
}

/// The properties of one protocol.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
    pub(super) number: ProtocolNumber,
    pub(super) routing: Routing,
    pub(super) wire_header: WireHeader,
    /// The user's header begins with the number of the pipe.
    pub(super) origin: bool,
    /// The protocol receives.
    pub(super) receives: bool,
}

impl Profile {
    pub(super) fn of(kind: RawKind) -> Profile {
        let (number, routing, wire_header, origin, receives) = match kind {
            RawKind::Pair0 => {
                (ProtocolNumber::PAIR0, Routing::OnlyPeer, WireHeader::Nothing, false, true)
            }
            RawKind::Pair1 => {
                (ProtocolNumber::PAIR1, Routing::OnlyPeer, WireHeader::Hops, false, true)
            }
            RawKind::Pair1Many => {
                (ProtocolNumber::PAIR1, Routing::NamedOrRoundRobin, WireHeader::Hops, true, true)
            }
            RawKind::Req => {
                (ProtocolNumber::REQ, Routing::RoundRobin, WireHeader::Words, false, true)
            }
            RawKind::Rep => (ProtocolNumber::REP, Routing::Named, WireHeader::Words, true, true),
            RawKind::Pub => {
                (ProtocolNumber::PUB, Routing::Broadcast, WireHeader::Nothing, false, false)
            }
            RawKind::Sub => {
                (ProtocolNumber::SUB, Routing::ReceiveOnly, WireHeader::Nothing, false, true)
            }
            RawKind::Push => {
                (ProtocolNumber::PUSH, Routing::RoundRobin, WireHeader::Nothing, false, false)
            }
            RawKind::Pull => {
                (ProtocolNumber::PULL, Routing::ReceiveOnly, WireHeader::Nothing, false, true)
            }
            RawKind::Surveyor => {
                (ProtocolNumber::SURVEYOR, Routing::Broadcast, WireHeader::Words, false, true)
            }
            RawKind::Respondent => {
                (ProtocolNumber::RESPONDENT, Routing::Named, WireHeader::Words, true, true)
            }
            RawKind::Bus => {
                (ProtocolNumber::BUS, Routing::Broadcast, WireHeader::Nothing, true, true)
            }
            RawKind::Star => {
                (ProtocolNumber::STAR, Routing::Broadcast, WireHeader::Hops, true, true)
            }
        };
        Profile { number, routing, wire_header, origin, receives }
    }

    /// True if a message is returned only while its own peer has room for an answer.
    pub(super) fn is_gated(&self) -> bool {
        matches!(self.routing, Routing::Named | Routing::NamedOrRoundRobin)
    }

    /// Splits a header from the user into the pipe that it names and the header for the wire. A
    /// header that no peer would accept is refused here, where the user can correct it.
    pub(super) fn read(&self, header: &Bytes) -> Result<(Option<PipeId>, Head), Refusal> {
        if self.routing == Routing::ReceiveOnly {
            return Err(Refusal::OnlyReceives(self.number));
        }
        let bad = Refusal::BadHeader(header.len());
        let header_bytes = match self.wire_header {
            WireHeader::Nothing => 0,
            WireHeader::Hops => HOPS_BYTES,
            // A backtrace has any length, and the header of rep always names the pipe.
            WireHeader::Words => header.len().saturating_sub(WORD_BYTES),
        };
        let mut inner = header.clone();
        let mut pipe = None;
        if self.origin && (header.len() == header_bytes + WORD_BYTES) {
            let word = inner.split_to(WORD_BYTES);
            let word = word.first_chunk::<WORD_BYTES>().ok_or(bad)?;
            pipe = Some(PipeId(u32::from_be_bytes(*word)));
        }
        let head = self.head(inner).ok_or(bad)?;
        if self.routing == Routing::Named && pipe.is_none() { Err(bad) } else { Ok((pipe, head)) }
    }

    fn head(&self, inner: Bytes) -> Option<Head> {
        match self.wire_header {
            WireHeader::Nothing => inner.is_empty().then_some(Head::Empty),
            WireHeader::Words => backtrace::is_whole(&inner).then_some(Head::Stack(inner)),
            WireHeader::Hops => {
                let word = u32::from_be_bytes(inner.as_ref().try_into().ok()?);
                hops::parse(word, u8::MAX).ok()?;
                Some(Head::Word(word))
            }
        }
    }
}
