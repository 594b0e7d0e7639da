//! Every limit of this crate, with the sum that led to it.
//!
//! Under test the queues are tiny, so that each test crosses their bounds.

use core::time::Duration;

/// Bytes of one message, header and body, unless the socket says otherwise: the default of nanomsg
/// and mangos, and of RFC sp-tcp-mapping-01.
pub const RECEIVE_BYTES_MAX: usize = 1024 * 1024;

/// Messages that one pipe may have waiting for the user. A read brings 256 KiB; at 256 bytes a
/// message that is 1,024.
pub const INBOX_MESSAGES_MAX: usize = if cfg!(test) { 4 } else { 1024 };

/// Bytes that one pipe may have waiting for the user, before the last message: one full read.
pub const INBOX_BYTES_MAX: usize = if cfg!(test) { 64 } else { 256 * 1024 };

/// Messages that closed pipes may have left unread before no further pipe is opened: with one
/// message of each short-lived peer, 4,096 peers. Pipes that are open then may still add theirs.
pub const LEFT_MESSAGES_MAX: usize = if cfg!(test) { 6 } else { 4096 };

/// Messages that one pipe may have waiting for the wire. A write carries 256 KiB; 4,096 messages
/// of 64 bytes fill it, so that the next write is full when the last one ends.
pub const OUTBOX_MESSAGES_MAX: usize = if cfg!(test) { 4 } else { 4096 };

/// Bytes that one pipe may have waiting for the wire, before the last message: one full write.
pub const OUTBOX_BYTES_MAX: usize = if cfg!(test) { 64 } else { 256 * 1024 };

/// Bytes that one write gathers: 100 µs of a 20 Gbit/s loopback, and as much as one read takes.
pub const BATCH_BYTES_MAX: usize = 256 * 1024;

/// Slices that one write gathers; a body by reference takes two, with the bytes in front of it.
pub const BATCH_SLICES_MAX: usize = 64;

/// Bodies up to this many bytes are copied into the batch: copying 1 KiB costs less than the slice
/// and the reference count that it saves.
pub const COPY_BYTES_MAX: usize = 1024;

/// Messages from this many bytes on share the block that they were read into; smaller ones are
/// copied, or sixteen forgotten bytes would hold a block of 256 KiB.
pub const SHARE_BYTES_MIN: usize = 16 * 1024;

/// Time after which a request that has no reply is sent again; the same in nanomsg, NNG and mangos.
pub const RESEND_DELAY: Duration = Duration::from_secs(60);

/// How long the answers to a survey count; the same in nanomsg, NNG and mangos.
pub const SURVEY_TIME: Duration = Duration::from_secs(1);

/// Topics of one sub socket: with 100 bytes each they take some 10 MiB.
pub const TOPICS_MAX: usize = 65_536;

/// Contexts of one socket, itself not counted. One of req holds a request; with 1 KiB each they
/// take 64 MiB.
pub const CONTEXTS_MAX: usize = if cfg!(test) { 4 } else { 65_536 };

/// Bytes of replies that a raw rep or respondent socket keeps for one peer beyond a full outbox,
/// before the last one. A reply that is dropped is asked for again only a minute later, so there is
/// room for 32 outboxes; requests of such a peer are not taken meanwhile.
pub const REPLY_BYTES_MAX: usize = 32 * OUTBOX_BYTES_MAX;

/// Replies that a raw rep or respondent socket keeps for one peer: 32 outboxes of small ones.
pub const REPLY_MESSAGES_MAX: usize = 32 * OUTBOX_MESSAGES_MAX;

/// Hops, the last one included, that a message may have come: a word of a backtrace each, or the
/// count of pair1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hops(u8);

impl Hops {
    /// The largest that may be set; NNG's limit. It bounds a backtrace to 60 bytes.
    pub const MAX: Hops = Hops(15);

    /// `hops` from 1 to 15.
    pub const fn new(hops: u8) -> Option<Hops> {
        if hops >= 1 && hops <= Hops::MAX.0 { Some(Hops(hops)) } else { None }
    }

    /// The number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl Default for Hops {
    /// Eight, as in nanomsg, NNG and mangos.
    fn default() -> Hops {
        Hops(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hops_are_one_to_fifteen() {
        assert_eq!(Hops::new(0), None);
        assert_eq!(Hops::new(1).map(Hops::get), Some(1));
        assert_eq!(Hops::new(15), Some(Hops::MAX));
        assert_eq!(Hops::new(16), None);
    }
}
