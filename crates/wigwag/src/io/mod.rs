//! Streams, listeners, files and child processes that an actor owns.
//!
//! Input arrives as ordinary messages of the actor; all it takes is the actor's reference and the
//! method that takes them. A reader takes no more from the other side than the actor has credit
//! for, so a slow actor makes its peer wait and nothing accumulates in between. The end is a
//! message too, the last one. Output waits in a bounded queue of bytes, which hands back data that
//! it has no room for. When the actor ends, everything that it owns ends with it.
//!
//! Read in this order: `limits` has the numbers, `event` what arrives, `credit` how much of it may
//! wait, `splitter` makes lines, `delivery` reaches the actor, `keeper` ends things with it, `reader` and
//! `writer` move the bytes (all in `task`). Then come the things themselves: `stream`, `listener`, `file`, `follow`, `child`.
//!
//! ```
//! use wigwag::io::{self, Event, Line, Output};
//! use wigwag::{Actor, Life, Reason, This};
//!
//! /// Says every line back to a client.
//! struct Echo {
//!     stream: Option<tokio::net::TcpStream>,
//!     output: Option<Output>,
//! }
//!
//! #[wigwag::actor(life)]
//! impl Echo {
//!     pub async fn heard(&mut self, event: Event<Line>) {
//!         match event {
//!             Event::Got(line) => {
//!                 let mut answer = line.into_bytes().to_vec();
//!                 answer.push(b'\n');
//!                 if let Some(output) = &self.output {
//!                     // Waits while the client does not read; then nothing more is read from it.
//!                     let _ = output.write(answer).await;
//!                 }
//!             }
//!             // Without the stream nobody refers to this actor, and it is done.
//!             Event::TooLong { .. } | Event::End(_) => self.output = None,
//!         }
//!     }
//! }
//!
//! impl Life for Echo {
//!     async fn started(&mut self, this: &This<Self>) -> Result<(), Reason> {
//!         let stream = self.stream.take().ok_or(Reason::failed("started twice"))?;
//!         let delivered = io::lines(stream).deliver(&this.reference(), EchoRef::heard);
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
//! Dropping an [`Input`] changes nothing; [`Input::close`] ends it. Dropping the last [`Output`] has
//! what waits in it written and the other side told that no more will come.
//!
//! # Mailboxes
//! The actor's mailbox must let senders wait, which is the default of
//! [`WhenFull`](crate::WhenFull): one that drops calls would drop lines, and one that refuses ends
//! the input.

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
