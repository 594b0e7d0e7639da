//! Tells that were lost: counted for the whole process, and told to whoever wants to know.
//!
//! Only the ways on which a call is lost come here, so nothing is paid where nothing is. An ask is
//! not counted: its asker hears what became of it.

use std::fmt;
use std::sync::OnceLock;

use tokio::sync::broadcast::{self, error::RecvError};

use crate::limits::LETTERS_MAX;
use crate::schema::Schema;
use crate::sync::{AtomicU64, Ordering};

/// How a tell was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// Its actor had ended, or let nothing in any more: its sender has it back.
    Refused,
    /// It was let in, or was on its way in, and its actor ended before it was handled.
    Ended,
    /// There was no room, and the mailbox's rule is to [drop](crate::WhenFull) one then.
    NoRoom,
}

/// A tell that was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// How it was lost.
    pub loss: Loss,
    /// The type of the actor that it was for.
    pub actor: &'static str,
    /// The actor's [number](crate::Handle::number).
    pub number: u64,
    /// The method that was called; `?` when the actor has none of that number.
    pub method: &'static str,
}

/// How many tells this process has lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    /// Of [`Loss::Refused`].
    pub refused: u64,
    /// Of [`Loss::Ended`].
    pub ended: u64,
    /// Of [`Loss::NoRoom`].
    pub no_room: u64,
}

static REFUSED: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
static NO_ROOM: AtomicU64 = AtomicU64::new(0);

/// There when somebody has subscribed.
static LETTERS: OnceLock<broadcast::Sender<DeadLetter>> = OnceLock::new();

/// Tells to actors of this process that were lost since it began.
pub fn losses() -> Losses {
    // Counts alone: nothing else is read because of them.
    Losses {
        refused: REFUSED.load(Ordering::Relaxed),
        ended: ENDED.load(Ordering::Relaxed),
        no_room: NO_ROOM.load(Ordering::Relaxed),
    }
}

/// Subscribes to every lost tell from now on. [`LETTERS_MAX`] of them wait for a subscriber; a
/// slower subscriber misses the oldest and is told how many.
pub fn dead_letters() -> DeadLetters {
    let letters = LETTERS.get_or_init(|| broadcast::channel(LETTERS_MAX).0);
    DeadLetters(letters.subscribe())
}

/// Lost tells, as they are lost. Dropping it ends the subscription.
pub struct DeadLetters(broadcast::Receiver<DeadLetter>);

/// An event of a subscription.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DeadLetterEvent {
    /// This tell was lost.
    Letter(DeadLetter),
    /// The number of lost tells that were not reported because this subscriber was too slow.
    Missed(u64),
}

impl DeadLetters {
    /// The next one.
    ///
    /// # Cancellation
    /// Dropped while it waits, nothing is missed.
    pub async fn next(&mut self) -> DeadLetterEvent {
        loop {
            match self.0.recv().await {
                Ok(letter) => return DeadLetterEvent::Letter(letter),
                Err(RecvError::Lagged(missed)) => return DeadLetterEvent::Missed(missed),
                // Not while the process lives.
                Err(RecvError::Closed) => std::future::pending().await,
            }
        }
    }
}

impl fmt::Debug for DeadLetters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeadLetters({} wait)", self.0.len())
    }
}

/// The origin of the calls in a queue.
pub(crate) struct Origin<M> {
    pub(crate) number: u64,
    pub(crate) schema: &'static Schema,
    pub(crate) method: fn(&M) -> u32,
}

impl<M> Clone for Origin<M> {
    fn clone(&self) -> Origin<M> {
        *self
    }
}

impl<M> Copy for Origin<M> {}

impl<M> Origin<M> {
    pub(crate) fn lost(&self, loss: Loss, message: &M) {
        self.lost_method(loss, (self.method)(message));
    }

    #[cold]
    pub(crate) fn lost_method(&self, loss: Loss, method: u32) {
        let count = match loss {
            Loss::Refused => &REFUSED,
            Loss::Ended => &ENDED,
            Loss::NoRoom => &NO_ROOM,
        };
        count.fetch_add(1, Ordering::Relaxed);
        let Some(letters) = LETTERS.get() else { return };
        let (actor, method) = (self.schema.name, self.schema.method_name(method));
        // Nobody subscribes at the moment: that is no error.
        let _ = letters.send(DeadLetter { loss, actor, number: self.number, method });
    }
}
