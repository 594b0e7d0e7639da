//! Streams, listeners, files and child processes that an actor owns.
//!
//! Input arrives as ordinary messages of the actor, given its reference and the method that takes
//! them. The reader takes no more from the other side than the actor has credit for, so a slow actor
//! makes its peer wait and nothing piles up in between. The end is a message too, the last one.
//! Output waits in a bounded queue of bytes, which hands back what it has no room for. When the actor
//! ends, so does all that it owns.
//!
//! ```
//! use wigwag::io::{self, Event, Line, Output};
//! use wigwag::{Actor, Life, Reason, This};
//!
//! /// Sends every line back to its client.
//! struct Echo {
//!     stream: Option<tokio::net::TcpStream>,
//!     output: Option<Output>,
//! }
//!
//! #[wigwag::actor(life)]
//! impl Echo {
//!     pub async fn event(&mut self, event: Event<Line>) {
//!         match event {
//!             Event::Got(line) => {
//!                 let mut answer = line.into_bytes().to_vec();
//!                 answer.push(b'\n');
//!                 if let Some(output) = &self.output {
//!                     // Waits while the client does not read; then nothing more is read from it.
//!                     let _ = output.write(answer).await;
//!                 }
//!             }
//!             // The stream was the last reference to this actor, which ends now.
//!             Event::TooLong { .. } | Event::End(_) => self.output = None,
//!         }
//!     }
//! }
//!
//! impl Life for Echo {
//!     async fn started(&mut self, this: &This<Self>) -> Result<(), Reason> {
//!         let stream = self.stream.take().ok_or(Reason::failed("started twice"))?;
//!         let delivered = io::lines(stream).deliver(&this.reference(), EchoRef::event);
//!         let (_, output) = delivered.map_err(Reason::failed)?;
//!         self.output = Some(output);
//!         Ok(())
//!     }
//! }
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use tokio::io::{AsyncReadExt, AsyncWriteExt};
//!
//! let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
//! let mut client = tokio::net::TcpStream::connect(listener.local_addr()?).await?;
//! let (stream, _) = listener.accept().await?;
//! drop(Echo { stream: Some(stream), output: None }.spawn());
//!
//! client.write_all(b"one\ntwo\n").await?;
//! client.shutdown().await?;
//! let mut answers = String::new();
//! client.read_to_string(&mut answers).await?;
//! assert_eq!(answers, "one\ntwo\n");
//! # Ok(())
//! # }
//! ```
//!
//! # Cancellation
//! Dropping an [`Input`] changes nothing; [`Input::close`] ends it. When the last [`Output`] is dropped,
//! waiting bytes are written and the other side is told that no more will come.
//!
//! # Mailboxes
//! The actor's mailbox must make senders wait, which is the default of
//! [`WhenFull`](crate::WhenFull): a mailbox that drops calls would drop lines, and one that refuses
//! calls ends the input.

// Reading order: `limits`, `event`, then `task` with `credit`, `splitter`, `recipient`, `owned`, `reader`
// and `writer`, then the things themselves: `stream`, `listener`, `file`, `follow`, `child`.

pub mod limits;
mod event;
mod task;
mod stream;
mod listener;
mod file;
mod follow;
mod child;

pub use child::{Child, ChildEvent, Launch, LaunchError, Pipe, child};
pub use event::{Chunk, End, Event, Line};
pub use file::{Writing, append, create, open, write_to};
pub use follow::{Follow, Followed, follow};
pub use limits::Limits;
pub use listener::{Accept, Accepted, accept};
pub use stream::{Reading, Stream, chunks, chunks_of, lines, lines_of};
pub use task::reader::Input;
pub use task::writer::{Output, WriteError, WriteErrorKind};
