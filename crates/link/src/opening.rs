//! How a session begins: HELLO, AUTH, OPEN (section 1).
//!
//! Each message is an SP message of its own. The dialer speaks first; the listener answers HELLO
//! only to a valid HELLO, so a stranger learns nothing. Resuming is part of the protocol from the
//! first version on; this release answers RESUME with `SessionUnknown`.

use alloc::string::String;

use wigwag_wire::varint;
use wigwag_wire::{Buffer, Reader};

use crate::code::Code;
use crate::error::LinkError;
use crate::limits::{AUTH_MESSAGES_MAX, Limits, OPENING_BYTES_MAX, put_bytes, take_bytes, text};

/// The first bytes of HELLO: no other protocol on PAIR1 begins so, and a line-end conversion on the
/// way shows at once.
pub const MAGIC: [u8; 8] = *b"WIGWAG\r\n";

/// The version that this crate speaks, lowest and highest.
pub const VERSION: u8 = 1;

const HELLO: u8 = 0x01;
const AUTH: u8 = 0x02;
const OPEN: u8 = 0x03;
const OPENED: u8 = 0x04;
const RESUME: u8 = 0x05;
const REFUSED: u8 = 0x07;

/// Who we are, as HELLO says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The node; the same after a restart if it has a stable identity.
    pub node: u128,
    /// This life of the node, drawn at random when it starts.
    pub incarnation: u128,
    /// Drawn at random for this connection.
    pub nonce: u128,
    /// Features that we can do.
    pub offered: u64,
    /// Features that the peer must be able to do.
    pub required: u64,
    /// What we accept.
    pub limits: Limits,
}

/// An open session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The session's id, drawn by the dialer.
    pub session: u128,
    /// The token by which the dialer will resume it.
    pub token: u128,
    /// Who the peer is.
    pub peer: Identity,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this message and wait for the next.
    Send(Buffer),
    /// Wait for the next message.
    Wait,
    /// A dialer wants to open a session: answer with [`Opening::accept`] or [`Opening::refuse`].
    Asked,
    /// The session is open.
    Opened(Opened),
}

#[derive(Clone, Copy, Debug)]
enum Side {
    /// Has drawn the session's id.
    Dialer {
        session: u128,
    },
    Listener,
}

/// One side of an opening.
#[derive(Debug)]
pub struct Opening {
    side: Side,
    ours: Identity,
    peer: Option<Identity>,
    /// The session that the dialer asked for.
    asked: u128,
    auth_messages: u32,
}

impl Opening {
    /// The dialer's side, and its first message. `session` is drawn at random.
    pub fn dial(ours: Identity, session: u128) -> (Opening, Buffer) {
        let side = Side::Dialer { session };
        let opening = Opening { side, ours, peer: None, asked: session, auth_messages: 0 };
        (opening, hello(&ours))
    }

    /// The listener's side; it waits.
    pub fn listen(ours: Identity) -> Opening {
        Opening { side: Side::Listener, ours, peer: None, asked: 0, auth_messages: 0 }
    }

    /// Who the peer says it is, once its HELLO has come.
    pub fn peer(&self) -> Option<&Identity> {
        self.peer.as_ref()
    }

    /// The peer's next message.
    pub fn receive(&mut self, message: &[u8]) -> Result<Step, LinkError> {
        if message.len() > OPENING_BYTES_MAX {
            let rule = "an opening message has at most 4096 bytes";
            return Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule });
        }
        let mut reader = Reader::new(message);
        let kind = reader.u8().map_err(|_| LinkError::NotWigwag)?;
        if self.peer.is_none() {
            return match kind {
                HELLO => self.receive_hello(reader),
                REFUSED => Err(refused(reader)),
                _ => Err(LinkError::NotWigwag),
            };
        }
        match (kind, self.side) {
            (AUTH, _) => self.receive_auth(reader),
            (REFUSED, _) => Err(refused(reader)),
            (OPEN, Side::Listener) => {
                self.asked = reader.u128()?;
                if reader.u16()? != 0 {
                    return Err(LinkError::protocol("this release has only lane 0"));
                }
                Ok(Step::Asked)
            }
            (RESUME, Side::Listener) => {
                let rule = "no session of that id is kept here";
                Err(LinkError::Misbehaved { code: Code::SESSION_UNKNOWN, rule })
            }
            (OPENED, Side::Dialer { session }) => {
                let token = reader.u128()?;
                varint::take(&mut reader)?;
                self.opened(session, token)
            }
            _ => Err(LinkError::protocol("an opening message came out of order")),
        }
    }

    /// Lets the dialer in: the message to send, and the session. `token` is drawn at random;
    /// `ttl_ms` says how long the session would be kept after a cut.
    pub fn accept(&self, token: u128, ttl_ms: u64) -> Result<(Buffer, Opened), LinkError> {
        let mut message = Buffer::new();
        message.push(OPENED);
        message.put(token.to_le_bytes(), 16);
        varint::put(&mut message, ttl_ms);
        match self.opened(self.asked, token)? {
            Step::Opened(opened) => Ok((message, opened)),
            _ => Err(LinkError::protocol("a session opens after HELLO")),
        }
    }

    /// The message that tells the peer why not; the connection is closed behind it.
    pub fn refuse(code: Code, rule: &str, detail: &str) -> Buffer {
        let mut message = Buffer::new();
        message.push(REFUSED);
        message.put(code.0.to_le_bytes(), 2);
        put_bytes(&mut message, rule.as_bytes());
        put_bytes(&mut message, detail.as_bytes());
        message
    }

    fn opened(&self, session: u128, token: u128) -> Result<Step, LinkError> {
        let peer = self.peer.ok_or(LinkError::NotWigwag)?;
        Ok(Step::Opened(Opened { session, token, peer }))
    }

    fn receive_hello(&mut self, mut reader: Reader<'_>) -> Result<Step, LinkError> {
        let magic = reader.array::<8>().map_err(|_| LinkError::NotWigwag)?;
        if magic != MAGIC {
            return Err(LinkError::NotWigwag);
        }
        let (lowest, highest) = (reader.u8()?, reader.u8()?);
        if lowest > VERSION || highest < VERSION {
            let rule = "this side speaks version 1 of the link protocol";
            return Err(LinkError::Misbehaved { code: Code::VERSION, rule });
        }
        if reader.u16()? != 0 {
            return Err(LinkError::protocol("the flags of HELLO are zero in version 1"));
        }
        let peer = Identity {
            node: reader.u128()?,
            incarnation: reader.u128()?,
            nonce: reader.u128()?,
            offered: reader.u64()?,
            required: reader.u64()?,
            limits: Limits::decode(&mut reader)?,
        };
        if peer.required & !self.ours.offered != 0 || self.ours.required & !peer.offered != 0 {
            let rule = "one side requires a feature that the other does not offer";
            return Err(LinkError::Misbehaved { code: Code::FEATURE_REQUIRED, rule });
        }
        self.peer = Some(peer);
        Ok(Step::Send(match self.side {
            Side::Listener => hello(&self.ours),
            Side::Dialer { session } => open(session),
        }))
    }

    /// Method 0 says that nothing is proved; others come with the transports that can prove.
    fn receive_auth(&mut self, mut reader: Reader<'_>) -> Result<Step, LinkError> {
        self.auth_messages += 1;
        if self.auth_messages > AUTH_MESSAGES_MAX {
            return Err(LinkError::protocol("each side sends at most 4 AUTH messages"));
        }
        let method = reader.u16()?;
        take_bytes(&mut reader)?;
        if method != 0 {
            let rule = "only authentication method 0 (none) is known here";
            return Err(LinkError::Misbehaved { code: Code::AUTH_FAILED, rule });
        }
        Ok(Step::Wait)
    }
}

fn hello(ours: &Identity) -> Buffer {
    let mut message = Buffer::new();
    message.push(HELLO);
    message.extend(&MAGIC);
    message.extend(&[VERSION, VERSION, 0, 0]);
    for id in [ours.node, ours.incarnation, ours.nonce] {
        message.put(id.to_le_bytes(), 16);
    }
    message.put(ours.offered.to_le_bytes(), 8);
    message.put(ours.required.to_le_bytes(), 8);
    ours.limits.encode(&mut message);
    message
}

fn open(session: u128) -> Buffer {
    let mut message = Buffer::new();
    message.push(OPEN);
    message.put(session.to_le_bytes(), 16);
    message.put([0, 0], 2);
    message
}

fn refused(mut reader: Reader<'_>) -> LinkError {
    let mut read = || -> Result<(Code, String, String), LinkError> {
        let code = Code(reader.u16()?);
        Ok((code, text(take_bytes(&mut reader)?), text(take_bytes(&mut reader)?)))
    };
    match read() {
        Ok((code, rule, detail)) => LinkError::ToldByPeer { code, rule, detail },
        Err(error) => error,
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn identity(seed: u128) -> Identity {
        Identity {
            node: seed,
            incarnation: seed + 1,
            nonce: seed + 2,
            offered: 0,
            required: 0,
            limits: Limits::default(),
        }
    }

    fn sent(step: Result<Step, LinkError>) -> Buffer {
        match step {
            Ok(Step::Send(message)) => message,
            other => panic!("expected a message, got {other:?}"),
        }
    }

    #[test]
    fn two_strangers_open_a_session_in_two_round_trips() {
        let (mut dialer, first) = Opening::dial(identity(10), 7);
        let mut listener = Opening::listen(identity(20));
        let answer = sent(listener.receive(first.as_slice()));
        let open = sent(dialer.receive(answer.as_slice()));
        assert_eq!(listener.receive(open.as_slice()), Ok(Step::Asked));
        let (opened, theirs) = listener.accept(99, 60_000).unwrap();
        let Ok(Step::Opened(ours)) = dialer.receive(opened.as_slice()) else {
            panic!("not opened")
        };
        assert_eq!((ours.session, ours.token, ours.peer), (7, 99, identity(20)));
        assert_eq!((theirs.session, theirs.token, theirs.peer), (7, 99, identity(10)));
    }

    #[test]
    fn a_refusal_says_code_and_rule() {
        let (mut dialer, _) = Opening::dial(identity(1), 7);
        let refusal = Opening::refuse(Code::TOO_MANY, "at most 1 session", "come back later");
        let error = dialer.receive(refusal.as_slice()).unwrap_err();
        let expected = LinkError::ToldByPeer {
            code: Code::TOO_MANY,
            rule: "at most 1 session".into(),
            detail: "come back later".into(),
        };
        assert_eq!(error, expected);
    }

    #[test]
    fn strangers_learn_nothing() {
        let (_, first) = Opening::dial(identity(1), 7);
        let mut listener = Opening::listen(identity(2));
        for noise in [&b""[..], b"hello", &[OPEN; 20], b"\x01WIGWAG\n\n"] {
            assert_eq!(listener.receive(noise), Err(LinkError::NotWigwag));
        }
        for cut in 10..first.len() {
            let torn = Opening::listen(identity(2)).receive(&first.as_slice()[..cut]);
            let shorter_limits = matches!(torn, Ok(Step::Send(_)));
            assert!(torn.is_err() || shorter_limits && cut >= 77, "torn at {cut}: {torn:?}");
        }
    }

    #[test]
    fn versions_features_and_resume_are_refused_by_number() {
        let (_, first) = Opening::dial(identity(1), 7);
        let code = |opening: &mut Opening, message: &[u8]| match opening.receive(message) {
            Err(LinkError::Misbehaved { code, .. }) => code,
            other => panic!("expected a refusal, got {other:?}"),
        };
        let mut newer: Vec<u8> = first.as_slice().to_vec();
        (newer[9], newer[10]) = (2, 3);
        assert_eq!(code(&mut Opening::listen(identity(2)), &newer), Code::VERSION);
        (newer[9], newer[10]) = (1, 9);
        assert!(Opening::listen(identity(2)).receive(&newer).is_ok(), "we agree on version 1");
        let picky = Identity { required: 4, ..identity(3) };
        let refusal = code(&mut Opening::listen(picky), first.as_slice());
        assert_eq!(refusal, Code::FEATURE_REQUIRED);
        let mut listener = Opening::listen(identity(2));
        listener.receive(first.as_slice()).unwrap();
        assert_eq!(code(&mut listener, &[RESUME, 0]), Code::SESSION_UNKNOWN);
        assert_eq!(code(&mut listener, &[AUTH, 2, 0, 0]), Code::AUTH_FAILED);
        assert_eq!(listener.receive(&[AUTH, 0, 0, 0]), Ok(Step::Wait));
    }
}
