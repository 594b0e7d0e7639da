//! Invariants that hold after each step, and those that hold at the end, when nothing more is lost.

use wigwag_link::limits::{
    SCALED_UNACKED_BYTES_MAX, SCALED_WINDOW_UNITS_MAX, SEGMENT_BYTES, UNACKED_RESERVE,
};

use super::connection::{DIALER, LISTENER};
use super::{SessionHarness, SessionLocation};
use crate::fuzz::{Verdict, ensure};

/// The number of rounds without a loss after which the session must be settled.
const ROUNDS_MAX: usize = 400;

impl SessionHarness {
    /// Checks the invariants that hold after each step.
    pub(super) fn check_invariants(&mut self) -> Verdict {
        for side in [DIALER, LISTENER] {
            self.check_sequence(side)?;
            self.check_credit(side)?;
        }
        Ok(())
    }

    /// Checks that the received frames are a prefix of the sent ones, and that the outbox's numbers
    /// agree with them.
    fn check_sequence(&mut self, side: usize) -> Verdict {
        let received = self.nodes[1 - side].received.seq;
        let recv_next = match &mut self.locations[1 - side] {
            SessionLocation::Connected(connection) => {
                self.connections[*connection].ends[1 - side].peer.recv_next()
            }
            SessionLocation::Parked(session) => Some(session.dispatcher.recv_next()),
        };
        ensure(recv_next == Some(received), || {
            format!("{received} were heard, not {recv_next:?}")
        })?;
        let (node, sender) = self.node_and_sender(side)?;
        let (published, outbox) = (node.published.next_seq(), &sender.outbox);
        ensure(outbox.next_seq() == published, || {
            format!("{} of {published} said", outbox.next_seq())
        })?;
        let acked = outbox.acked();
        ensure(acked <= received, || format!("{acked} are acknowledged, {received} were heard"))?;
        let sent = published - outbox.untaken_frames();
        ensure(received <= sent, || format!("{received} were heard, {sent} may have been"))?;
        let (least, kept) = (node.published.bytes_from(acked), outbox.retained());
        ensure(kept >= least, || format!("{kept} bytes are kept, {least} are not acknowledged"))?;
        // A segment is released when all of it is acknowledged.
        let most = least + 2 * SEGMENT_BYTES;
        ensure(kept <= most, || format!("{kept} bytes are kept, {most} at most"))?;
        // One frame may begin when there is just enough room, and so may a turn.
        let most = SCALED_UNACKED_BYTES_MAX + UNACKED_RESERVE + 2 * SEGMENT_BYTES;
        ensure(kept <= most && outbox.waiting_bytes() <= kept, || format!("{kept} bytes are kept"))
    }

    /// Checks that used ≤ limit ≤ granted, and that each inbound queue keeps within its window.
    fn check_credit(&mut self, side: usize) -> Verdict {
        let uses = self.nodes[side].outbound.clone();
        let (node, sender) = self.node_and_sender(1 - side)?;
        let mut granted = Vec::new();
        for (channel, open) in (0..).zip(&node.inbound) {
            let open = open.as_ref().filter(|open| open.is_open);
            let grant = sender.granted(channel);
            let agrees = grant.is_some() == open.is_some();
            ensure(agrees, || format!("grant {channel}: {grant:?}, {open:?}"))?;
            let limit = grant.as_ref().map_or(0, |grant| grant.announced());
            granted.push(limit);
            let (Some(grant), Some(open)) = (grant, open) else { continue };
            let (window, waiting) = (grant.window(), open.used - open.freed);
            ensure(waiting <= window && limit - open.freed <= window, || {
                format!("{waiting} units wait in a window of {window}, the limit is {limit}")
            })?;
            ensure(window <= SCALED_WINDOW_UNITS_MAX, || format!("a window of {window}"))?;
            let used = uses.get(channel as usize).copied().flatten().map(|it| (it.used, it.limit));
            let within = used.is_none_or(|(used, known)| open.used <= used && known <= limit);
            ensure(within, || format!("channel {channel}: {used:?} of {limit}, {open:?}"))?;
        }
        let (_, sender) = self.node_and_sender(side)?;
        for (channel, open) in (0..).zip(&uses) {
            let Some(open) = open else { continue };
            let free = sender.window(channel).map(|window| window.free());
            let right = open.used <= open.limit && free == Some(open.limit - open.used);
            ensure(right, || format!("channel {channel}: {open:?}, and {free:?} are free"))?;
        }
        Ok(())
    }

    /// Runs the session to its end without losses, and checks that all frames were received,
    /// answered and acknowledged.
    pub(super) fn finish(mut self) -> Verdict {
        for _ in 0..ROUNDS_MAX {
            if self.is_over || self.is_settled()? {
                break;
            }
            let connected = match self.locations {
                [SessionLocation::Connected(dialer), SessionLocation::Connected(listener)] => {
                    dialer == listener
                }
                _ => false,
            };
            if !connected
                && self
                    .connections
                    .last()
                    .is_none_or(|connection| connection.ends[DIALER].is_closed)
            {
                self.connect()?;
            }
            self.advance_clock(10)?;
            let newest = self.connections.len() - 1;
            self.exchange(newest)?;
            self.handle_all_calls()?;
            self.check_invariants()?;
            // One side holds a connection that is lost or will never open: it waits until its peer
            // has been silent for too long.
            let waits_in_vain = matches!(self.locations[DIALER], SessionLocation::Connected(_))
                || self
                    .connections
                    .last()
                    .is_some_and(|connection| connection.ends[LISTENER].is_closed);
            if !connected && waits_in_vain {
                self.advance_clock(1000)?;
            }
        }
        if self.is_over { self.check_closed() } else { self.check_settled() }
    }

    fn is_settled(&mut self) -> Result<bool, String> {
        let mut settled = self.connections.last().is_some_and(|connection| connection.is_empty());
        for side in [DIALER, LISTENER] {
            let received = self.nodes[1 - side].received.seq;
            let is_connected = matches!(self.locations[side], SessionLocation::Connected(_));
            let (node, sender) = self.node_and_sender(side)?;
            let is_idle = sender.outbox.is_settled() && !sender.has_output();
            settled &= is_connected
                && is_idle
                && received == node.published.next_seq()
                && node.open_asks() == 0;
        }
        Ok(settled)
    }

    /// Checks the end by a CLOSE: a side that has closed has sent all its frames before.
    fn check_closed(&mut self) -> Verdict {
        for side in [DIALER, LISTENER] {
            self.check_sequence(side)?;
        }
        let closing = self.nodes.iter().any(|node| node.is_closing);
        ensure(closing, || "nobody has closed, and the session is over".to_owned())
    }

    fn check_settled(&mut self) -> Verdict {
        let settled = self.is_settled()?;
        for side in [DIALER, LISTENER] {
            let granted: Vec<Option<u64>> = {
                let (node, sender) = self.node_and_sender(1 - side)?;
                let channels = 0..node.inbound.len() as u64;
                channels.map(|at| sender.granted(at).map(|grant| grant.announced())).collect()
            };
            let (node, sender) = self.node_and_sender(side)?;
            let outbox = &sender.outbox;
            ensure(settled, || {
                let waiting = outbox.unacked();
                let asks = node.open_asks();
                format!("node {side}: {waiting} frames and {asks} asks have no answer at the end")
            })?;
            let kept = (outbox.retained(), outbox.waiting_bytes(), outbox.untaken_frames());
            ensure(kept == (0, 0, 0), || format!("node {side} keeps {kept:?} at the end"))?;
            for (channel, open) in (0..).zip(&node.outbound) {
                let Some(open) = open else { continue };
                let told = granted.get(channel as usize).copied().flatten();
                ensure(told == Some(open.limit), || {
                    format!("channel {channel} of {side}: {told:?} granted, known is {open:?}")
                })?;
                let wish = sender.window(channel).and_then(|window| window.wanted_limit());
                ensure(wish.is_none(), || format!("channel {channel} of {side} wants {wish:?}"))?;
            }
        }
        Ok(())
    }
}
