//! The meaning of a single frame of the peer.

use core::time::Duration;

use wigwag_wire::call::CallExtra;
use wigwag_wire::{Time, peer_text};

use crate::dispatch::application::{Application, Attached, ItemEnd, Rejected};
use crate::dispatch::inbound::{Arrived, InboundChannels};
use crate::error::LinkError;
use crate::flow_control::credit::StreamId;
use crate::frames::frame::Frame;

/// Decides on one frame that costs `units` if it is a call.
pub(super) fn dispatch<A: Application>(
    channels: &mut InboundChannels<A::Channel>,
    frame: Frame<'_>,
    units: u64,
    now: Time,
    app: &mut A,
) -> Result<(), A::Error> {
    match frame {
        Frame::Tell { channel, method, arguments } => {
            let (asker, extra) = (None, None);
            channels.call(&Arrived { channel, method, arguments, asker, extra }, units, app)?;
        }
        Frame::Ask { channel, slot, generation, method, arguments } => {
            let (asker, extra) = (Some(narrow(slot, generation)?), None);
            channels.call(&Arrived { channel, method, arguments, asker, extra }, units, app)?;
        }
        Frame::AskWithin { within_ms, channel, slot, generation, method, arguments } => {
            let asker = Some(narrow(slot, generation)?);
            let extra = Some(CallExtra::Deadline(begin_by(now, within_ms)));
            channels.call(&Arrived { channel, method, arguments, asker, extra }, units, app)?;
        }
        Frame::NotUnderstood { tag, channel, asker } => {
            let asker = match asker {
                Some((slot, generation)) => Some(narrow(slot, generation)?),
                None => None,
            };
            channels.not_understood(tag, channel, asker, units, app)?;
        }
        Frame::Reply { slot, generation, value } => {
            is_open(app.reply(narrow(slot, generation)?, value)?)?;
        }
        Frame::Error { slot, generation, code, text, .. } => {
            is_open(app.failed(narrow(slot, generation)?, code, text)?)?;
        }
        Frame::Cancel { slot, generation } => app.cancelled((slot, generation)),
        Frame::Detach { channel } => channels.detach(channel, app),
        Frame::Attached { channel, limit, schema_hash, codec, reference } => {
            app.send_half().attached(channel, limit);
            app.attached(channel, &Attached { limit, schema_hash, codec, reference });
        }
        Frame::Detached { channel, code, accepted, reason } => {
            // Before the number is free: another thread may use it for a new channel at once.
            app.detached(channel, code, accepted, reason)?;
            app.send_half().detached(channel);
        }
        Frame::Credit { channel, limit, handled } => {
            let mut send = app.send_half();
            let has_risen = send.window(channel).is_some_and(|window| window.raise(limit));
            drop(send);
            app.credited(channel, limit, handled, has_risen)?;
        }
        Frame::Release { reference, times } if channels.knows_references() => {
            let reference = reference.try_into().map(u128::from_le_bytes);
            if !reference.is_ok_and(|reference| app.reference_released(reference, times)) {
                let rule = "a reference is released as often as it was sent, and no more";
                return Err(LinkError::protocol(rule).into());
            }
        }
        Frame::Outcomes { channel, tells, rejected } => app.outcomes(channel, tells, rejected),
        Frame::Rejected { channel, method, tells, code, text } => {
            app.rejected(channel, &Rejected { method, tells, code, text });
        }
        Frame::Need { channel, limit_wanted, units } => {
            app.send_half().need_received(channel, limit_wanted, units);
        }
        Frame::Revoke { channel, limit_wanted } => {
            let revoked = app.send_half().revoked(channel, limit_wanted)?;
            revoked.into_iter().for_each(|limit| app.revoked(channel, limit));
        }
        other => return dispatch_of_stream(channels, other, units, now, app),
    }
    Ok(())
}

/// The error for an item of a stream that is not open.
#[cold]
pub(super) fn item_of_no_stream() -> LinkError {
    LinkError::protocol("an item of a stream that is not open")
}

/// Decides on a frame of a stream or of a link, or else on one that is about the session as a whole.
fn dispatch_of_stream<A: Application>(
    channels: &mut InboundChannels<A::Channel>,
    frame: Frame<'_>,
    units: u64,
    now: Time,
    app: &mut A,
) -> Result<(), A::Error> {
    match frame {
        Frame::AskItems { limit, channel, slot, generation, method, arguments } => {
            let asker = Some(narrow(slot, generation)?);
            let extra = Some(CallExtra::Items(limit));
            channels.call(&Arrived { channel, method, arguments, asker, extra }, units, app)?;
        }
        // Items of a stream that may be open were taken together.
        Frame::Item { .. } => return Err(item_of_no_stream().into()),
        Frame::ItemCredit { slot, generation, side, limit } => {
            // Credit of a stream that has ended may still be on its way, and of no other.
            if let Some(stream) = StreamId::read(slot, generation, side) {
                app.items_credited(stream, limit);
            }
        }
        Frame::ItemEnd { stream, how, code, text } => {
            let end = ItemEnd::read(how).map(|how| app.items_ended(stream, how, code, text));
            if end != Some(true) {
                return Err(LinkError::protocol("the end of a stream that is not open").into());
            }
        }
        Frame::Link { channel, link, actor } => channels.link(channel, link, actor, app)?,
        Frame::Unlink { channel, link, reason } => channels.unlink(channel, link, reason, app)?,
        of_session => return dispatch_of_session(of_session, now, app),
    }
    Ok(())
}

/// Decides on a frame that is about the session as a whole.
fn dispatch_of_session<A: Application>(
    frame: Frame<'_>,
    now: Time,
    app: &mut A,
) -> Result<(), A::Error> {
    match frame {
        Frame::Ping { id, next_ms } => app.send_half().ping_received(id, next_ms),
        Frame::Pong { id } if app.send_half().pong_received(id, now) => app.has_room(),
        Frame::Drain { .. } => app.draining(),
        Frame::Close { code, rule, detail } => {
            let (rule, detail) = (peer_text::line(rule), peer_text::line(detail));
            return Err(LinkError::ClosedByPeer { code, rule, detail }.into());
        }
        // None of the others needs an answer.
        _ => {}
    }
    Ok(())
}

/// The time by which an ask begins, if its caller waits `within_ms` from now on.
///
/// The last tenth is kept for its handling and for the way back. Where more is asked than an actor
/// can do, the oldest call that waits has nearly no time left, always: begun then, it is answered
/// too late, and so is the next. `lab run remote`, cell *overload 500 %*, of an actor that can do
/// 2,000 calls a second: 2.0 k/s are answered in time, and 1.3 k/s without the tenth.
fn begin_by(now: Time, within_ms: u64) -> Time {
    let within = Duration::from_millis(within_ms);
    now + (within - within / 10)
}

/// Slot and generation, which have 32 bits each.
pub(super) fn narrow(slot: u64, generation: u64) -> Result<(u32, u32), LinkError> {
    match (u32::try_from(slot), u32::try_from(generation)) {
        (Ok(slot), Ok(generation)) => Ok((slot, generation)),
        _ => Err(not_open()),
    }
}

/// Fails if the ask that was answered is not open.
#[inline(always)]
pub(super) fn is_open(is_open: bool) -> Result<(), LinkError> {
    if is_open { Ok(()) } else { Err(not_open()) }
}

#[cold]
fn not_open() -> LinkError {
    LinkError::protocol("an answer to a question that is not open")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ask_begins_before_the_last_tenth_of_its_time() {
        let now = Time::from_nanos(7);
        for (within_ms, by_us) in [(0, 0), (1, 900), (50, 45_000), (60_000, 54_000_000)] {
            assert_eq!(begin_by(now, within_ms) - now, Duration::from_micros(by_us));
        }
        assert_eq!(begin_by(now, u64::MAX), Time::from_nanos(u64::MAX), "it never comes");
    }
}
