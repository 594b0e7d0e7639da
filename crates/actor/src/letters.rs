//! Lost tells: counted for the whole process, and reported to subscribers.
//!
//! Only the paths on which a call is lost come here, so other calls pay nothing. An ask is not
//! counted: its asker gets an error.

use std::borrow::Cow;
use std::fmt;
use std::sync::OnceLock;

use tokio::sync::broadcast::{self, error::RecvError};

use crate::limits::LETTERS_MAX;
use crate::schema::Schema;
use crate::sync::{AtomicU64, Ordering};

/// How a tell was lost.
///
/// [`DeadLetter`] carries it; the example of [`dead_letters`] prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Loss {
    /// Its actor had ended or was closing: the sender has it back.
    Refused,
    /// It was in the mailbox, or on its way there, and its actor ended before it was handled.
    Ended,
    /// There was no room, and the mailbox's rule is to [drop](crate::WhenFull) a call.
    NoRoom,
    /// It came from another process, and its actor did not understand it: the actor has no such
    /// method, or the method takes other arguments. The sender is told ([`Rejected`](Self::Rejected)).
    NotUnderstood,
    /// This process has sent it to an actor of another process, which did not understand it.
    Rejected,
}

/// A tell that was lost; [`dead_letters`] reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeadLetter {
    /// How it was lost.
    pub loss: Loss,
    /// The type of the actor that it was for; its address if the actor is in another process.
    pub actor: Cow<'static, str>,
    /// The actor's [number](crate::Handle::number); 0 if the actor is in another process.
    pub number: u64,
    /// The method that was called; `?` when the actor has none of that number.
    pub method: Cow<'static, str>,
    /// The number of tells that this letter is about: 1, or more for tells that an actor of another
    /// process has [rejected](Loss::Rejected), because a peer reports these together.
    pub tells: u64,
}

/// The number of tells that this process has lost, by the way they were lost.
///
/// [`losses`] returns it; [`dead_letters`] shows each loss by itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Losses {
    /// Tells lost as [`Loss::Refused`].
    pub refused: u64,
    /// Tells lost as [`Loss::Ended`].
    pub ended: u64,
    /// Tells lost as [`Loss::NoRoom`].
    pub no_room: u64,
    /// Tells lost as [`Loss::NotUnderstood`].
    pub not_understood: u64,
    /// Tells lost as [`Loss::Rejected`].
    pub rejected: u64,
}

static REFUSED: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);
static NO_ROOM: AtomicU64 = AtomicU64::new(0);
static NOT_UNDERSTOOD: AtomicU64 = AtomicU64::new(0);
static REJECTED: AtomicU64 = AtomicU64::new(0);

/// Set by the first subscription.
static LETTERS: OnceLock<broadcast::Sender<DeadLetter>> = OnceLock::new();

/// Counts the tells to actors of this process, and the rejected tells to actors of other processes,
/// that were lost since this process began.
pub fn losses() -> Losses {
    // Counts alone: no other data depends on them.
    Losses {
        refused: REFUSED.load(Ordering::Relaxed),
        ended: ENDED.load(Ordering::Relaxed),
        no_room: NO_ROOM.load(Ordering::Relaxed),
        not_understood: NOT_UNDERSTOOD.load(Ordering::Relaxed),
        rejected: REJECTED.load(Ordering::Relaxed),
    }
}

/// Subscribes to the tells that are lost from now on.
///
/// ```
/// # use wigwag_actor::{DeadLetterEvent, dead_letters};
/// # async fn log() {
/// let mut letters = dead_letters();
/// loop {
///     match letters.next().await {
///         DeadLetterEvent::Letter(letter) => eprintln!("{} lost {}", letter.actor, letter.method),
///         DeadLetterEvent::Missed(count) => eprintln!("{count} more were lost"),
///     }
/// }
/// # }
/// ```
///
/// # Limits
/// [`LETTERS_MAX`] wait for each subscriber; a slower subscriber misses the oldest and is told how
/// many.
pub fn dead_letters() -> DeadLetters {
    let letters = LETTERS.get_or_init(|| broadcast::channel(LETTERS_MAX).0);
    DeadLetters(letters.subscribe())
}

/// A subscription to lost tells; [`dead_letters`] creates it, dropping it ends it.
pub struct DeadLetters(broadcast::Receiver<DeadLetter>);

/// An event of a [`DeadLetters`] subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeadLetterEvent {
    /// This tell was lost.
    Letter(DeadLetter),
    /// This many tells were lost and not reported, because the subscriber was too slow.
    Missed(u64),
}

impl DeadLetters {
    /// The next event.
    ///
    /// # Cancellation
    /// If the future is dropped while it waits, no event is missed.
    pub async fn next(&mut self) -> DeadLetterEvent {
        loop {
            match self.0.recv().await {
                Ok(letter) => return DeadLetterEvent::Letter(letter),
                Err(RecvError::Lagged(missed)) => return DeadLetterEvent::Missed(missed),
                // The sender is a static, so this is never reached.
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

/// The actor whose calls a queue holds.
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
        let (actor, method) = (self.schema.name.into(), self.schema.method_name(method).into());
        lose(DeadLetter { loss, actor, number: self.number, method, tells: 1 });
    }
}

/// Counts and reports `tells` tells of this process that the actor at `address`, in another process,
/// did not understand.
#[cold]
pub fn lost_elsewhere(address: &str, method: &str, tells: u64) {
    let (actor, method) = (address.to_owned().into(), method.to_owned().into());
    lose(DeadLetter { loss: Loss::Rejected, actor, number: 0, method, tells });
}

fn lose(letter: DeadLetter) {
    let count = match letter.loss {
        Loss::Refused => &REFUSED,
        Loss::Ended => &ENDED,
        Loss::NoRoom => &NO_ROOM,
        Loss::NotUnderstood => &NOT_UNDERSTOOD,
        Loss::Rejected => &REJECTED,
    };
    count.fetch_add(letter.tells, Ordering::Relaxed);
    if let Some(letters) = LETTERS.get() {
        // Without a current subscriber the send fails, which is no error.
        let _ = letters.send(letter);
    }
}
