//! Timers that tell an actor later, and a limit on the rate of calls.
//!
//! [`This::after`](crate::This::after) and [`This::every`](crate::This::every) return a [`Timer`], which
//! ends with its actor. A [`RateLimiter`] allows so many events in any span of time of one length.

pub use wigwag_actor::{RateLimiter, Timer, TimerError};
