//! Tells that were lost: counted for the whole process, and reported to subscribers.
//!
//! A tell is lost when its actor has ended, does not understand it, or drops it because its mailbox is
//! full. Use [`losses`] for a counter in a dashboard, and [`dead_letters`] to log single ones while a
//! program is debugged.
//!
//! ```
//! let before = wigwag::dead_letters::losses();
//! # let _ = before;
//! ```

pub use wigwag_actor::{
    DeadLetter, DeadLetterEvent, DeadLetters, Loss, Losses, dead_letters, losses,
};
