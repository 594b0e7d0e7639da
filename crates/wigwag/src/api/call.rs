//! The types behind a call: tells, asks, urgent calls, and the errors of streams.
//!
//! A program rarely names them: `actor.method(..)` returns a [`Call`](crate::Call), and its methods
//! return these. They are needed to store a call that is on its way, for example an [`Ask`] or an
//! [`Answer`] in a struct.
//!
//! ```
//! use wigwag::Actor;
//! use wigwag::call::Answer;
//!
//! struct Sum;
//!
//! #[wigwag::actor]
//! impl Sum {
//!     pub fn add(&mut self, a: i64, b: i64) -> i64 {
//!         a + b
//!     }
//! }
//!
//! # #[wigwag::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
//! let sum = Sum.spawn();
//! let mut answers: Vec<Answer<'_, _, _>> = Vec::new();
//! for n in 0..10 {
//!     answers.push(sum.add(n, n).ask().sent().await?);
//! }
//! for (n, answer) in (0..10).zip(answers) {
//!     assert_eq!(answer.await?, 2 * n);
//! }
//! # Ok(()) }
//! ```

pub use wigwag_actor::{
    Answer, Answerable, Ask, Message, NotSent, PipedReply, Tell, Unsent, Unwanted, Urgent,
};
