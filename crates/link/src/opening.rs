//! The opening of a connection: HELLO, AUTH, then OPEN for a new session or RESUME for one that has
//! lost its connection (section 1).
//!
//! Each message is an SP message of its own. The dialer sends first; the listener answers HELLO
//! only to a valid HELLO, so a stranger learns nothing.

use alloc::string::String;
use alloc::vec::Vec;

use wigwag_wire::varint;
use wigwag_wire::{Buffer, Reader};

use crate::code::Code;
use crate::error::LinkError;
use crate::limits::{AUTH_MESSAGES_MAX, Limits, OPENING_BYTES_MAX, put_bytes, take_bytes};
use crate::opening::resume::{Claim, PROOF_BYTES};
use crate::opening::shared_key::{Proof, Prover};

pub mod resume;
pub mod shared_key;
pub mod admission;
mod messages;

use messages::{hello, open, put_name, refused, take_name};

/// The first bytes of HELLO: no other protocol on PAIR1 begins with them, and they reveal a
/// line-end conversion at once.
pub const MAGIC: [u8; 8] = *b"WIGWAG\r\n";

/// The lowest and highest protocol version that this crate speaks.
pub const VERSION: u8 = 1;

/// The tag of the sender's name in OPEN and OPENED, and the longest name: it is for people.
const NAME_TAG: u64 = 1;
const NAME_BYTES_MAX: usize = 255;

const HELLO: u8 = 0x01;
const AUTH: u8 = 0x02;
const OPEN: u8 = 0x03;
const OPENED: u8 = 0x04;
const RESUME: u8 = 0x05;
const RESUMED: u8 = 0x06;
const REFUSED: u8 = 0x07;

/// The identity and limits of a node, as HELLO carries them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// The node's id; it survives a restart if the node has a stable identity.
    pub node: u128,
    /// Identifies one run of the node; drawn at random when it starts.
    pub incarnation: u128,
    /// Drawn at random for this connection.
    pub nonce: u128,
    /// Features that this node supports.
    pub offered: u64,
    /// Features that the peer must support.
    pub required: u64,
    /// The limits that this node announces.
    pub limits: Limits,
}

/// A node that a dialer finds where it looks for its peer again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recognized {
    /// The peer itself.
    Same,
    /// The peer, in another life: it knows nothing of the session.
    Restarted,
    /// Another node.
    Another,
}

impl Identity {
    /// True for a node without a name of its own: each of its lives is another node.
    fn is_nameless(&self) -> bool {
        self.node == self.incarnation
    }

    /// Compares this peer with the node that was `found` at its address.
    pub fn recognize(&self, found: &Identity) -> Recognized {
        if found.incarnation == self.incarnation {
            Recognized::Same
        } else if found.node == self.node || found.is_nameless() && self.is_nameless() {
            Recognized::Restarted
        } else {
            Recognized::Another
        }
    }
}

/// A session that was just opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opened {
    /// The session's id, drawn by the dialer.
    pub session: u128,
    /// The token with which the dialer will resume the session.
    pub token: u128,
    /// How long the listener keeps the session after a cut, in milliseconds; 0: not at all.
    pub ttl_ms: u64,
    /// The peer's identity.
    pub peer: Identity,
    /// The name that the peer gives itself; whoever shows it checks it against [`Identity::node`].
    pub peer_name: Option<String>,
}

/// A session that was just resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resumed {
    /// The number of the next frame that the listener has not accepted.
    pub recv_next: u64,
    /// The token for the next resumption.
    pub token: u128,
}

/// The next step for the caller of [`Opening::receive`].
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Send this message and wait for the next one.
    Send(Buffer),
    /// Wait for the next message.
    Wait,
    /// The peer proves that it has a key. A listener that believes it answers with a
    /// [proof](Opening::proof) of its own; otherwise refuse.
    Proved(Proof),
    /// A dialer wants to open a session: answer with [`Opening::accept`] or [`Opening::refuse`].
    OpenRequested,
    /// The session is open.
    Opened(Opened),
    /// The peer's HELLO has reached a dialer that resumes: answer with [`Opening::resume`] if the
    /// peer is the expected one.
    PeerKnown,
    /// A dialer wants to resume a session: answer with [`Opening::resumed`] or [`Opening::refuse`].
    ResumeRequested(Claim, [u8; PROOF_BYTES]),
    /// The session is resumed.
    Resumed(Resumed),
}

#[derive(Clone, Copy, Debug)]
enum Side {
    /// The dialer of a new session, whose id it has drawn.
    Dialer {
        session: u128,
    },
    /// A dialer that resumes, and the epoch it has asked for.
    Resuming {
        epoch: u64,
    },
    Listener,
}

/// One side of an opening.
#[derive(Debug)]
pub struct Opening {
    side: Side,
    ours: Identity,
    peer: Option<Identity>,
    /// The bytes of the peer's HELLO.
    peer_hello: Vec<u8>,
    /// Proofs of shared keys are read.
    knows_keys: bool,
    /// The session id that the dialer asked for.
    asked: u128,
    auth_messages: u32,
    /// The names that both sides give themselves.
    our_name: String,
    peer_name: Option<String>,
}

impl Opening {
    fn new(side: Side, ours: Identity, asked: u128) -> Opening {
        Opening {
            side,
            ours,
            peer: None,
            peer_hello: Vec::new(),
            knows_keys: false,
            asked,
            auth_messages: 0,
            our_name: String::new(),
            peer_name: None,
        }
    }

    /// Reads proofs of shared keys, which are refused as unknown otherwise.
    #[must_use]
    pub fn with_keys(mut self, on: bool) -> Opening {
        self.knows_keys = on;
        self
    }

    /// Tells the peer this name with OPEN or OPENED, if it has at most 255 bytes.
    pub fn with_name(mut self, name: &str) -> Opening {
        if name.len() <= NAME_BYTES_MAX {
            self.our_name = name.into();
        }
        self
    }

    /// Creates the dialer's side and its first message. `session` is drawn at random.
    pub fn dial(ours: Identity, session: u128) -> (Opening, Buffer) {
        let side = Side::Dialer { session };
        (Opening::new(side, ours, session), hello(&ours))
    }

    /// Creates the side of a dialer that resumes a session, and its first message.
    pub fn redial(ours: Identity) -> (Opening, Buffer) {
        let side = Side::Resuming { epoch: 0 };
        (Opening::new(side, ours, 0), hello(&ours))
    }

    /// Creates the listener's side, which waits for the first message.
    pub fn listen(ours: Identity) -> Opening {
        Opening::new(Side::Listener, ours, 0)
    }

    /// The peer's identity, once its HELLO has been received.
    pub fn peer(&self) -> Option<&Identity> {
        self.peer.as_ref()
    }

    /// Handles the peer's next message.
    ///
    /// # Errors
    ///
    /// Fails if the message breaks a rule, if the peer refuses, or if the peer is not a wigwag
    /// node.
    pub fn receive(&mut self, message: &[u8]) -> Result<Step, LinkError> {
        if message.len() > OPENING_BYTES_MAX {
            let rule = "an opening message has at most 4096 bytes";
            return Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule });
        }
        let mut reader = Reader::new(message);
        let kind = reader.u8().map_err(|_| LinkError::NotWigwag)?;
        if self.peer.is_none() {
            return match kind {
                HELLO => {
                    self.peer_hello = message.to_vec();
                    self.receive_hello(reader)
                }
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
                self.peer_name = take_name(reader)?;
                Ok(Step::OpenRequested)
            }
            (RESUME, Side::Listener) => self.receive_resume(reader),
            (OPENED, Side::Dialer { session }) => {
                let token = reader.u128()?;
                let ttl_ms = varint::take(&mut reader)?;
                self.peer_name = take_name(reader)?;
                self.opened(session, token, ttl_ms)
            }
            (RESUMED, Side::Resuming { epoch: 1.. }) => self.receive_resumed(reader),
            _ => Err(LinkError::protocol("an opening message came out of order")),
        }
    }

    /// Accepts the dialer: returns the message to send, and the session. `token` is drawn at
    /// random; `ttl_ms` is the time that the session is kept after a cut.
    pub fn accept(&self, token: u128, ttl_ms: u64) -> Result<(Buffer, Opened), LinkError> {
        let mut message = Buffer::new();
        message.push(OPENED);
        message.put(token.to_le_bytes(), 16);
        varint::put(&mut message, ttl_ms);
        put_name(&mut message, &self.our_name);
        match self.opened(self.asked, token, ttl_ms)? {
            Step::Opened(opened) => Ok((message, opened)),
            _ => Err(LinkError::protocol("a session opens after HELLO")),
        }
    }

    /// The nonces of dialer and listener; `None` before the peer's HELLO.
    pub fn nonces(&self) -> Option<[u128; 2]> {
        let (ours, theirs) = (self.ours.nonce, self.peer?.nonce);
        Some(if self.is_listener() { [theirs, ours] } else { [ours, theirs] })
    }

    /// The bytes that the proof of a key covers on this connection, which `binding` identifies to
    /// both sides. `None` before the peer's HELLO.
    pub fn proof_covers(&self, by: Prover, key: &[u8], binding: &[u8]) -> Option<Buffer> {
        self.peer?;
        let ours = hello(&self.ours);
        let (ours, theirs) = (ours.as_slice(), &self.peer_hello[..]);
        let hellos = if self.is_listener() { [theirs, ours] } else { [ours, theirs] };
        Some(Proof::covers(by, key, hellos, binding))
    }

    /// The message that proves that this side has a key.
    pub fn proof(proof: &Proof) -> Buffer {
        let mut message = Buffer::new();
        message.push(AUTH);
        message.put(shared_key::METHOD.to_le_bytes(), 2);
        put_bytes(&mut message, proof.encode().as_slice());
        message
    }

    fn is_listener(&self) -> bool {
        matches!(self.side, Side::Listener)
    }

    /// The dialer's answer to [`Step::PeerKnown`]. The claim covers the [nonces](Self::nonces) of
    /// this opening.
    pub fn resume(&mut self, claim: &Claim, proof: &[u8; PROOF_BYTES]) -> Buffer {
        self.side = Side::Resuming { epoch: claim.epoch };
        let mut message = Buffer::new();
        message.push(RESUME);
        message.put(claim.session.to_le_bytes(), 16);
        message.put([0, 0], 2);
        varint::put(&mut message, claim.epoch);
        varint::put(&mut message, claim.recv_next);
        message.extend(proof);
        message
    }

    /// The listener's message that resumes the session. Before it is made, the session's old
    /// connection must be fenced off, so that `recv_next` stays true: nothing more is accepted from
    /// that connection.
    pub fn resumed(claim: &Claim, recv_next: u64, token: u128) -> Buffer {
        let mut message = Buffer::new();
        message.push(RESUMED);
        varint::put(&mut message, claim.epoch);
        varint::put(&mut message, recv_next);
        message.put(token.to_le_bytes(), 16);
        message
    }

    /// The message that refuses the peer and gives the reason; the connection is closed after it.
    pub fn refuse(code: Code, rule: &str, detail: &str) -> Buffer {
        let mut message = Buffer::new();
        message.push(REFUSED);
        message.put(code.0.to_le_bytes(), 2);
        put_bytes(&mut message, rule.as_bytes());
        put_bytes(&mut message, detail.as_bytes());
        message
    }

    fn opened(&self, session: u128, token: u128, ttl_ms: u64) -> Result<Step, LinkError> {
        let peer = self.peer.ok_or(LinkError::NotWigwag)?;
        let peer_name = self.peer_name.clone();
        Ok(Step::Opened(Opened { session, token, ttl_ms, peer, peer_name }))
    }

    fn receive_resume(&mut self, mut reader: Reader<'_>) -> Result<Step, LinkError> {
        let session = reader.u128()?;
        if reader.u16()? != 0 {
            return Err(LinkError::protocol("this release has only lane 0"));
        }
        let (epoch, recv_next) = (varint::take(&mut reader)?, varint::take(&mut reader)?);
        let proof = reader.array::<PROOF_BYTES>()?;
        let nonces = self.nonces().ok_or(LinkError::NotWigwag)?;
        Ok(Step::ResumeRequested(Claim { session, epoch, recv_next, nonces }, proof))
    }

    fn receive_resumed(&mut self, mut reader: Reader<'_>) -> Result<Step, LinkError> {
        let epoch = varint::take(&mut reader)?;
        if !matches!(self.side, Side::Resuming { epoch: ours } if ours == epoch) {
            return Err(LinkError::protocol("RESUMED names the epoch that RESUME has asked for"));
        }
        let recv_next = varint::take(&mut reader)?;
        Ok(Step::Resumed(Resumed { recv_next, token: reader.u128()? }))
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
        Ok(match self.side {
            Side::Listener => Step::Send(hello(&self.ours)),
            Side::Dialer { session } => Step::Send(open(session, &self.our_name)),
            Side::Resuming { .. } => Step::PeerKnown,
        })
    }

    /// Handles AUTH. Method 0 proves nothing.
    fn receive_auth(&mut self, mut reader: Reader<'_>) -> Result<Step, LinkError> {
        self.auth_messages += 1;
        if self.auth_messages > AUTH_MESSAGES_MAX {
            return Err(LinkError::protocol("each side sends at most 4 AUTH messages"));
        }
        let method = reader.u16()?;
        let data = take_bytes(&mut reader)?;
        match method {
            0 => Ok(Step::Wait),
            shared_key::METHOD if self.knows_keys => Ok(Step::Proved(Proof::decode(data)?)),
            _ => {
                let rule = "this side knows no such way to authenticate, or accepts no key";
                Err(LinkError::Misbehaved { code: Code::AUTH_FAILED, rule })
            }
        }
    }
}

#[cfg(test)]
mod tests;
