//! One node: a peer, its input, and the application on top.

use wigwag_link::LinkError;
use wigwag_link::frame::Frame;
use wigwag_wire::{Batch, Machine, ReadBuf, Time};

use super::Shared;
use crate::check::Violation;
use crate::client::Client;
use crate::peer::{Event, Peer, PeerError};
use crate::server::Server;
use crate::setup::{Habits, Side};

/// One node.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) side: Side,
    pub(super) habits: Habits,
    pub(super) peer: Peer,
    pub(super) input: ReadBuf,
    pub(super) batch: Batch,
    pub(super) client: Option<Client>,
    pub(super) server: Server,
    pub(super) client_turn: Option<Time>,
    pub(super) server_turn: Option<Time>,
    /// The connection is over for this node: it has noticed a cut, or has read CLOSE.
    pub(super) over: bool,
    /// CLOSE has come.
    pub(super) said_goodbye: bool,
}

/// Why a node stopped reading.
pub(super) enum Ending {
    Peer(PeerError),
    Violation(Violation),
}

impl From<Violation> for Ending {
    fn from(violation: Violation) -> Ending {
        Ending::Violation(violation)
    }
}

impl From<PeerError> for Ending {
    fn from(error: PeerError) -> Ending {
        Ending::Peer(error)
    }
}

impl Node {
    /// Reads all that can be read.
    pub(super) fn read(&mut self, shared: &mut Shared) -> Result<(), Ending> {
        let now = shared.clock.now();
        let Node { side, habits, peer, input, client, server, .. } = self;
        while let Some(event) = peer.receive(input, now)? {
            let mut arrived = match event {
                Event::Opened(opened) => {
                    shared.note(*side, "opened", 0, 0);
                    *client = Some(Client::new(*side, *habits, opened.peer.limits));
                    continue;
                }
                Event::Batch(arrived) => arrived,
            };
            let Some(client) = client else { continue };
            if arrived.has_room {
                client.has_room();
            }
            while let Some((frame, body)) =
                arrived.incoming.next_frame().map_err(PeerError::Link)?
            {
                let sender = &mut *arrived.sender;
                match frame {
                    Frame::Close { code, rule, detail } => {
                        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
                        let (rule, detail) = (text(rule), text(detail));
                        return Err(
                            PeerError::Link(LinkError::ToldByPeer { code, rule, detail }).into()
                        );
                    }
                    Frame::Attached { .. }
                    | Frame::Credit { .. }
                    | Frame::Detached { .. }
                    | Frame::Reply { .. }
                    | Frame::Error { .. } => client.receive(frame, sender, shared)?,
                    _ => server.receive(frame, body, sender, shared)?,
                }
            }
        }
        Ok(())
    }
}
