//! Every limit of this crate, with the calculation behind it.
//!
//! In tests the queues are tiny, so that each test crosses their bounds.

use core::time::Duration;

use crate::range::OutOfRange;

/// Bytes of one message, header and body, unless the socket sets another limit: the default of
/// nanomsg and mangos, and of RFC sp-tcp-mapping-01.
pub const RECEIVE_BYTES_MAX: usize = 1024 * 1024;

/// Messages of one pipe that may wait for the user. A read brings 256 KiB; at 256 bytes a message
/// that is 1,024.
pub const INBOX_MESSAGES_MAX: usize = if cfg!(test) { 4 } else { 1024 };

/// Bytes of one pipe that may wait for the user, before the last message: one full read.
pub const INBOX_BYTES_MAX: usize = if cfg!(test) { 64 } else { 256 * 1024 };

/// Unread messages of closed pipes at which no further pipe is opened: 4,096 short-lived peers with
/// one message each. Pipes that are open then may still add theirs.
pub const LEFT_MESSAGES_MAX: usize = if cfg!(test) { 6 } else { 4096 };

/// Messages that may wait to be written to one pipe. A write carries 256 KiB, which is 4,096
/// messages of 64 bytes, so the next write is full when the last one ends.
pub const OUTBOX_MESSAGES_MAX: usize = if cfg!(test) { 4 } else { 4096 };

/// Bytes that may wait to be written to one pipe, before the last message: one full write.
pub const OUTBOX_BYTES_MAX: usize = if cfg!(test) { 64 } else { 256 * 1024 };

/// Bytes gathered for one write: 100 µs of a 20 Gbit/s loopback, and as much as one read takes.
pub const BATCH_BYTES_MAX: usize = 256 * 1024;

/// Slices gathered for one write; a body by reference takes two, with the bytes in front of it.
pub const BATCH_SLICES_MAX: usize = 64;

/// Longest body that is copied into the batch: copying 1 KiB costs less than the slice and the
/// reference count that it saves.
pub const COPY_BYTES_MAX: usize = 1024;

/// Shortest message that shares the block it was read into; shorter ones are copied, or sixteen
/// retained bytes would keep a block of 256 KiB alive.
pub const SHARE_BYTES_MIN: usize = 16 * 1024;

/// Time after which a request without a reply is sent again; the same in nanomsg, NNG and mangos.
pub const RESEND_DELAY: Duration = Duration::from_secs(60);

/// Shortest message whose length may be the reason why a peer closes its connection: a peer that
/// accepts less is of no use. Shorter requests are sent again however often their connection ends.
pub const REFUSAL_BYTES_MIN: usize = if cfg!(test) { 16 } else { 1024 };

/// Time within which a peer that does not accept the length of a message has closed its connection.
/// It closes when it reads the length, so after a round trip.
pub const REFUSAL_TIME: Duration = Duration::from_secs(1);

/// Connections in a row that may end in this way on one message. One may be chance, for example a
/// peer that is restarted.
pub const REFUSALS_MAX: u32 = 2;

/// Time in which answers to a survey count; the same in nanomsg, NNG and mangos.
pub const SURVEY_TIME: Duration = Duration::from_secs(1);

/// Topics of one sub socket: at 100 bytes each they take some 10 MiB.
pub const TOPICS_MAX: usize = 65_536;

/// Contexts of one socket, the socket itself not counted. A req context holds a request; at 1 KiB
/// each they take 64 MiB.
pub const CONTEXTS_MAX: usize = if cfg!(test) { 4 } else { 65_536 };

/// Bytes of replies that a raw rep or respondent socket holds for one peer beyond a full outbox,
/// before the last one. A dropped reply is requested again only after a minute, so there is room
/// for 32 outboxes; meanwhile no requests are taken from such a peer.
pub const REPLY_BYTES_MAX: usize = 32 * OUTBOX_BYTES_MAX;

/// Replies that a raw rep or respondent socket holds for one peer: 32 outboxes of small ones.
pub const REPLY_MESSAGES_MAX: usize = 32 * OUTBOX_MESSAGES_MAX;

/// Limit of the hops that a message may have come over, the last one included: the words of a
/// backtrace, or the hop count of pair1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hops(u8);

impl Hops {
    /// The largest limit, as in nanomsg and mangos; NNG takes 15 at most. It bounds a backtrace to
    /// 1,020 bytes.
    pub const MAX: Hops = Hops(255);

    /// A limit of 1 to 255 hops; `None` for 0.
    pub const fn new(hops: u8) -> Option<Hops> {
        if hops >= 1 { Some(Hops(hops)) } else { None }
    }

    /// The limit as a number.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl TryFrom<u64> for Hops {
    type Error = OutOfRange;

    fn try_from(given: u64) -> Result<Hops, OutOfRange> {
        let most = u64::from(Hops::MAX.0);
        let bad = OutOfRange { what: "a hop limit", given, least: 1, most, unit: "hops" };
        u8::try_from(given).ok().and_then(Hops::new).ok_or(bad)
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
    fn hops_are_one_to_255() {
        assert_eq!(Hops::new(0), None);
        assert_eq!(Hops::new(1).map(Hops::get), Some(1));
        assert_eq!(Hops::new(255), Some(Hops::MAX));
        assert_eq!(Hops::try_from(15).map(Hops::get), Ok(15));
        assert!(Hops::try_from(0).is_err() && Hops::try_from(256).is_err());
    }
}
