//! The frames that a node sent to a hand-written peer.

use wigwag_link::Code;
use wigwag_link::frame::{Frame, kind};
use wigwag_wire::run::Run;
use wigwag_wire::{Buffer, varint};

/// A frame that the node sent.
#[derive(Clone, Debug)]
pub struct Seen {
    /// The type of the frame.
    pub kind: u8,
    pub(super) body: Vec<u8>,
}

impl Seen {
    /// The decoded frame.
    pub fn frame(&self) -> Frame<'_> {
        Frame::parse(self.kind, &self.body).expect("a node sends sound frames")
    }

    /// The whole frame, with its type and length.
    pub fn encoded(&self) -> Vec<u8> {
        let mut out = Buffer::new();
        out.push(self.kind);
        varint::put(&mut out, self.body.len() as u64);
        out.extend(&self.body);
        out.as_slice().to_vec()
    }

    /// The decoded run, of a kind that has items.
    pub fn run(&self) -> Run<'_> {
        Run::parse(self.kind, &self.body).expect("a node sends sound runs")
    }

    /// Slots and their outcomes: the value of a REPLY, the values of a run, or the code of an
    /// ERROR.
    pub fn outcomes(&self) -> Vec<(u64, Result<Vec<u8>, Code>)> {
        if self.kind == kind::REPLIES {
            let run = self.run();
            let (first, _) = run.asker.expect("replies have slots");
            let values = run.items.map(|value| Ok(value.to_vec()));
            return (u64::from(first)..).zip(values).collect();
        }
        match self.frame() {
            Frame::Reply { slot, value, .. } => vec![(slot, Ok(value.to_vec()))],
            Frame::Error { slot, code, .. } => vec![(slot, Err(code))],
            _ => Vec::new(),
        }
    }

    /// Slot and generation of an ASK.
    pub fn asker(&self) -> (u64, u64) {
        match self.frame() {
            Frame::Ask { slot, generation, .. } => (slot, generation),
            other => panic!("expected an ASK, got {other:?}"),
        }
    }
}
