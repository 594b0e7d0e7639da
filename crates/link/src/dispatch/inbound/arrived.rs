//! A call that came in a frame of its own.

use wigwag_wire::Buffer;
use wigwag_wire::call::{CallExtra, TRACED_ASK, TRACED_TELL};
use wigwag_wire::trace::TraceContext;

use crate::frames::write;

/// One call in a frame of its own.
pub(crate) struct Arrived<'a> {
    pub(crate) channel: u64,
    pub(crate) method: u64,
    pub(crate) arguments: &'a [u8],
    pub(crate) asker: Option<(u32, u32)>,
    /// The deadline or the window of items that the caller has given.
    pub(crate) extra: Option<CallExtra>,
}

impl Arrived<'_> {
    /// The call as inbound queues store it.
    pub(super) fn stored(&self, trace: Option<TraceContext>) -> Buffer {
        let mut frame = self.stored_alone();
        if let Some(trace) = trace {
            let kind = if self.asker.is_some() { TRACED_ASK } else { TRACED_TELL };
            let call = core::mem::replace(&mut frame, Buffer::new());
            write::frame(&mut frame, kind, |out| {
                out.extend(&trace.to_bytes());
                out.extend(call.as_slice());
            });
        }
        frame
    }

    fn stored_alone(&self) -> Buffer {
        let (mut frame, channel) = (Buffer::new(), self.channel);
        let method = u32::try_from(self.method).unwrap_or(u32::MAX);
        let put = |out: &mut Buffer| out.extend(self.arguments);
        match (self.asker, self.extra) {
            (None, _) => write::tell(&mut frame, channel, method, put),
            (Some(asker), None) => write::ask(&mut frame, channel, asker, method, put),
            (Some(asker), Some(extra)) => {
                write::ask_stored(&mut frame, extra, channel, asker, method, put)
            }
        };
        frame
    }
}
