//! The limits of a session, each with its reason (section 2).

use core::time::Duration;

use wigwag_wire::varint;
use wigwag_wire::{Buffer, Reader};

use crate::error::LinkError;

/// Bytes of one credit unit: the size of a mailbox place, so that a unit counts messages and bytes
/// at once.
pub const UNIT_BYTES: usize = 64;

/// The smallest window of a channel: a few calls can always be sent.
pub const WINDOW_UNITS_MIN: u64 = 16;

/// The largest base window of a channel, for a round-trip time of at most 1 ms: 4 MiB.
pub const WINDOW_UNITS_MAX: u64 = 65_536;

/// The largest scaled window of a channel, for a long round-trip time: two million small calls, or
/// 128 MiB.
pub const SCALED_WINDOW_UNITS_MAX: u64 = 2_097_152;

/// Units that the scaled windows of a session may hold beyond [`SESSION_UNITS_MAX`]: 256 MiB.
pub const SCALED_SESSION_UNITS_MAX: u64 = 4_194_304;

/// Default bound on the bytes that all peers together can make a node hold. A quarter each goes to
/// base windows and long calls, to scaled windows, to initial windows of channels, and to frames that wait for
/// their ack.
pub const NODE_BYTES_MAX: u64 = 4 * 1024 * 1024 * 1024;

/// Units that a fast sender has in flight for each millisecond of round-trip time: 131 million
/// small calls a second, about what a fast core sends through a relay.
pub const SCALED_UNITS_PER_MS: u64 = 131_072;

/// Bytes that a fast sender has in flight for each millisecond of round-trip time: two gigabytes a
/// second, more than one connection of a fast machine carries.
pub const SCALED_BYTES_PER_MS: u64 = 2 * 1024 * 1024;

/// Units that all channels of a session may hold together: 8 MiB.
pub const SESSION_UNITS_MAX: u64 = 131_072;

/// Units that a channel may get beyond a spent budget if its next frame would not fit otherwise:
/// one frame of the default size.
pub const FRAME_UNITS: u64 = 1024;

/// Units that all channels of a session may hold beyond [`SESSION_UNITS_MAX`] for such frames: 8
/// MiB, for 128 channels.
pub const FRAME_RESERVE_UNITS: u64 = 131_072;

/// Units of a channel, on average, from which on calls are published at the end of their batch: fewer
/// are gathered from consecutive batches of one read that hold no answers, because each publication
/// costs the actor a lock and a turn.
pub const GATHERED_UNITS: u64 = 64;

/// The window of a stream of items: 512 KiB. A fast reader empties that while its credit is on the way
/// and the producer wakes; with half of it a stream of short texts has 0.87 of the rate (`lab run
/// remote`, cell *stream*).
pub const ITEM_WINDOW_UNITS: u64 = 8192;

/// The smallest window that a stream is given when its session has many: 16 small items.
pub const ITEM_WINDOW_UNITS_MIN: u64 = 16;

/// The largest window that a reader may want for a stream, as of a channel: 4 MiB.
pub const ITEM_WINDOW_UNITS_MAX: u64 = WINDOW_UNITS_MAX;

/// Units of the longest item, which may reach beyond the limit of its stream: one frame of the
/// default size. Each stream holds them beside its window.
pub const ITEM_UNITS_MAX: u64 = FRAME_UNITS;

/// Bytes of items that are handed over together: enough that what is paid for each such run is little
/// beside its items, and small beside the window.
pub const ITEM_RUN_BYTES: usize = 16 * 1024;

/// Units that all streams that a session reads may hold together, each its window and the longest
/// item: 256 MiB, which is enough for 1,600 streams with the windows that they get.
pub const SESSION_STREAM_UNITS_MAX: u64 = 4_194_304;

/// Longest calls that the channels of a session may be granted beyond their windows, all together:
/// 64 MiB with the default limit of a message. One channel holds the units of one at most, so three
/// slow actors leave room for a fourth.
pub const LONG_CALLS_MAX: u64 = 4;

/// Time for which a peer may send other things and no part of a message that it has begun. Parts
/// wait for acks alone, so an honest peer sends one at every turn.
pub const PARTS_PATIENCE: Duration = Duration::from_secs(60);

/// Sequenced bytes that a sender retains until they are acknowledged, at a short round-trip time:
/// the bytes of four acks.
pub const UNACKED_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Sequenced bytes that a sender retains at most, at any round-trip time.
pub const SCALED_UNACKED_BYTES_MAX: usize = 64 * 1024 * 1024;

/// Bytes that frames other than calls may use beyond the unacked window, so that replies, cancels
/// and attaches never wait behind calls.
pub const UNACKED_RESERVE: usize = 1024 * 1024;

/// Retained bytes beyond the unacked window from which on a peer gets no new credit and large
/// replies to it are refused as Overloaded: the reserve, and 16 MiB of replies.
pub const UNACKED_ANSWERS_MAX: usize = UNACKED_RESERVE + 16 * 1024 * 1024;

/// Bytes that a session may always retain, even if all sessions of its node together retain too
/// much.
pub const UNACKED_ANSWERS_MIN: usize = 16 * 1024;

/// Bytes written on one connection without an ack, beyond the unacked window: more than the buffers
/// of both ends and of the network between them hold. A peer beyond this has read most of the bytes
/// and does not acknowledge them.
pub const UNACKED_WRITTEN_MAX: usize = 32 * 1024 * 1024;

/// Unanswered ATTACHes to actors of answers that a peer may have, each with the calls behind it:
/// many callers of a node ask through such answers within one round trip.
pub const PIPES_PENDING_MAX: u64 = 1024;

/// Links to actors of the other node that a session may have, each some 100 bytes there: as many as a
/// busy node has actors that live and end with those of one peer.
pub const LINKS_MAX: usize = 4096;

/// Unanswered REVOKEs that a peer may have: as many as it can have reason to send at once.
pub const REVOKES_PENDING_MAX: u64 = 1024;

/// Accepted bytes after which an ack is sent alone: a quarter of the smallest unacked window. More
/// frequent acks would cost a write per 64 KiB; less frequent ones would stall the sender.
pub const ACK_BYTES: usize = 1024 * 1024;

/// Bytes of a part of a long message beside other frames, which wait while it is copied.
pub const PART_BYTES_BESIDE: usize = 32 * 1024;

/// Bytes of parts of long messages that are unacknowledged when a sender of other frames sends no
/// more parts: any part of full length. Two parts would keep both ends busy, and the other frames
/// would wait for both of them.
pub const UNACKED_PARTS_MIN: usize = PART_BYTES_BESIDE / 2;

/// The growth of this window with the round-trip time up to 1 ms: the rate of a network of
/// 1 Gbit/s.
pub const PARTS_BYTES_PER_MS: u64 = 128 * 1024;

/// Bytes of parts after the last other frame from which on a sender counts as one of parts alone.
pub const PARTS_ALONE_BYTES: usize = 4 * 1024 * 1024;

/// Accepted bytes after which an ack is sent alone if there are parts among them: half of the
/// smallest window of parts, so that the sender goes on while the ack travels.
pub const PARTS_ACK_BYTES: usize = UNACKED_PARTS_MIN / 2;

/// Milliseconds that an ack waits for a batch to ride on.
pub const ACK_DELAY_MS: u64 = 10;

/// Bytes of a segment, the unit that is published together and retained until its ack. One write of
/// this size reaches two thirds of the loopback's maximum throughput; larger ones no longer fit
/// into the cache.
pub const SEGMENT_BYTES: usize = 64 * 1024;

/// Largest number of bytes of a batch other than sequenced frames: the word that PAIR1 prepends,
/// the batch header, and control frames. Control frames that do not fit wait for the next batch.
pub const BATCH_HEAD_BYTES_MAX: usize = 1024;

/// Largest number of bytes before a frame's body: its type and its length.
pub const FRAME_HEAD_BYTES_MAX: usize = 11;

/// The smallest usable batch limit: the head of a batch and a few small frames.
pub const BATCH_BYTES_MIN: u64 = 2048;

/// The largest opening message in bytes.
pub const OPENING_BYTES_MAX: usize = 4096;

/// AUTH messages that each side may send.
pub const AUTH_MESSAGES_MAX: u32 = 4;

/// The shortest heartbeat interval; shorter ones would be noticeable traffic.
pub const HEARTBEAT_MIN: Duration = Duration::from_millis(10);

/// The longest silence that a peer may announce.
pub const HEARTBEAT_MAX: Duration = Duration::from_secs(60);

/// Intervals after which a silent peer counts as dead: one, and two of grace, because one heartbeat
/// may be late.
pub const SILENCE_INTERVALS: u32 = 3;

/// The heartbeat interval of an idle session: ten thousand sessions send fewer than a thousand
/// heartbeats a second.
pub const IDLE_HEARTBEAT: Duration = Duration::from_secs(15);

/// A session without work for this long is idle.
pub const IDLE_HEARTBEAT_AFTER: Duration = Duration::from_secs(10);

/// The limits that a receiver announces in HELLO. They are the only numbers that a peer may hold it
/// to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Bytes of a whole SP message.
    pub batch_max: u64,
    /// Bytes of a frame's body.
    pub frame_max: u64,
    /// Bytes of a message sent in parts.
    pub message_max: u64,
    /// Units that a new channel may use at once.
    pub initial_units: u64,
    /// ATTACHes that may be unanswered.
    pub attach_pending_max: u64,
    /// Open channels.
    pub channels_max: u64,
    /// Asks from the peer that may be unanswered.
    pub slots_max: u64,
    /// Bytes of parts that may be sent before the receiver has said how many it wants.
    pub assembly_initial: u64,
    /// Milliseconds of silence after which the receiver wants a heartbeat.
    pub heartbeat_ms: u64,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            batch_max: 256 * 1024,
            frame_max: 64 * 1024,
            message_max: 16 * 1024 * 1024,
            initial_units: 64,
            attach_pending_max: 16,
            channels_max: 8192,
            slots_max: 65_536,
            assembly_initial: 1024 * 1024,
            heartbeat_ms: 1000,
        }
    }
}

impl Limits {
    fn fields(&mut self) -> [&mut u64; 9] {
        [
            &mut self.batch_max,
            &mut self.frame_max,
            &mut self.message_max,
            &mut self.initial_units,
            &mut self.attach_pending_max,
            &mut self.channels_max,
            &mut self.slots_max,
            &mut self.assembly_initial,
            &mut self.heartbeat_ms,
        ]
    }

    /// Appends the limits as `(v tag, b value)*`; tag 1 is the first field.
    pub fn encode(mut self, out: &mut Buffer) {
        for (at, field) in self.fields().into_iter().enumerate() {
            varint::put(out, at as u64 + 1);
            varint::put(out, varint::length(*field) as u64);
            varint::put(out, *field);
        }
    }

    /// Reads limits. Unknown tags are skipped, missing ones have their default. Since a frame must
    /// fit into a batch, `frame_max` is lowered to what a batch can hold.
    ///
    /// # Errors
    ///
    /// Fails if a limit is too small to be useful, or if the bytes are malformed.
    pub fn decode(reader: &mut Reader<'_>) -> Result<Limits, LinkError> {
        let mut limits = Limits::default();
        while !reader.is_empty() {
            let tag = varint::take(reader)?;
            let length = varint::take(reader)?;
            let value = reader.take(usize::try_from(length).unwrap_or(usize::MAX))?;
            let field = tag.checked_sub(1).and_then(|at| usize::try_from(at).ok());
            if let Some(field) = field.and_then(|at| limits.fields().into_iter().nth(at)) {
                *field = varint::take(&mut Reader::new(value))?;
            }
        }
        let least = [
            (limits.batch_max, BATCH_BYTES_MIN),
            (limits.frame_max, 256),
            (limits.initial_units, 1),
            (limits.attach_pending_max, 1),
        ];
        if least.iter().any(|(value, least)| value < least) {
            return Err(LinkError::protocol("a limit in HELLO is too small to work with"));
        }
        limits.frame_max = limits.body_max();
        Ok(limits)
    }

    /// The longest frame body that the receiver accepts and that fits into one of its batches.
    pub fn body_max(&self) -> u64 {
        let heads = (BATCH_HEAD_BYTES_MAX + FRAME_HEAD_BYTES_MAX) as u64;
        self.frame_max.min(self.batch_max.saturating_sub(heads))
    }
}

/// The credit units that a frame body of `bytes` costs on its channel.
#[inline]
pub fn units(bytes: usize) -> u64 {
    (bytes.saturating_sub(1) / UNIT_BYTES) as u64 + 1
}

/// Bytes of a target name; longer ones would turn the directory into a store.
pub const TARGET_BYTES_MAX: usize = 255;

/// Reads `v length + bytes`.
pub(crate) fn take_bytes<'a>(reader: &mut Reader<'a>) -> Result<&'a [u8], LinkError> {
    let length = varint::take(reader)?;
    Ok(reader.take(usize::try_from(length).unwrap_or(usize::MAX))?)
}

/// Appends `v length + bytes`.
pub(crate) fn put_bytes(out: &mut Buffer, bytes: &[u8]) {
    varint::put(out, bytes.len() as u64);
    out.extend(bytes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_round_trip_and_unknown_tags_are_skipped() {
        let ours = Limits { channels_max: 5, ..Limits::default() };
        let mut out = Buffer::new();
        ours.encode(&mut out);
        out.extend(&[99, 2, 1, 1]);
        assert_eq!(Limits::decode(&mut Reader::new(out.as_slice())), Ok(ours));
    }

    #[test]
    fn too_small_limits_are_refused() {
        let common = Limits::default();
        for limits in [
            Limits { batch_max: BATCH_BYTES_MIN - 1, ..common },
            Limits { frame_max: 255, ..common },
            Limits { initial_units: 0, ..common },
            Limits { attach_pending_max: 0, ..common },
        ] {
            let mut out = Buffer::new();
            limits.encode(&mut out);
            assert!(Limits::decode(&mut Reader::new(out.as_slice())).is_err(), "{limits:?}");
        }
    }

    #[test]
    fn a_unit_is_sixty_four_bytes_and_a_call_costs_one_at_least() {
        assert_eq!([0, 1, 64, 65, 129].map(units), [1, 1, 1, 2, 3]);
    }
}
