//! The run at the end of the frames: handed out to the callers of the turn, and closed by other threads.

use wigwag_wire::run::RunItems;

use super::Frames;
use crate::session::buffers::holders::RunRest;

impl Frames {
    /// Calls that may be added to the current run by the caller.
    pub(crate) fn room_in_run(&self) -> usize {
        self.run.room().min(self.credit as usize)
    }

    /// True if calls of several methods may be added to the current run.
    pub(crate) fn is_run_mixed(&self) -> bool {
        self.run.is_mixed()
    }

    /// Ends a mixed run, because its last calls were of `method`, as the next one is.
    pub(crate) fn end_mixture(&mut self, method: u32) {
        self.run.end_mixture(method);
    }

    /// Records that the current run is handed out.
    pub(crate) fn hand_out(&mut self, rest: RunRest) {
        self.handed_out = Some(rest);
    }

    /// The rest of the current run, if it is handed out and not closed. Its calls are taken, and
    /// their number is counted unless it is known.
    #[inline]
    pub(crate) fn take_run(&mut self, added: Option<usize>) -> Option<RunRest> {
        let mut rest = self.handed_out.take()?;
        let from = self.encoded.len();
        self.encoded.extend(rest.log.take(rest.log.end()));
        let added = added.unwrap_or_else(|| {
            let items = self.encoded.written_behind(from);
            RunItems::new(items).checked_count().unwrap_or(0)
        });
        self.run.note_items(added);
        self.calls += added as u64;
        self.credit = self.credit.saturating_sub(added as u64);
        rest.taken(added);
        Some(rest)
    }

    /// Closes the run that is handed out. The credit of the calls that its turn may still add goes
    /// with it.
    pub(super) fn close_run(&mut self) -> Option<RunRest> {
        self.handed_out.as_ref()?.log.close();
        let mut rest = self.take_run(None)?;
        if rest.is_between_turns {
            rest.room = rest.room.min(1);
        }
        self.credit = self.credit.saturating_sub(rest.room as u64);
        self.closed = Some(rest.channel);
        Some(rest)
    }

    /// The channel of the run that was closed while it was handed out, once.
    pub(crate) fn take_closed(&mut self) -> Option<u64> {
        self.closed.take()
    }
}
