//! The run writer: the open end of the run that this thread's turn is writing, handed out to
//! callers.
//!
//! Consecutive calls of one method to one actor form a run, and each adds a few bytes to it; so do
//! calls of several methods in turn. So the session hands the end of the run out to the turn, and
//! such a call is encoded in place: no way through the route, no lock, no credit to take. Before the
//! session does anything else, it takes the run back and counts the added calls. Another thread
//! that sends to the same actor takes the items earlier, out of the
//! [run log](crate::reference::run_log), so that its call follows them.
//!
//! Measured gain: `lab run remote`, cell *tell*, 2.7 times the rate without it, cell *ask* 2.6
//! times. Mixed runs, together with the loop that handles them: cell *tell, two methods*, 59 M/s
//! (41-73); without them 16 M/s (11-18), the medians of eight rounds in turn.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::num::NonZeroUsize;

use wigwag_wire::run::{ITEM_BEGIN, METHOD_END, SameMethod, end_item, put_method};
use wigwag_wire::small::SCRATCH_BYTES;

use crate::message::Message;
use crate::reference::run_log::{RunLog, Writer};
use crate::turn::buffers;

/// The identity of a route or a pipeline that may add calls to a run. Ids are never reused within a
/// process: a run handed out to an owner that another thread has dropped belongs to nobody.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RunOwner(u64);

impl RunOwner {
    /// Creates a new identity. `fixed`: arguments of fixed width are written in that form; the
    /// lowest bit holds this.
    #[expect(clippy::disallowed_types, reason = "it counts; nobody waits for what it says")]
    pub fn new(fixed: bool) -> RunOwner {
        use std::sync::atomic::{AtomicU64, Ordering};

        static LAST: AtomicU64 = AtomicU64::new(0);
        RunOwner(LAST.fetch_add(2, Ordering::Relaxed) | u64::from(fixed))
    }

    /// A number that tells routes apart, below 2^62; an adapter has that of its route.
    pub(crate) fn number(self) -> u64 {
        self.0 & (u64::MAX >> 2)
    }

    /// This identity, if it writes arguments as `fixed` says, or else a new one, whose runs nobody
    /// joins.
    pub fn or_new(self, fixed: bool) -> RunOwner {
        if self.is_fixed() == fixed { self } else { RunOwner::new(fixed) }
    }

    /// The identity of an adapter of this owner: its calls have other method numbers, so it joins no
    /// run. Adapters of one owner have the same.
    pub(crate) fn without_runs(self) -> RunOwner {
        RunOwner(self.0 | 1 << 63)
    }

    /// The identity under which this owner has a run between its turns: the calls of a turn do not
    /// join it.
    fn between_turns(self) -> RunOwner {
        RunOwner(self.0 | 1 << 62)
    }

    #[inline(always)]
    fn is_fixed(self) -> bool {
        self.0 & 1 != 0
    }
}

/// The method of a mixed run, in place of that of its calls. No call that an actor handles has it.
const MIXED: u32 = 0;

struct RunWriter {
    owner: RunOwner,
    /// The method of all calls, or [`MIXED`].
    method: u32,
    /// The last calls of a mixed run.
    same: SameMethod,
    /// Calls that may still be added, and the number when the run was handed out.
    room: usize,
    handed_out: usize,
    /// The items that were added.
    log: Writer,
}

/// A run that is not handed out: the log that its further items go into.
pub struct OpenRun(Box<RunWriter>);

impl OpenRun {
    /// Creates a log that has room for the longest run, and returns its reading end too.
    pub fn new() -> (OpenRun, RunLog) {
        let (writer, log) = RunLog::new();
        let (owner, method, same) = (RunOwner(u64::MAX), MIXED, SameMethod::default());
        let run = RunWriter { owner, method, same, room: 0, handed_out: 0, log: writer };
        (OpenRun(Box::new(run)), log)
    }

    /// The number of calls that were added while the run was handed out.
    pub fn added(&self) -> usize {
        self.0.handed_out - self.0.room
    }

    /// The method that a mixed run was refused for: its last calls were all of that method, so the
    /// next one belongs into a run of its own.
    pub fn method_that_goes_on(&self) -> Option<u32> {
        self.0.same.goes_on()
    }

    /// True for the reading end of this run's log.
    pub fn writes_to(&self, log: &RunLog) -> bool {
        self.0.log.writes_to(log)
    }

    /// Empties the log, after its items were taken. False for the reading end of another log.
    pub fn restart(&mut self, log: &mut RunLog) -> bool {
        self.0.log.restart(log)
    }
}

thread_local! {
    /// Boxed, so that it is taken out and put back as one word. A run that is handed out between
    /// turns is taken back before the thread ends, so there is nothing to drop then, and no call
    /// need check for that.
    static RUN_WRITER: Cell<ManuallyDrop<Option<Box<RunWriter>>>> =
        const { Cell::new(ManuallyDrop::new(None)) };
    /// The target, in the registry of [buffers], whose run is handed out; 0
    /// for none.
    static TARGET: Cell<usize> = const { Cell::new(0) };
}

/// The target whose run is handed out, in the registry of [buffers].
#[inline(always)]
pub fn handed_out() -> Option<NonZeroUsize> {
    NonZeroUsize::new(TARGET.get())
}

/// Hands out a run that ends the buffer of `target` and has room for `room` more calls of this
/// method by this owner; without a method it is a mixed run. `is_between_turns`: no end of a turn
/// takes it back. Then another thread may take it by closing its log, and the buffer is published if
/// a call was added too late for that thread.
///
/// # Errors
/// The run, while another one is handed out.
pub fn hand_out(
    target: NonZeroUsize,
    owner: RunOwner,
    method: Option<u32>,
    room: usize,
    is_between_turns: bool,
    run: OpenRun,
) -> Result<(), OpenRun> {
    if TARGET.get() != 0 {
        return Err(run);
    }
    TARGET.set(target.get());
    let mut writer = run.0;
    writer.owner = if is_between_turns { owner.between_turns() } else { owner };
    (writer.method, writer.same) = (method.unwrap_or(MIXED), SameMethod::default());
    (writer.room, writer.handed_out) = (room, room);
    RUN_WRITER.set(ManuallyDrop::new(Some(writer)));
    Ok(())
}

/// Takes the run back from callers. `None`: no run is handed out.
pub fn take_back() -> Option<OpenRun> {
    let writer = ManuallyDrop::into_inner(RUN_WRITER.take())?;
    TARGET.set(0);
    Some(OpenRun(writer))
}

/// Adds a call to the run of this turn. False: it must be sent as any other call.
#[inline(always)]
pub(crate) fn add<M: Message>(owner: RunOwner, message: &M) -> bool {
    // While the writer is out, only the encoders of plain types run: they call nothing of this.
    let mut writer = RUN_WRITER.take();
    let added = match writer.as_mut() {
        Some(writer) => writer.add(owner, message),
        None => false,
    };
    RUN_WRITER.set(writer);
    added
}

/// Adds a call to a run that was handed out between turns. False: it must be sent as any other
/// call.
///
/// No end of a turn will publish the call. So it is checked against a closing of the log, and
/// published here if the thread that has closed the log may have missed it.
#[inline(never)]
pub(crate) fn add_between_turns<M: Message>(owner: RunOwner, message: &M) -> bool {
    let owner = owner.between_turns();
    let mut writer = RUN_WRITER.take();
    let added = writer.as_mut().and_then(|writer| writer.add_checked(owner, message));
    RUN_WRITER.set(writer);
    if added == Some(Behind::Closing)
        && let Some(target) = handed_out()
    {
        buffers::publish_one(target.get());
    }
    added.is_some()
}

/// Where an item of a run was added that another thread may close.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Behind {
    Item,
    Closing,
}

impl RunWriter {
    #[inline(always)]
    fn add<M: Message>(&mut self, owner: RunOwner, message: &M) -> bool {
        let Some(end) = self.encode(owner, message) else { return false };
        self.log.keep::<SCRATCH_BYTES>(end);
        self.room -= 1;
        true
    }

    fn add_checked<M: Message>(&mut self, owner: RunOwner, message: &M) -> Option<Behind> {
        let end = self.encode(owner, message)?;
        self.room -= 1;
        let is_closed = self.log.keep_checked::<SCRATCH_BYTES>(end);
        Some(if is_closed { Behind::Closing } else { Behind::Item })
    }

    /// Encodes an item behind the others and returns its end. `None`: it does not belong there.
    #[inline(always)]
    fn encode<M: Message>(&mut self, owner: RunOwner, message: &M) -> Option<usize> {
        if self.owner != owner || self.room == 0 {
            return None;
        }
        let method = message.method();
        let is_mixed = self.method != method;
        if is_mixed && !(self.method == MIXED && method < METHOD_END && self.same.note(method)) {
            return None;
        }
        // Another thread has sent to this actor, and this call must follow.
        if self.log.is_closed() {
            return None;
        }
        // No run of a method whose calls cannot leave the process is handed out. An encoder of the
        // program must not run while this thread cannot send. Both are constants, so free.
        if !message.travels() || !message.is_plain() {
            return None;
        }
        let place = self.log.room::<SCRATCH_BYTES>()?;
        let begin = if is_mixed { put_method(place, method) } else { ITEM_BEGIN };
        let fixed = if owner.is_fixed() { message.encode_fixed(place, begin) } else { None };
        // No closures: they would not be inlined, and the message would go through memory.
        let end = match fixed {
            Some(end) => end,
            None => message.encode_small(place, begin)?,
        };
        end_item(place, end).then_some(end)
    }
}

#[cfg(test)]
mod tests;
