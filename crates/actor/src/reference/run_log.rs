//! The run log: bytes that one thread appends without a lock and that another thread may take.
//!
//! The items of a run that is [handed out](crate::reference::run_writer) are encoded into it. The
//! thread of the turn owns the writer and stores the new length after each item. Another thread
//! that is about to send to the same actor takes what is there, so that its own call follows. It
//! can also close the log: the writer adds nothing more once it sees that, and what it adds until
//! then can still be taken.
//!
//! A log has one writing end and one reading end; the reading end goes from thread to thread under
//! the locks of the session. So the log itself needs no lock, and a restart needs both ends.
//!
//! This is one of the rooms that may contain `unsafe` code. A ring of fixed places, which needs
//! none, would copy each item twice, and its places are as large as the largest item.

use wigwag_wire::run::{ITEM_BEGIN, ITEM_BYTES_MAX, RUN_ITEMS_MAX};
use wigwag_wire::small::SCRATCH_BYTES;

#[cfg(any(wigwag_loom, wigwag_shuttle))]
pub(crate) use modelled::Writer;
#[cfg(not(any(wigwag_loom, wigwag_shuttle)))]
pub(crate) use shipped::Writer;

#[cfg(any(wigwag_loom, wigwag_shuttle))]
pub use modelled::RunLog;
#[cfg(not(any(wigwag_loom, wigwag_shuttle)))]
pub use shipped::RunLog;

/// Bytes of a log: all items of the longest run, and the scratch memory behind the last of them.
pub(crate) const LOG_BYTES: usize = RUN_ITEMS_MAX * (ITEM_BEGIN + ITEM_BYTES_MAX) + SCRATCH_BYTES;

/// Reads the ends of several logs, from the last log to the first, and returns them in the order
/// of the logs.
///
/// The writers of all logs but the last may have been told that their logs are closed, and append
/// without having noticed. Bytes in a log may then follow bytes in an earlier log, and never those
/// in a later one. In this order of reading, what precedes a byte within the ends is within them
/// too.
pub fn ends<'l>(logs: impl DoubleEndedIterator<Item = &'l RunLog>) -> Vec<usize> {
    let mut ends: Vec<usize> = logs.rev().map(RunLog::end).collect();
    ends.reverse();
    ends
}

#[cfg(not(any(wigwag_loom, wigwag_shuttle)))]
#[expect(unsafe_code, reason = "the writer and the thread that takes share the memory")]
mod shipped {
    use std::cell::UnsafeCell;
    use std::sync::Arc;

    use super::LOG_BYTES;
    use crate::sync::{AtomicBool, AtomicUsize, Ordering};

    /// The reading end of a run log.
    pub struct RunLog {
        shared: Arc<Shared>,
        /// Bytes that were taken.
        taken: usize,
    }

    /// The writing end.
    pub(crate) struct Writer {
        shared: Arc<Shared>,
        /// The bytes appended so far: what `shared.length` holds.
        length: usize,
    }

    struct Shared {
        /// Bytes below this are never written again before the log is restarted.
        length: AtomicUsize,
        is_closed: AtomicBool,
        memory: [UnsafeCell<u8>; LOG_BYTES],
    }

    // SAFETY: the cells are the only part that is not `Sync`. A cell at or above `length` is
    // touched by the one writer only, through `&mut Writer`. A cell below `length` is only read,
    // through the one `RunLog`, and its bytes were written before the release store of a length
    // beyond it, which the reader acquires. Only a restart lowers `length`: it borrows both ends
    // mutably, so that no slice which the reader has returned is alive.
    unsafe impl Sync for Shared {}

    impl RunLog {
        /// Creates a log, and returns its two ends.
        pub(crate) fn new() -> (Writer, RunLog) {
            let shared = Arc::new(Shared {
                length: AtomicUsize::new(0),
                is_closed: AtomicBool::new(false),
                memory: [const { UnsafeCell::new(0) }; LOG_BYTES],
            });
            (Writer { shared: shared.clone(), length: 0 }, RunLog { shared, taken: 0 })
        }

        /// The bytes appended since the last restart: at least all those whose appending happened
        /// before this call.
        pub fn end(&self) -> usize {
            // The order of all such operations: see `Writer::keep_checked`.
            self.shared.length.load(Ordering::SeqCst)
        }

        /// Takes the bytes before `end` that were not taken yet; `end` is what
        /// [`end`](Self::end) has returned.
        pub fn take(&mut self, end: usize) -> &[u8] {
            // Read again: the caller's end may be from before a restart.
            let end = end.min(self.end());
            let cells = self.shared.memory.get(self.taken..end).unwrap_or_default();
            self.taken = end.max(self.taken);
            // SAFETY: the cells lie below `length`, which was acquired, so they are written, and
            // they are not written again before a restart, which needs this reader and so ends
            // the returned borrow. `UnsafeCell<u8>` has the layout of `u8`.
            unsafe { &*(std::ptr::from_ref(cells) as *const [u8]) }
        }

        /// Closes the log to its writer.
        pub fn close(&self) {
            self.shared.is_closed.store(true, Ordering::SeqCst);
        }
    }

    impl Writer {
        /// True if another thread has closed the log. A closing that happened before this call is
        /// seen.
        #[inline(always)]
        pub(crate) fn is_closed(&self) -> bool {
            self.shared.is_closed.load(Ordering::Relaxed)
        }

        /// Room for `N` bytes after the end; `None` if there is none.
        #[inline(always)]
        pub(crate) fn room<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
            let cells = self.shared.memory.get(self.length..)?.first_chunk::<N>()?;
            // SAFETY: the cells lie at and above `length`, where no reader looks, and the returned
            // borrow keeps the one writer from using them otherwise. `UnsafeCell<u8>` has the
            // layout of `u8`, and permits to write through a shared reference.
            Some(unsafe { &mut *UnsafeCell::raw_get(cells.as_ptr()).cast::<[u8; N]>() })
        }

        /// Appends the first `used` bytes of the room, at most `N`.
        #[inline(always)]
        pub(crate) fn keep<const N: usize>(&mut self, used: usize) {
            self.length = (self.length + used.min(N)).min(LOG_BYTES);
            self.shared.length.store(self.length, Ordering::Release);
        }

        /// As [`keep`](Self::keep). True if the log was closed, and perhaps read for the last time,
        /// before the bytes were appended: a thread that closes the log and then reads its end
        /// finds the bytes, or else this returns true.
        #[inline(always)]
        #[must_use]
        pub(crate) fn keep_checked<const N: usize>(&mut self, used: usize) -> bool {
            self.length = (self.length + used.min(N)).min(LOG_BYTES);
            self.shared.length.swap(self.length, Ordering::SeqCst);
            self.shared.is_closed.load(Ordering::SeqCst)
        }

        /// True for the reading end of this log.
        pub(crate) fn writes_to(&self, log: &RunLog) -> bool {
            Arc::ptr_eq(&self.shared, &log.shared)
        }

        /// Empties the log and opens it. The caller has taken everything, or drops the rest. False
        /// if `log` is the reading end of another log; then nothing is done.
        pub(crate) fn restart(&mut self, log: &mut RunLog) -> bool {
            if !self.writes_to(log) {
                return false;
            }
            (self.length, log.taken) = (0, 0);
            // Both ends are here, and what passes one of them on to another thread orders this.
            self.shared.length.store(0, Ordering::Relaxed);
            self.shared.is_closed.store(false, Ordering::Relaxed);
            true
        }
    }
}

#[cfg(any(wigwag_loom, wigwag_shuttle))]
#[expect(missing_docs, reason = "as in the shipped form")]
mod modelled {
    use std::sync::{Arc, PoisonError};

    use super::LOG_BYTES;
    use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

    pub struct RunLog {
        shared: Arc<Shared>,
        taken: usize,
        copy: Vec<u8>,
    }

    pub(crate) struct Writer {
        shared: Arc<Shared>,
        scratch: [u8; 512],
    }

    struct Shared {
        bytes: Mutex<Vec<u8>>,
        is_closed: AtomicBool,
    }

    impl Shared {
        fn bytes(&self) -> MutexGuard<'_, Vec<u8>> {
            self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl RunLog {
        pub(crate) fn new() -> (Writer, RunLog) {
            let (bytes, is_closed) = (Mutex::new(Vec::new()), AtomicBool::new(false));
            let shared = Arc::new(Shared { bytes, is_closed });
            let writer = Writer { shared: shared.clone(), scratch: [0; 512] };
            (writer, RunLog { shared, taken: 0, copy: Vec::new() })
        }

        pub fn end(&self) -> usize {
            self.shared.bytes().len()
        }

        pub fn take(&mut self, end: usize) -> &[u8] {
            let bytes = self.shared.bytes();
            let end = end.min(bytes.len());
            self.copy = bytes.get(self.taken..end).unwrap_or_default().to_vec();
            self.taken = end.max(self.taken);
            &self.copy
        }

        pub fn close(&self) {
            self.shared.is_closed.store(true, Ordering::SeqCst);
        }
    }

    impl Writer {
        pub(crate) fn is_closed(&self) -> bool {
            self.shared.is_closed.load(Ordering::Relaxed)
        }

        pub(crate) fn room<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
            let has_room = self.shared.bytes().len() + N <= LOG_BYTES;
            self.scratch.first_chunk_mut().filter(|_| has_room)
        }

        pub(crate) fn keep<const N: usize>(&mut self, used: usize) {
            let bytes = self.scratch.get(..used.min(N)).unwrap_or_default();
            self.shared.bytes().extend(bytes);
        }

        #[must_use]
        pub(crate) fn keep_checked<const N: usize>(&mut self, used: usize) -> bool {
            self.keep::<N>(used);
            self.shared.is_closed.load(Ordering::SeqCst)
        }

        pub(crate) fn writes_to(&self, log: &RunLog) -> bool {
            Arc::ptr_eq(&self.shared, &log.shared)
        }

        pub(crate) fn restart(&mut self, log: &mut RunLog) -> bool {
            if !self.writes_to(log) {
                return false;
            }
            log.taken = 0;
            self.shared.bytes().clear();
            self.shared.is_closed.store(false, Ordering::Relaxed);
            true
        }
    }
}

#[cfg(all(test, not(any(wigwag_loom, wigwag_shuttle))))]
mod tests {
    use std::thread;

    use super::*;

    fn append(writer: &mut Writer, bytes: &[u8]) -> bool {
        let Some(room) = writer.room::<8>() else { return false };
        room[..bytes.len()].copy_from_slice(bytes);
        writer.keep::<8>(bytes.len());
        true
    }

    fn take(log: &mut RunLog) -> Vec<u8> {
        log.take(log.end()).to_vec()
    }

    #[test]
    fn each_byte_is_taken_once() {
        let (mut writer, mut log) = RunLog::new();
        assert!(append(&mut writer, &[1, 2]));
        let end = log.end();
        assert!(append(&mut writer, &[3]));
        assert_eq!(log.take(end), [1, 2]);
        assert_eq!(log.take(end).len(), 0);
        assert_eq!(take(&mut log), [3]);
        assert!(take(&mut log).is_empty());
    }

    #[test]
    fn a_full_log_has_no_room_until_it_is_restarted() {
        let (mut writer, mut log) = RunLog::new();
        let mut appended = 0;
        while append(&mut writer, &[7; 8]) {
            appended += 8;
        }
        assert!((LOG_BYTES - 7..=LOG_BYTES).contains(&appended), "{appended}");
        log.close();
        assert!(writer.is_closed());
        assert_eq!(take(&mut log), vec![7; appended]);
        assert!(writer.restart(&mut log));
        assert!(!writer.is_closed());
        assert!(append(&mut writer, &[1]));
        assert_eq!(take(&mut log), [1]);
    }

    #[test]
    fn an_end_that_was_read_before_a_restart_takes_nothing_beyond_the_new_end() {
        let (mut writer, mut log) = RunLog::new();
        append(&mut writer, &[1, 2, 3]);
        let end = log.end();
        assert!(writer.restart(&mut log));
        assert_eq!(log.take(end).len(), 0);
        append(&mut writer, &[4]);
        assert_eq!(take(&mut log), [4]);
    }

    #[test]
    fn a_log_is_not_restarted_with_the_reading_end_of_another() {
        let ((mut writer, mut log), (_, mut other)) = (RunLog::new(), RunLog::new());
        append(&mut writer, &[1]);
        assert!(!writer.restart(&mut other));
        assert_eq!(take(&mut log), [1]);
    }

    #[test]
    fn the_ends_of_several_logs_are_in_their_order() {
        let mut logs = [RunLog::new(), RunLog::new(), RunLog::new()];
        for ((writer, _), count) in logs.iter_mut().zip([3, 0, 1]) {
            append(writer, &vec![1; count]);
        }
        assert_eq!(ends(logs.iter().map(|(_, log)| log)), [3, 0, 1]);
    }

    #[test]
    fn a_thread_that_takes_while_another_appends_misses_nothing() {
        let (mut writer, mut log) = RunLog::new();
        let appender = thread::spawn(move || {
            let mut appended = Vec::new();
            for n in 0.. {
                if !append(&mut writer, &u32::to_be_bytes(n)) {
                    break;
                }
                appended.extend(u32::to_be_bytes(n));
            }
            appended
        });
        let mut all = Vec::new();
        while !appender.is_finished() || log.end() > all.len() {
            all.extend(take(&mut log));
        }
        assert_eq!(all, appender.join().expect("it appends"));
    }
}
