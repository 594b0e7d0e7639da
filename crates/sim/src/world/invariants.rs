//! The invariants that are checked after each event and at the end.

use wigwag_link::limits::{SCALED_UNACKED_BYTES_MAX, SEGMENT_BYTES, UNACKED_RESERVE};

use super::build::attachment_ids;
use super::{Node, World};
use crate::application::client::{Client, DeliveryCounts};
use crate::check::{Violation, must};
use crate::setup::Side;

impl World {
    /// Checks the invariants that hold after each event.
    pub(super) fn check_invariants(&mut self) -> Result<(), Violation> {
        let World { pairs, connections, .. } = self;
        for end in
            connections.iter().flat_map(|connection| &connection.ends).filter(|end| !end.is_closed)
        {
            let waiting = end.input.len() as u64;
            let longest = SEGMENT_BYTES as u64 * 8;
            must(waiting < longest, "input is bounded", || format!("{waiting} bytes wait"))?;
        }
        for pair in pairs {
            for side in Side::BOTH {
                let theirs = &pair[side.other() as usize];
                let read = theirs.location.recv_next(connections);
                let Some(sender) = pair[side as usize].location.sender(connections) else {
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

    /// True when all sessions have ended on both sides.
    pub(super) fn all_ended(&self) -> bool {
        self.pairs.iter().flatten().all(|node| node.has_ended && !node.server.has_work())
    }

    /// True when all sessions have ended on both sides or have finished their work.
    pub(super) fn all_done(&mut self) -> bool {
        (0..self.pairs.len()).all(|pair| self.unfinished_work(pair).is_none())
    }

    /// The remaining work, as text.
    pub(super) fn unfinished(&mut self) -> String {
        let all = (0..self.pairs.len()).filter_map(|pair| {
            self.unfinished_work(pair).map(|left| format!("pair {pair}: {left}"))
        });
        all.collect::<Vec<String>>().join("; ")
    }

    fn unfinished_work(&mut self, pair: usize) -> Option<String> {
        let World { pairs, connections, .. } = self;
        let pair = &mut pairs[pair];
        let ended = pair.iter().filter(|node| node.has_ended).count();
        for node in pair {
            let side = node.side;
            if node.server.has_work() {
                return Some(format!("the actors of {side:?}"));
            }
            if node.has_ended {
                continue;
            }
            if ended > 0 {
                return Some(format!("{side:?} does not know that it is over"));
            }
            if node.location.connection.is_none()
                || !node.client.as_ref().is_some_and(Client::is_done)
            {
                return Some(format!("{side:?} is left waiting"));
            }
            if !node.location.sender(connections).is_some_and(|sender| sender.outbox.is_settled()) {
                return Some(format!("{side:?} has no acks"));
            }
        }
        None
    }

    pub(super) fn check_completed(&mut self, pair: usize) -> Result<(), Violation> {
        self.shared.oracle.check_all_done(attachment_ids(pair))?;
        let World { pairs, connections, .. } = self;
        for Node { server, location, .. } in &mut pairs[pair] {
            if let Some(sender) = location.sender(connections) {
                server.check_credit_returned(sender)?;
                let kept = sender.outbox.retained();
                must(kept == 0, "what is acknowledged is let go", || format!("{kept} bytes"))?;
            }
        }
        self.check_agreement(pair, Side::Dialer)?;
        self.check_agreement(pair, Side::Listener)
    }

    /// Checks that the sender's view of its credit equals the receiver's count, and that the sender
    /// knows of all handled calls, which heartbeats have announced.
    fn check_agreement(&mut self, pair: usize, side: Side) -> Result<(), Violation> {
        let World { pairs, connections, .. } = self;
        let node = &mut pairs[pair][side as usize];
        let mut ours = match (&node.client, node.location.sender(connections)) {
            (Some(client), Some(sender)) => client.known_credit(sender),
            _ => Vec::new(),
        };
        let other = &mut pairs[pair][side.other() as usize];
        let theirs = other.location.sender(connections);
        let mut theirs = theirs.map_or(Vec::new(), |sender| other.server.channel_counts(sender));
        ours.sort_unstable();
        theirs.sort_unstable();
        must(ours == theirs, "both sides agree on credit and on what was handled", || {
            format!("{side:?} believes {ours:?}, the other side {theirs:?}")
        })
    }

    /// Checks a session that has ended early: each side that still lives reports the outcomes of
    /// its calls, which are compared with the model.
    pub(super) fn check_ended(&mut self, pair: usize) -> Result<[DeliveryCounts; 2], Violation> {
        let World { pairs, connections, shared, .. } = self;
        let mut counts = [DeliveryCounts::default(); 2];
        for side in Side::BOTH {
            let theirs = &pairs[pair][side.other() as usize];
            let read = theirs.location.recv_next(connections).unwrap_or(0);
            let theirs_has_restarted = theirs.has_restarted;
            let Node { client, location, has_restarted, .. } = &mut pairs[pair][side as usize];
            let (Some(client), Some(sender), false) =
                (client, location.sender(connections), *has_restarted)
            else {
                continue;
            };
            let sent = sender.outbox.next_seq() - sender.outbox.untaken_frames();
            must(
                theirs_has_restarted || read <= sent,
                "frames that nobody took are never delivered",
                || format!("{side:?}: {read} accepted, {sent} taken"),
            )?;
            let known = client.delivery_counts(&sender.outbox, shared)?;
            let sum = known.delivered + known.not_delivered + known.unknown;
            let calls = client.calls();
            must(sum == calls, "every call has one fate", || format!("{sum} fates of {calls}"))?;
            counts[side as usize] = known;
        }
        Ok(counts)
    }
}
