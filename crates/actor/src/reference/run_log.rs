//! The run log: bytes that one thread appends without a lock and that any other thread may take.
//!
//! The items of a run that is [handed out](crate::reference::run_writer) are encoded into it. The
//! thread of the turn owns the writer and stores the new length after each item. Another thread
//! that is about to send to the same actor takes what is there, so that its own call follows. It
//! can also close the log: the writer adds nothing more once it sees that, and what it adds until
//! then can still be taken.
//!
//! This is one of the rooms that may contain `unsafe` code. A ring of fixed places, which needs
//! none, would copy each item twice, and its places are as large as the largest item.

#[cfg(any(wigwag_loom, wigwag_shuttle))]
pub(crate) use modelled::Writer;
#[cfg(not(any(wigwag_loom, wigwag_shuttle)))]
pub(crate) use shipped::Writer;

#[cfg(any(wigwag_loom, wigwag_shuttle))]
pub use modelled::RunLog;
#[cfg(not(any(wigwag_loom, wigwag_shuttle)))]
pub use shipped::RunLog;

/// Passes on what was appended to several logs and not taken yet, log after log.
///
/// The writers of all logs but the last may have been told that their logs are closed, and append
/// without having noticed. Bytes in a log may then follow bytes in an earlier log, and never those
/// in a later one. The lengths are read from the last log to
/// the first: what precedes a byte within these lengths is within them too.
pub fn take_all<L>(
    logs: &mut [L],
    log: impl Fn(&L) -> &RunLog,
    mut each: impl FnMut(&mut L, &[u8]),
) {
    let mut ends: Vec<usize> = logs.iter().rev().map(|one| log(one).end()).collect();
    for one in logs {
        let (log, end) = (log(one).clone(), ends.pop().unwrap_or(0));
        log.take(end, |bytes| each(one, bytes));
    }
}

#[cfg(not(any(wigwag_loom, wigwag_shuttle)))]
#[expect(unsafe_code, reason = "the writer and the threads that take share the memory")]
mod shipped {
    use std::cell::UnsafeCell;
    use std::sync::{Arc, PoisonError};

    use crate::sync::{AtomicBool, AtomicUsize, Mutex, Ordering};

    /// The reading end of a run log; its clones read the same bytes.
    #[derive(Clone)]
    pub struct RunLog(Arc<Shared>);

    /// The writing end.
    pub(crate) struct Writer {
        shared: Arc<Shared>,
        /// The bytes appended so far: what `shared.length` holds.
        length: usize,
    }

    struct Shared {
        memory: Box<[UnsafeCell<u8>]>,
        /// Bytes below this are never written again before the log is restarted.
        length: AtomicUsize,
        is_closed: AtomicBool,
        /// Bytes that were taken. Its lock is held while bytes are read, and for a restart.
        taken: Mutex<usize>,
    }

    // SAFETY: the cells are the only part that is not `Sync`. A cell at or above `length` is
    // touched by the one writer only, through `&mut Writer`; a cell below `length` is only read,
    // and its bytes were written before the release store of a length beyond it, which every reader
    // acquires. Only a restart lowers `length`: it holds the lock that readers hold while they
    // read.
    unsafe impl Sync for Shared {}
    // SAFETY: as above; the memory belongs to the value and is not bound to a thread.
    unsafe impl Send for Shared {}

    impl RunLog {
        /// Creates a log with room for `capacity` bytes.
        pub(crate) fn with_capacity(capacity: usize) -> Writer {
            let memory = (0..capacity).map(|_| UnsafeCell::new(0)).collect();
            let length = AtomicUsize::new(0);
            let (is_closed, taken) = (AtomicBool::new(false), Mutex::new(0));
            Writer { shared: Arc::new(Shared { memory, length, is_closed, taken }), length: 0 }
        }

        /// The bytes appended since the last restart: at least all those whose appending happened
        /// before this call.
        pub fn end(&self) -> usize {
            self.0.length.load(Ordering::Acquire)
        }

        /// Passes on the bytes before `end` that were not taken yet; `end` is what
        /// [`end`](Self::end) has returned.
        pub fn take<T>(&self, end: usize, each: impl FnOnce(&[u8]) -> T) -> T {
            let mut taken = self.0.taken.lock().unwrap_or_else(PoisonError::into_inner);
            // Read again under the lock: the log may have been restarted since.
            let end = end.min(self.end());
            let cells = self.0.memory.get(*taken..end).unwrap_or_default();
            // SAFETY: the cells lie below `length`, which was acquired, so they are written and
            // are not written again before a restart, which needs the lock that is held here.
            // `UnsafeCell<u8>` has the layout of `u8`.
            let bytes = unsafe { &*(std::ptr::from_ref(cells) as *const [u8]) };
            *taken = end.max(*taken);
            each(bytes)
        }

        /// Closes the log to its writer.
        pub fn close(&self) {
            self.0.is_closed.store(true, Ordering::Relaxed);
        }

        /// True for two ends of one log.
        pub fn is_same(&self, other: &RunLog) -> bool {
            Arc::ptr_eq(&self.0, &other.0)
        }
    }

    impl Writer {
        /// The reading end.
        pub(crate) fn reader(&self) -> RunLog {
            RunLog(self.shared.clone())
        }

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
            self.length = (self.length + used.min(N)).min(self.shared.memory.len());
            self.shared.length.store(self.length, Ordering::Release);
        }

        /// Empties the log and opens it. The caller has taken everything, or drops the rest.
        pub(crate) fn restart(&mut self) {
            let mut taken = self.shared.taken.lock().unwrap_or_else(PoisonError::into_inner);
            *taken = 0;
            self.length = 0;
            self.shared.length.store(0, Ordering::Relaxed);
            self.shared.is_closed.store(false, Ordering::Relaxed);
        }
    }
}

#[cfg(any(wigwag_loom, wigwag_shuttle))]
#[expect(missing_docs, reason = "as in the shipped form")]
mod modelled {
    use std::sync::{Arc, PoisonError};

    use crate::sync::{AtomicBool, Mutex, MutexGuard, Ordering};

    #[derive(Clone)]
    pub struct RunLog(Arc<Shared>);

    pub(crate) struct Writer {
        shared: Arc<Shared>,
        scratch: [u8; 512],
    }

    struct Shared {
        /// The bytes, and how many of them were taken.
        bytes: Mutex<(Vec<u8>, usize)>,
        is_closed: AtomicBool,
        capacity: usize,
    }

    impl Shared {
        fn bytes(&self) -> MutexGuard<'_, (Vec<u8>, usize)> {
            self.bytes.lock().unwrap_or_else(PoisonError::into_inner)
        }
    }

    impl RunLog {
        pub(crate) fn with_capacity(capacity: usize) -> Writer {
            let (bytes, is_closed) = (Mutex::new((Vec::new(), 0)), AtomicBool::new(false));
            let shared = Arc::new(Shared { bytes, is_closed, capacity });
            Writer { shared, scratch: [0; 512] }
        }

        pub fn end(&self) -> usize {
            self.0.bytes().0.len()
        }

        pub fn take<T>(&self, end: usize, each: impl FnOnce(&[u8]) -> T) -> T {
            let mut guard = self.0.bytes();
            let (bytes, taken) = &mut *guard;
            let end = end.min(bytes.len());
            let value = each(bytes.get(*taken..end).unwrap_or_default());
            *taken = end.max(*taken);
            value
        }

        pub fn close(&self) {
            self.0.is_closed.store(true, Ordering::Relaxed);
        }

        pub fn is_same(&self, other: &RunLog) -> bool {
            Arc::ptr_eq(&self.0, &other.0)
        }
    }

    impl Writer {
        pub(crate) fn reader(&self) -> RunLog {
            RunLog(self.shared.clone())
        }

        pub(crate) fn is_closed(&self) -> bool {
            self.shared.is_closed.load(Ordering::Relaxed)
        }

        pub(crate) fn room<const N: usize>(&mut self) -> Option<&mut [u8; N]> {
            let has_room = self.shared.bytes().0.len() + N <= self.shared.capacity;
            self.scratch.first_chunk_mut().filter(|_| has_room)
        }

        pub(crate) fn keep<const N: usize>(&mut self, used: usize) {
            let bytes = self.scratch.get(..used.min(N)).unwrap_or_default();
            self.shared.bytes().0.extend(bytes);
        }

        pub(crate) fn restart(&mut self) {
            *self.shared.bytes() = (Vec::new(), 0);
            self.shared.is_closed.store(false, Ordering::Relaxed);
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

    fn take(log: &RunLog) -> Vec<u8> {
        log.take(log.end(), <[u8]>::to_vec)
    }

    #[test]
    fn each_byte_is_taken_once() {
        let mut writer = RunLog::with_capacity(32);
        let log = writer.reader();
        assert!(append(&mut writer, &[1, 2]));
        let end = log.end();
        assert!(append(&mut writer, &[3]));
        assert_eq!(log.take(end, <[u8]>::to_vec), [1, 2]);
        assert_eq!(log.take(end, <[u8]>::len), 0);
        assert_eq!(take(&log), [3]);
        assert!(take(&log).is_empty());
    }

    #[test]
    fn a_full_log_has_no_room_until_it_is_restarted() {
        let mut writer = RunLog::with_capacity(16);
        let log = writer.reader();
        assert!(append(&mut writer, &[7; 8]) && append(&mut writer, &[8]));
        assert!(!append(&mut writer, &[9]), "eight bytes are asked for, seven are left");
        log.close();
        assert!(writer.is_closed());
        assert_eq!(take(&log).len(), 9);
        writer.restart();
        assert!(!writer.is_closed());
        assert!(append(&mut writer, &[1]));
        assert_eq!(take(&log), [1]);
    }

    #[test]
    fn an_end_that_was_read_before_a_restart_takes_nothing_beyond_the_new_end() {
        let mut writer = RunLog::with_capacity(16);
        let log = writer.reader();
        append(&mut writer, &[1, 2, 3]);
        let end = log.end();
        writer.restart();
        assert_eq!(log.take(end, <[u8]>::len), 0);
        append(&mut writer, &[4]);
        assert_eq!(take(&log), [4]);
    }

    #[test]
    fn a_thread_that_takes_while_another_appends_misses_nothing() {
        let mut writer = RunLog::with_capacity(200_000);
        let log = writer.reader();
        let appender = thread::spawn(move || {
            for n in 0..20_000_u32 {
                assert!(append(&mut writer, &n.to_be_bytes()));
            }
        });
        let mut all = Vec::new();
        while !appender.is_finished() || log.end() > all.len() {
            all.extend(take(&log));
        }
        appender.join().expect("it appends");
        let expected: Vec<u8> = (0..20_000_u32).flat_map(u32::to_be_bytes).collect();
        assert_eq!(all, expected);
    }
}
