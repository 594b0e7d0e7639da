//! Counters of a socket: what it did and, above all, what it dropped and why.
//!
//! Every drop is counted: each reason has its own counter, and the dropping code names the reason.

/// Why a message was dropped while its pipe stays open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DropReason {
    /// The message came over more hops than allowed; the forwarders may form a loop.
    TooManyHops,
    /// The message ends before its protocol header does.
    Malformed,
    /// A reply to a request that is answered or cancelled, or that this peer was never sent; or an
    /// answer to a survey that is over, or that was sent before this peer connected.
    Late,
    /// This side of the protocol receives nothing.
    Unexpected,
    /// The pipe that the message came from, or was to go to, is closed.
    PipeGone,
    /// The receive queue was full, and the caller did not pause the pipe.
    Overflow,
    /// The peer reads too slowly, and this protocol does not wait.
    PeerSlow,
    /// The message was superseded before it was finished: a request without a reply, or a reply
    /// that was never received.
    Abandoned,
    /// The socket was closed before the message was written.
    Unsent,
    /// The socket was closed before the user received the message.
    Unread,
}

/// Counters of a socket since it was created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counters {
    /// Messages accepted from the user.
    pub sent: u64,
    /// Messages delivered to the user.
    pub received: u64,
    /// Requests sent again.
    pub resent: u64,
    /// Requests and surveys cancelled by the next one, or by closing the socket.
    pub cancelled: u64,
    /// Received messages that match no topic, discarded as intended.
    pub filtered: u64,
    /// Drops by [`DropReason::TooManyHops`].
    pub dropped_too_many_hops: u64,
    /// Drops by [`DropReason::Malformed`].
    pub dropped_malformed: u64,
    /// Drops by [`DropReason::Late`].
    pub dropped_late: u64,
    /// Drops by [`DropReason::Unexpected`].
    pub dropped_unexpected: u64,
    /// Drops by [`DropReason::PipeGone`].
    pub dropped_pipe_gone: u64,
    /// Drops by [`DropReason::Overflow`].
    pub dropped_overflow: u64,
    /// Drops by [`DropReason::PeerSlow`]; a message counts once for each peer that misses it.
    pub dropped_peer_slow: u64,
    /// Drops by [`DropReason::Abandoned`].
    pub dropped_abandoned: u64,
    /// Drops by [`DropReason::Unsent`].
    pub dropped_unsent: u64,
    /// Drops by [`DropReason::Unread`].
    pub dropped_unread: u64,
}

impl Counters {
    /// Counts one message dropped for `reason`.
    pub fn drop_one(&mut self, reason: DropReason) {
        *self.of(reason) += 1;
    }

    /// Counts `messages` dropped for `reason`.
    pub fn drop_some(&mut self, reason: DropReason, messages: usize) {
        *self.of(reason) += messages as u64;
    }

    /// Messages dropped for `reason`.
    pub fn dropped_for(mut self, reason: DropReason) -> u64 {
        *self.of(reason)
    }

    fn of(&mut self, reason: DropReason) -> &mut u64 {
        match reason {
            DropReason::TooManyHops => &mut self.dropped_too_many_hops,
            DropReason::Malformed => &mut self.dropped_malformed,
            DropReason::Late => &mut self.dropped_late,
            DropReason::Unexpected => &mut self.dropped_unexpected,
            DropReason::PipeGone => &mut self.dropped_pipe_gone,
            DropReason::Overflow => &mut self.dropped_overflow,
            DropReason::PeerSlow => &mut self.dropped_peer_slow,
            DropReason::Abandoned => &mut self.dropped_abandoned,
            DropReason::Unsent => &mut self.dropped_unsent,
            DropReason::Unread => &mut self.dropped_unread,
        }
    }

    /// All drops together.
    pub fn dropped(&self) -> u64 {
        self.dropped_too_many_hops
            + self.dropped_malformed
            + self.dropped_late
            + self.dropped_unexpected
            + self.dropped_pipe_gone
            + self.dropped_overflow
            + self.dropped_peer_slow
            + self.dropped_abandoned
            + self.dropped_unsent
            + self.dropped_unread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_drop_reason_has_a_counter_of_its_own() {
        let reasons = [
            DropReason::TooManyHops,
            DropReason::Malformed,
            DropReason::Late,
            DropReason::Unexpected,
            DropReason::PipeGone,
            DropReason::Overflow,
            DropReason::PeerSlow,
            DropReason::Abandoned,
            DropReason::Unsent,
            DropReason::Unread,
        ];
        let mut counters = Counters::default();
        for (index, reason) in reasons.into_iter().enumerate() {
            let before = counters;
            counters.drop_one(reason);
            assert_ne!(before, counters);
            assert_eq!(counters.dropped(), index as u64 + 1);
        }
        assert_eq!(counters.dropped_late, 1);
    }
}
