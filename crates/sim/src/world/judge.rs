//! What is looked at after every event and at the end.

use wigwag_link::limits::{SEGMENT_BYTES, UNACKED_BYTES_MAX, UNACKED_RESERVE};

use super::{Report, World};
use crate::check::{Violation, must};
use crate::client::{Client, Fates};
use crate::setup::Side;

impl World {
    /// What must hold after every event.
    pub(super) fn check(&mut self) -> Result<(), Violation> {
        for side in Side::BOTH {
            let [first, second] = &mut self.nodes;
            let (ours, theirs) = match side {
                Side::Dialer => (first, second),
                Side::Listener => (second, first),
            };
            let read = theirs.peer.receiver().map_or(0, |receiver| receiver.recv_next());
            let waiting = ours.input.len() as u64;
            let longest = SEGMENT_BYTES as u64 * 8;
            must(waiting < longest, "input is bounded", || format!("{waiting} bytes wait"))?;
            let Some(sender) = ours.peer.sender() else {
                continue;
            };
            let acked = sender.outbox.acked();
            must(acked <= read, "nobody acknowledges what was not accepted", || {
                format!("{side:?} has acks up to {acked}, {read} were accepted")
            })?;
            let kept = sender.outbox.retained();
            let most = UNACKED_BYTES_MAX + UNACKED_RESERVE + 2 * SEGMENT_BYTES;
            must(kept <= most, "an outbox is bounded", || format!("{kept} bytes kept"))?;
        }
        Ok(())
    }

    pub(super) fn judge_whole(&mut self) -> Result<(), Violation> {
        self.shared.oracle.all_done()?;
        for node in &mut self.nodes {
            let done = node.client.as_ref().is_some_and(Client::is_done);
            must(done, "everything ends", || format!("{:?} is left waiting", node.side))?;
            let settled = node.peer.sender().is_some_and(|sender| sender.outbox.is_settled());
            must(settled, "everything is acknowledged", || format!("{:?}", node.side))?;
            if let Some(sender) = node.peer.sender() {
                node.server.credit_is_back(sender)?;
                let kept = sender.outbox.retained();
                must(kept == 0, "what is acknowledged is let go", || format!("{kept} bytes"))?;
            }
        }
        self.both_agree_on_credit(Side::Dialer)?;
        self.both_agree_on_credit(Side::Listener)
    }

    /// What a sender believes it may use is what its receiver counts.
    fn both_agree_on_credit(&mut self, side: Side) -> Result<(), Violation> {
        let node = &mut self.nodes[side as usize];
        let mut ours = match (&node.client, node.peer.sender()) {
            (Some(client), Some(sender)) => client.free_units(sender),
            _ => Vec::new(),
        };
        let other = &mut self.nodes[side.other() as usize];
        let mut theirs =
            other.peer.sender().map_or(Vec::new(), |sender| other.server.free_units(sender));
        ours.sort_unstable();
        theirs.sort_unstable();
        must(ours == theirs, "both sides agree on credit", || {
            format!("{side:?} believes {ours:?}, the other side {theirs:?}")
        })
    }

    /// Nothing happens any more because a wire is broken. A node that was not told by now would
    /// be told by its silence timer; either way its session is over.
    pub(super) fn judge_broken(&mut self) -> Result<Report, Violation> {
        self.nodes.iter_mut().for_each(|node| node.over = true);
        self.until_quiet()?;
        let mut fates = [Fates::default(); 2];
        for side in Side::BOTH {
            let read =
                self.nodes[side.other() as usize].peer.receiver().map_or(0, |r| r.recv_next());
            let node = &mut self.nodes[side as usize];
            let (Some(client), Some(sender)) = (&node.client, node.peer.sender()) else {
                continue;
            };
            let untaken_from = sender.outbox.next_seq() - sender.outbox.untaken_frames();
            must(read <= untaken_from, "frames that nobody took are never delivered", || {
                format!("{side:?}: {read} accepted, {untaken_from} taken")
            })?;
            fates[side as usize] = client.fates(untaken_from, &mut self.shared)?;
        }
        let sum: u64 =
            fates.iter().map(|one| one.delivered + one.not_delivered + one.unknown).sum();
        let sent = self.shared.oracle.totals().sent;
        must(sum == sent, "every call has one fate", || format!("{sum} fates of {sent} calls"))?;
        self.report(Some(fates))
    }

    pub(super) fn report(&self, fates: Option<[Fates; 2]>) -> Result<Report, Violation> {
        let opened = self.nodes.iter().any(|node| node.client.is_some());
        Ok(Report { totals: self.shared.oracle.totals(), opened, fates })
    }
}
