//! Turns of the threads that send on one socket at the same time.
//!
//! The state of a socket covers some ten cache lines, which threads that send at once fetch from each
//! other for every message. So one thread at a time sends while they do, and the others sleep: `push 16 B
//! tcp, 8 threads` of the lab takes 0.16 us of the sender's processor time a message, and 0.30 us
//! without turns.
//!
//! A turn ends when the socket is written, once its thread has sent [`TURN_MESSAGES`], or has paused.
//! The write comes by itself, since what the thread has sent waits for it. Where it does not come within
//! [`WAIT_MAX`], because the peer does not read, the thread that waits takes its turn.

use std::collections::VecDeque;
use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use crate::sync::{AtomicBool, AtomicUsize, Ordering};

/// Messages of a turn. A change of turns costs some microseconds, and a message some 50 ns.
const TURN_MESSAGES: u32 = 1024;

/// Turns begin when so many messages come from another thread than the one before, between two writes.
const CHANGES_MIN: u32 = 16;

/// A thread waits at most this long for its turn. The limit is for peers that do not read: a send may
/// not fail to return while there is room.
const WAIT_MAX: Duration = Duration::from_millis(1);

thread_local! {
    static PLACE: u8 = const { 0 };
}

/// A thread, by the address of a place that only it has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sender(usize);

impl Sender {
    const NOBODY: Sender = Sender(0);

    /// The calling thread.
    #[inline]
    pub(crate) fn current() -> Sender {
        PLACE.with(|place| Sender(ptr::from_ref(place).addr()))
    }
}

/// The turns of one socket.
#[derive(Default)]
pub(crate) struct SenderTurns {
    /// The [`Sender`] whose turn it is; [`Sender::NOBODY`]: every thread may send.
    owner: AtomicUsize,
    waiting: Mutex<VecDeque<Arc<WaitingThread>>>,
}

struct WaitingThread {
    sender: Sender,
    thread: Thread,
    has_turn: AtomicBool,
}

impl Wake for WaitingThread {
    fn wake(self: Arc<Self>) {
        self.thread.unpark();
    }
}

/// Messages and senders since the last write. Belongs to the state behind the socket's lock.
#[derive(Default)]
pub(crate) struct SentSinceWrite {
    last_sender: Sender,
    changes: u32,
    /// Messages of this turn.
    messages: u32,
}

impl SenderTurns {
    /// Blocks the calling thread, `sender`, while it is the turn of another one.
    #[inline]
    pub(crate) fn wait(&self, sender: Sender) {
        let owner = self.owner();
        if owner != Sender::NOBODY && owner != sender {
            self.wait_for_turn(sender, WAIT_MAX);
        }
    }

    #[cold]
    fn wait_for_turn(&self, sender: Sender, limit: Duration) {
        let begun = Instant::now();
        let (thread, has_turn) = (thread::current(), AtomicBool::new(false));
        let here = Arc::new(WaitingThread { sender, thread, has_turn });
        {
            let mut waiting = self.lock();
            // The last turn ends under this lock.
            if self.owner() == Sender::NOBODY {
                return;
            }
            waiting.push_back(here.clone());
        }
        while !here.has_turn.load(Ordering::Acquire) {
            let left = limit.saturating_sub(begun.elapsed());
            if left.is_zero() {
                self.take(&here);
                return;
            }
            thread::park_timeout(left);
        }
    }

    /// Takes the turn from a thread that does not end it.
    fn take(&self, here: &Arc<WaitingThread>) {
        let mut waiting = self.lock();
        if let Some(place) = waiting.iter().position(|other| Arc::ptr_eq(other, here)) {
            waiting.remove(place);
            self.owner.store(here.sender.0, Ordering::Relaxed);
        }
    }

    /// Gives the turn to the thread that has waited longest, and returns its waker. If none waits, every
    /// thread may send.
    fn pass(&self) -> Option<Waker> {
        let mut waiting = self.lock();
        let next = waiting.pop_front();
        let owner = next.as_ref().map_or(Sender::NOBODY, |next| next.sender);
        self.owner.store(owner.0, Ordering::Relaxed);
        next.map(|next| {
            next.has_turn.store(true, Ordering::Release);
            Waker::from(next)
        })
    }

    /// The turn orders nothing but itself: the socket's lock guards the messages.
    fn owner(&self) -> Sender {
        Sender(self.owner.load(Ordering::Relaxed))
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<Arc<WaitingThread>>> {
        // The queue is consistent between two statements, so a panic elsewhere has broken nothing.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SentSinceWrite {
    /// Counts a message of `sender`, which may begin turns.
    #[inline]
    pub(crate) fn count(&mut self, sender: Sender, turns: &SenderTurns) {
        self.messages = self.messages.saturating_add(1);
        if self.last_sender != sender {
            self.last_sender = sender;
            self.changes += 1;
            if self.changes >= CHANGES_MIN {
                self.begin(sender, turns);
            }
        }
    }

    #[cold]
    fn begin(&mut self, sender: Sender, turns: &SenderTurns) {
        self.changes = 0;
        let (nobody, order) = (Sender::NOBODY.0, Ordering::Relaxed);
        if turns.owner.compare_exchange(nobody, sender.0, order, order).is_ok() {
            self.messages = 1;
        }
    }

    /// Notes that `messages` are being written, and returns the waker of the thread whose turn begins.
    #[inline]
    pub(crate) fn written(&mut self, messages: usize, turns: &SenderTurns) -> Option<Waker> {
        // Threads that send now and then change as often, but not between two writes.
        self.changes = if messages == 0 { 0 } else { self.changes / 2 };
        if turns.owner() == Sender::NOBODY {
            return None;
        }
        let has_paused = messages == 0 && self.messages > 0;
        if self.messages < TURN_MESSAGES && !has_paused {
            return None;
        }
        self.messages = 0;
        turns.pass()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Sender = Sender(1);
    const OTHER: Sender = Sender(2);

    /// Counts messages of the two in turn, and returns whose turn it is then.
    fn alternate(sent: &mut SentSinceWrite, messages: u32, turns: &SenderTurns) -> Sender {
        for number in 0..messages {
            sent.count(if number % 2 == 0 { ONE } else { OTHER }, turns);
        }
        turns.owner()
    }

    /// Starts a thread that waits for its turn, and returns when it is in the queue.
    fn waiting_thread(turns: &Arc<SenderTurns>) -> thread::JoinHandle<Sender> {
        let (theirs, before) = (turns.clone(), turns.lock().len());
        let waiting = thread::spawn(move || {
            let (sender, begun, limit) =
                (Sender::current(), Instant::now(), Duration::from_secs(60));
            theirs.wait_for_turn(sender, limit);
            assert!(begun.elapsed() < limit);
            sender
        });
        while turns.lock().len() <= before {
            thread::yield_now();
        }
        waiting
    }

    #[test]
    fn threads_that_alternate_between_two_writes_get_turns() {
        let (turns, mut sent) = (SenderTurns::default(), SentSinceWrite::default());
        assert_eq!(alternate(&mut sent, CHANGES_MIN - 1, &turns), Sender::NOBODY);
        assert!(sent.written(0, &turns).is_none());
        // The first message comes from the thread that has sent last.
        assert_eq!(alternate(&mut sent, CHANGES_MIN, &turns), Sender::NOBODY);
        assert!(sent.written(1, &turns).is_none());
        assert_eq!(alternate(&mut sent, CHANGES_MIN / 2 + 1, &turns), ONE);
    }

    #[test]
    fn one_thread_gets_no_turn_however_much_it_sends() {
        let (turns, mut sent) = (SenderTurns::default(), SentSinceWrite::default());
        (0..10 * TURN_MESSAGES).for_each(|_| sent.count(ONE, &turns));
        assert_eq!(turns.owner(), Sender::NOBODY);
    }

    #[test]
    fn a_turn_ends_at_a_write_after_its_messages_or_a_pause() {
        let (turns, mut sent) = (SenderTurns::default(), SentSinceWrite::default());
        for messages in [TURN_MESSAGES, 1] {
            let owner = alternate(&mut sent, CHANGES_MIN, &turns);
            assert_eq!(owner, OTHER);
            (1..messages - 1).for_each(|_| sent.count(owner, &turns));
            assert!(sent.written(1, &turns).is_none());
            assert_eq!(turns.owner(), owner, "not before {messages}");
            sent.count(owner, &turns);
            let is_full = messages == TURN_MESSAGES;
            assert!(sent.written(usize::from(is_full), &turns).is_none());
            assert_eq!(turns.owner(), Sender::NOBODY, "none waits");
        }
    }

    /// Before that the thread is not awake yet, and a write without messages is no pause of it.
    #[test]
    fn a_turn_lasts_until_its_thread_has_sent() {
        let (turns, mut sent) = (Arc::new(SenderTurns::default()), SentSinceWrite::default());
        alternate(&mut sent, CHANGES_MIN, &turns);
        let first = waiting_thread(&turns);
        sent.written(0, &turns).unwrap().wake();
        let first = first.join().unwrap();
        for _ in 0..3 {
            assert!(sent.written(0, &turns).is_none());
            assert_eq!(turns.owner(), first);
        }
        sent.count(first, &turns);
        assert!(sent.written(0, &turns).is_none());
        assert_eq!(turns.owner(), Sender::NOBODY);
    }

    #[test]
    fn a_thread_takes_a_turn_that_does_not_end() {
        let (turns, mut sent) = (SenderTurns::default(), SentSinceWrite::default());
        alternate(&mut sent, CHANGES_MIN, &turns);
        let (begun, here) = (Instant::now(), Sender::current());
        turns.wait(here);
        assert!(begun.elapsed() >= WAIT_MAX);
        assert_eq!(turns.owner(), here);
        assert!(turns.lock().is_empty());
        turns.wait(here);
    }
}
