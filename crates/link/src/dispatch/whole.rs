//! Messages that come in parts: put together, and then dispatched as frames that came whole.

use wigwag_wire::{Reader, Time, varint};

use super::by_kind::{dispatch, is_open, narrow};
use crate::dispatch::application::{Application, LongCall};
use crate::dispatch::assembly::{Assemblies, Assembly, FirstPart};
use crate::dispatch::inbound::InboundChannels;
use crate::error::LinkError;
use crate::frames::frame::{Frame, kind};
use crate::recv_half::Incoming;

/// Adds a part to its message. Returns the message if it is whole.
#[cold]
pub(super) fn assemble<A: Application>(
    assemblies: &mut Assemblies,
    channels: &mut InboundChannels<A::Channel>,
    part: Frame<'_>,
    app: &mut A,
) -> Result<Option<Assembly>, A::Error> {
    match part {
        Frame::Parts { source, kind, total, bytes } => {
            let first = FirstPart { source, kind, total, bytes };
            assemblies.check(&first)?;
            match first.call() {
                Some((channel, units)) => channels.begin_call(channel, units, app)?,
                None => {
                    let mut numbers = Reader::new(bytes);
                    let slot = varint::take(&mut numbers).map_err(LinkError::from)?;
                    let generation = varint::take(&mut numbers).map_err(LinkError::from)?;
                    is_open(app.may_be_answered(narrow(slot, generation)?))?;
                }
            }
            Ok(assemblies.begin(&first)?)
        }
        Frame::Part { source, bytes } => Ok(assemblies.add(source, bytes)?),
        Frame::PartsDrop { source } => {
            let dropped = assemblies.drop_call(source)?;
            channels.drop_call(source.saturating_sub(1), dropped.units, app);
            Ok(None)
        }
        _ => Ok(None),
    }
}

/// Decides on a message that came in parts, as on a frame that came whole.
#[cold]
pub(super) fn dispatch_whole<A: Application>(
    incoming: &mut Incoming<'_>,
    channels: &mut InboundChannels<A::Channel>,
    assemblies: &mut Assemblies,
    whole: Assembly,
    now: Time,
    app: &mut A,
) -> Result<(), A::Error> {
    let units = whole.units;
    let frame = incoming.parse(whole.kind(), whole.body())?;
    channels.trace = incoming.take_trace();
    let channel = match frame {
        Frame::Tell { channel, .. }
        | Frame::Ask { channel, .. }
        | Frame::AskWithin { channel, .. }
        | Frame::AskItems { channel, .. }
        | Frame::NotUnderstood { channel, .. } => Some(channel),
        _ => None,
    };
    if channel != whole.channel() {
        return Err(LinkError::protocol("a message in parts is of the source that it names").into());
    }
    app.frame(&frame)?;
    if let Some(channel) = channel {
        channels.call_is_whole(channel, units);
    }
    // Behind extras, a call is stored without them.
    if let Frame::Tell { channel, method: 1.., .. } | Frame::Ask { channel, method: 1.., .. } =
        frame
        && whole.kind() != kind::CALL_X
    {
        let frame = assemblies.share(whole);
        return channels.long_call(LongCall { channel, units, frame }, app);
    }
    dispatch(channels, frame, units, now, app)?;
    assemblies.reclaim(whole);
    Ok(())
}
