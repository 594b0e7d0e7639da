//! What is looked at after every event and at the end.

use wigwag_link::limits::{SCALED_UNACKED_BYTES_MAX, SEGMENT_BYTES, UNACKED_RESERVE};

use super::build::ids_of;
use super::{Node, World};
use crate::check::{Violation, must};
use crate::client::{Client, Fates};
use crate::setup::Side;

impl World {
    /// What must hold after every event.
    pub(super) fn check(&mut self) -> Result<(), Violation> {
        let World { pairs, lines, .. } = self;
        for end in lines.iter().flat_map(|line| &line.ends).filter(|end| !end.over) {
            let waiting = end.input.len() as u64;
            let longest = SEGMENT_BYTES as u64 * 8;
            must(waiting < longest, "input is bounded", || format!("{waiting} bytes wait"))?;
        }
        for pair in pairs {
            for side in Side::BOTH {
                let theirs = &pair[side.other() as usize];
                let read = theirs.place.recv_next(lines);
                let Some(sender) = pair[side as usize].place.sender(lines) else {
                    continue;
                };
                let acked = sender.outbox.acked();
                let read = read.unwrap_or(acked);
                must(acked <= read, "nobody acknowledges what was not accepted", || {
                    format!("{side:?} has acks up to {acked}, {read} were accepted")
                })?;
                let kept = sender.outbox.retained();
                let most = SCALED_UNACKED_BYTES_MAX + UNACKED_RESERVE + 2 * SEGMENT_BYTES;
                must(kept <= most, "an outbox is bounded", || format!("{kept} bytes kept"))?;
            }
        }
        Ok(())
    }

    /// Every session has ended on both sides.
    pub(super) fn is_over(&self) -> bool {
        self.pairs.iter().flatten().all(|node| node.over && !node.server.has_work())
    }

    /// Every session has ended on both sides, or has done all that it had to do.
    pub(super) fn is_done(&mut self) -> bool {
        (0..self.pairs.len()).all(|pair| self.left_of(pair).is_none())
    }

    /// What is left to do, for people.
    pub(super) fn left(&mut self) -> String {
        let all = (0..self.pairs.len())
            .filter_map(|pair| self.left_of(pair).map(|left| format!("pair {pair}: {left}")));
        all.collect::<Vec<String>>().join("; ")
    }

    fn left_of(&mut self, pair: usize) -> Option<String> {
        let World { pairs, lines, .. } = self;
        let pair = &mut pairs[pair];
        let ended = pair.iter().filter(|node| node.over).count();
        for node in pair {
            let side = node.side;
            if node.server.has_work() {
                return Some(format!("the actors of {side:?}"));
            }
            if node.over {
                continue;
            }
            if ended > 0 {
                return Some(format!("{side:?} does not know that it is over"));
            }
            if node.place.carried.is_none() || !node.client.as_ref().is_some_and(Client::is_done) {
                return Some(format!("{side:?} is left waiting"));
            }
            if !node.place.sender(lines).is_some_and(|sender| sender.outbox.is_settled()) {
                return Some(format!("{side:?} has no acks"));
            }
        }
        None
    }

    pub(super) fn judge_whole(&mut self, pair: usize) -> Result<(), Violation> {
        self.shared.oracle.all_done(ids_of(pair))?;
        let World { pairs, lines, .. } = self;
        for Node { server, place, .. } in &mut pairs[pair] {
            if let Some(sender) = place.sender(lines) {
                server.credit_is_back(sender)?;
                let kept = sender.outbox.retained();
                must(kept == 0, "what is acknowledged is let go", || format!("{kept} bytes"))?;
            }
        }
        self.both_agree(pair, Side::Dialer)?;
        self.both_agree(pair, Side::Listener)
    }

    /// What a sender believes it may use is what its receiver counts, and it knows of all that was
    /// handled: heartbeats have told it.
    fn both_agree(&mut self, pair: usize, side: Side) -> Result<(), Violation> {
        let World { pairs, lines, .. } = self;
        let node = &mut pairs[pair][side as usize];
        let mut ours = match (&node.client, node.place.sender(lines)) {
            (Some(client), Some(sender)) => client.told(sender),
            _ => Vec::new(),
        };
        let other = &mut pairs[pair][side.other() as usize];
        let theirs = other.place.sender(lines);
        let mut theirs = theirs.map_or(Vec::new(), |sender| other.server.counts(sender));
        ours.sort_unstable();
        theirs.sort_unstable();
        must(ours == theirs, "both sides agree on credit and on what was handled", || {
            format!("{side:?} believes {ours:?}, the other side {theirs:?}")
        })
    }

    /// The session has ended early. Each side that still lives says what became of its calls, and the
    /// model knows better.
    pub(super) fn judge_ended(&mut self, pair: usize) -> Result<[Fates; 2], Violation> {
        let World { pairs, lines, shared, .. } = self;
        let mut fates = [Fates::default(); 2];
        for side in Side::BOTH {
            let theirs = &pairs[pair][side.other() as usize];
            let read = theirs.place.recv_next(lines).unwrap_or(0);
            let theirs_is_new = theirs.is_new;
            let Node { client, place, is_new, .. } = &mut pairs[pair][side as usize];
            let (Some(client), Some(sender), false) = (client, place.sender(lines), *is_new) else {
                continue;
            };
            let sent = sender.outbox.next_seq() - sender.outbox.untaken_frames();
            must(
                theirs_is_new || read <= sent,
                "frames that nobody took are never delivered",
                || format!("{side:?}: {read} accepted, {sent} taken"),
            )?;
            let told = client.fates(sent, shared)?;
            let sum = told.delivered + told.not_delivered + told.unknown;
            let calls = client.calls();
            must(sum == calls, "every call has one fate", || format!("{sum} fates of {calls}"))?;
            fates[side as usize] = told;
        }
        Ok(fates)
    }
}
