//! What must hold after every step, and what must be true when nothing more is lost.

use wigwag_link::limits::{
    SCALED_UNACKED_BYTES_MAX, SCALED_WINDOW_UNITS_MAX, SEGMENT_BYTES, UNACKED_RESERVE,
};

use super::line::{DIALER, LISTENER};
use super::{Place, World};
use crate::fuzz::{Verdict, ensure};

/// Rounds without a loss until nothing may be left to say.
const ROUNDS_MAX: usize = 400;

impl World {
    /// After every step.
    pub(super) fn judge(&mut self) -> Verdict {
        for side in [DIALER, LISTENER] {
            self.judge_numbers(side)?;
            self.judge_credit(side)?;
        }
        Ok(())
    }

    /// What was heard is a beginning of what was said, and the outbox knows how it stands.
    fn judge_numbers(&mut self, side: usize) -> Verdict {
        let heard = self.nodes[1 - side].heard.seq;
        let recv_next = match &mut self.places[1 - side] {
            Place::On(line) => self.lines[*line].ends[1 - side].peer.recv_next(),
            Place::Parked(session) => Some(session.dispatcher.recv_next()),
        };
        ensure(recv_next == Some(heard), || format!("{heard} were heard, not {recv_next:?}"))?;
        let (node, sender) = self.half(side)?;
        let (said, outbox) = (node.said.next_seq(), &sender.outbox);
        ensure(outbox.next_seq() == said, || format!("{} of {said} said", outbox.next_seq()))?;
        let acked = outbox.acked();
        ensure(acked <= heard, || format!("{acked} are acknowledged, {heard} were heard"))?;
        let sent = said - outbox.untaken_frames();
        ensure(heard <= sent, || format!("{heard} were heard, {sent} may have been"))?;
        let (least, kept) = (node.said.bytes_from(acked), outbox.retained());
        ensure(kept >= least, || format!("{kept} bytes are kept, {least} are not acknowledged"))?;
        // A segment goes when all of it is acknowledged.
        let most = least + 2 * SEGMENT_BYTES;
        ensure(kept <= most, || format!("{kept} bytes are kept, {most} at most"))?;
        // One frame may begin when there is just room, and so may a turn.
        let most = SCALED_UNACKED_BYTES_MAX + UNACKED_RESERVE + 2 * SEGMENT_BYTES;
        ensure(kept <= most && outbox.waiting_bytes() <= kept, || format!("{kept} bytes are kept"))
    }

    /// used ≤ limit ≤ granted, and each lane has its places.
    fn judge_credit(&mut self, side: usize) -> Verdict {
        let uses = self.nodes[side].outbound.clone();
        let (node, sender) = self.half(1 - side)?;
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
        let (_, sender) = self.half(side)?;
        for (channel, open) in (0..).zip(&uses) {
            let Some(open) = open else { continue };
            let free = sender.window(channel).map(|window| window.free());
            let right = open.used <= open.limit && free == Some(open.limit - open.used);
            ensure(right, || format!("channel {channel}: {open:?}, and {free:?} are free"))?;
        }
        Ok(())
    }

    /// Nothing more is lost: what was said is heard, answered and acknowledged.
    pub(super) fn end(mut self) -> Verdict {
        for _ in 0..ROUNDS_MAX {
            if self.is_over || self.is_settled()? {
                break;
            }
            let both_on = match self.places {
                [Place::On(dialer), Place::On(listener)] => dialer == listener,
                _ => false,
            };
            if !both_on && self.lines.last().is_none_or(|line| line.ends[DIALER].over) {
                self.connect()?;
            }
            self.pass(10)?;
            let newest = self.lines.len() - 1;
            self.exchange(newest)?;
            self.hurry()?;
            self.judge()?;
            // One of them believes in a connection that is gone, or in one that will never open: it
            // waits for a sign of life.
            let in_vain = matches!(self.places[DIALER], Place::On(_))
                || self.lines.last().is_some_and(|line| line.ends[LISTENER].over);
            if !both_on && in_vain {
                self.pass(1000)?;
            }
        }
        if self.is_over { self.judge_close() } else { self.judge_end() }
    }

    fn is_settled(&mut self) -> Result<bool, String> {
        let mut settled = self.lines.last().is_some_and(|line| line.is_empty());
        for side in [DIALER, LISTENER] {
            let heard = self.nodes[1 - side].heard.seq;
            let is_on = matches!(self.places[side], Place::On(_));
            let (node, sender) = self.half(side)?;
            let is_idle = sender.outbox.is_settled() && !sender.has_output();
            settled &= is_on && is_idle && heard == node.said.next_seq() && node.open_asks() == 0;
        }
        Ok(settled)
    }

    /// Whoever has closed has said everything before.
    fn judge_close(&mut self) -> Verdict {
        for side in [DIALER, LISTENER] {
            self.judge_numbers(side)?;
        }
        let closing = self.nodes.iter().any(|node| node.is_closing);
        ensure(closing, || "nobody has closed, and the session is over".to_owned())
    }

    fn judge_end(&mut self) -> Verdict {
        let settled = self.is_settled()?;
        for side in [DIALER, LISTENER] {
            let granted: Vec<Option<u64>> = {
                let (node, sender) = self.half(1 - side)?;
                let channels = 0..node.inbound.len() as u64;
                channels.map(|at| sender.granted(at).map(|grant| grant.announced())).collect()
            };
            let (node, sender) = self.half(side)?;
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
