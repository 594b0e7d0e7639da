//! A stream of items as an argument or a reply.
//!
//! Its items come from a source (`source.rs`): the queue of a sender (`queue.rs`), a stream of another
//! library, or a session (`received.rs`). In a process the reader takes them from there. To another
//! process it goes as a number; when the call has been sent, a task takes the items from their source
//! and sends them (`forward.rs`).

pub(crate) mod reader;
pub(crate) mod received;
pub(crate) mod queue;
pub(crate) mod source;
mod forward;

use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};

use futures_core::Stream;
use wigwag_actor::turn::in_turns;
use wigwag_actor::{CallError, CallErrorKind};
use wigwag_wire::{Buffer, Decode, DecodeError, Encode, Reader};

use forward::forward;
use queue::{ItemSender, failed, queue};
use received::ReceivedItems;
use source::Source;

use crate::lock::lock;
use crate::session::Session;
use crate::session::receive::items::SentItems;
use crate::session::references::scope;
use crate::session::stream_values::UnsentStream;
use crate::streams::inbox::Failure;
use crate::streams::value;

/// A stream of items as an argument of a call: the caller gives its producer, and the handler takes
/// the items, in the same process or in another.
///
/// ```
/// use wigwag::{Actor, Items};
///
/// struct Store;
///
/// #[wigwag::actor]
/// impl Store {
///     /// Returns the sum of the rows.
///     pub async fn upload(&mut self, mut rows: Items<u64>) -> Result<u64, String> {
///         let mut sum = 0;
///         while let Some(row) = rows.next().await {
///             sum += row.map_err(|error| error.to_string())?;
///         }
///         Ok(sum)
///     }
/// }
///
/// # #[wigwag::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let store = Store.spawn();
/// let (mut sender, rows) = Items::channel(16);
/// let upload = store.upload(rows).ask().sent().await?;
/// for row in 0..100 {
///     sender.send(row).await?;
/// }
/// sender.finish();
/// assert_eq!(upload.await?, Ok(4950));
/// # Ok(()) }
/// ```
///
/// [`channel`](Self::channel) makes one with an [`ItemSender`], and
/// [`from_stream`](Self::from_stream) one of any `Stream` of another library; it is such a `Stream`
/// itself. A handler may move it into a task, or send it on in a call of its own. It may be within
/// other arguments, and in a reply.
///
/// # Credit
/// The producer is as many items ahead of the reader as its queue has room for. A reader in another
/// process grants credit besides, 512 KiB for each stream, and less when it reads very many; an item
/// of up to some 55 bytes takes 64 of it. Without credit the producer waits, and nothing else does:
/// memory stays constant however slow the reader is. Nothing crosses the network before the handler
/// has been given the stream.
///
/// # The end
/// The reader gets every item in order and then one end: `None`, or one error and then `None`. It is
/// the error of the producer, or `Unknown` when the session has ended; a cut is no end: the stream
/// goes on where it was. Dropping it tells the producer at once ([`ItemSender::closed`]), and so does
/// a call that does not reach its handler: there is no such method, other arguments are wrong, the
/// actor has stopped.
///
/// # Errors
/// A call with a stream to a node of an earlier release, which knows no such streams, fails with
/// [`NotSerializable`](CallErrorKind::NotSerializable), and nothing is sent.
///
/// # Limits
/// An item is at most one frame of the reader's node, 64 KiB encoded. A session sends at most
/// [`STREAM_VALUES_MAX`](crate::limits::STREAM_VALUES_MAX) streams at a time; those that it reads
/// share 256 MiB with the streams that answer calls, and those of a node a sixteenth of
/// `NodeOptions::peer_memory`; beyond that a stream fails with `Overloaded`.
#[must_use = "dropping a stream tells its producer that nobody reads it"]
pub struct Items<T: Send + 'static> {
    /// Taken out when it is sent to another process, and at the end.
    source: Arc<Mutex<Option<Source<T>>>>,
}

impl<T: Send + 'static> Items<T> {
    pub(crate) fn new(source: Source<T>) -> Items<T> {
        Items { source: Arc::new(Mutex::new(Some(source))) }
    }

    /// A stream and its sender, which may be `ahead` items ahead of the reader, from 1 to
    /// [`ITEMS_AHEAD_MAX`](wigwag_actor::limits::ITEMS_AHEAD_MAX).
    pub fn channel(ahead: usize) -> (ItemSender<T>, Items<T>) {
        let (sender, reader) = queue(ahead);
        (sender, Items::new(Source::Queue(reader)))
    }

    /// The items of a stream of another library. It runs in the task that reads, or, for a reader in
    /// another process, in a task of the node.
    pub fn from_stream(stream: impl Stream<Item = T> + Send + 'static) -> Items<T> {
        Items::of_stream(stream, Ok)
    }

    /// Items of a stream that may fail: its first error ends it, with
    /// [`Application`](CallErrorKind::Application) and the error's text.
    pub fn from_fallible_stream<E: fmt::Display>(
        stream: impl Stream<Item = Result<T, E>> + Send + 'static,
    ) -> Items<T> {
        Items::of_stream(stream, |item| {
            item.map_err(|why| (CallErrorKind::Application(0x8000), why.to_string().into()))
        })
    }

    fn of_stream<S>(stream: S, item: fn(S::Item) -> Result<T, Failure>) -> Items<T>
    where
        S: Stream + Send + 'static,
    {
        let mut stream = Box::pin(stream);
        Items::new(Source::Stream(Box::new(move |context| {
            stream.as_mut().poll_next(context).map(|next| next.map(item))
        })))
    }

    /// The next item; `None` after the end.
    ///
    /// # Errors
    /// Why the stream has ended without all items. After an error there is only `None`.
    ///
    /// # Cancellation
    /// The future may be dropped at any time: no item is lost.
    #[expect(clippy::should_implement_trait, reason = "it is that of streams, which wait")]
    pub fn next(&mut self) -> impl Future<Output = Option<Result<T, CallError>>> + Send {
        poll_fn(|context| self.poll_next_item(context))
    }

    fn poll_next_item(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<T, CallError>>> {
        let mut source = lock(&self.source);
        let Some(open) = &mut *source else { return Poll::Ready(None) };
        let end = match open.poll_next(context) {
            Poll::Pending => return Poll::Pending,
            Poll::Ready(Some(Ok(item))) => return Poll::Ready(Some(Ok(item))),
            Poll::Ready(Some(Err(failure))) => Some(failure),
            Poll::Ready(None) => None,
        };
        let over = source.take();
        drop(source);
        Poll::Ready(end.map(|(kind, text)| {
            let target = match &over {
                Some(Source::Session(items, _)) => items.peer().clone(),
                _ => "a stream of this process".into(),
            };
            Err(failed(kind, &text, &target))
        }))
    }
}

/// Sending one to another process begins when the call has been sent.
impl<T: Encode + Send + 'static> Encode for Items<T> {
    const TRAVELS: bool = T::TRAVELS;

    fn encode(&self, out: &mut Buffer) {
        let number = scope::encode_stream(|session| {
            let outlet = session.reserve_stream()?;
            let (source, sent) = (self.source.clone(), outlet.clone());
            let begin = move |session: &Arc<Session>| {
                let source = lock(&source).take();
                let ended = || Source::Failed((CallErrorKind::Cancelled, "it had ended".into()));
                let sink = SentItems::of_value(session, sent);
                session.run(in_turns(forward(sink, source.unwrap_or_else(ended))));
            };
            Ok(UnsentStream::new(session, outlet, Box::new(begin)))
        });
        match number {
            Some(number) => value::put(out, number),
            // Written again for the session, or refused.
            None => ().encode(out),
        }
    }
}

impl<'a, T: for<'b> Decode<'b> + Send + 'static> Decode<'a> for Items<T> {
    fn decode(reader: &mut Reader<'a>) -> Result<Items<T>, DecodeError> {
        let number = value::take(reader)?;
        let session = scope::read_stream(number)?;
        Ok(Items::new(match ReceivedItems::open(&session, number)? {
            Some(items) => Source::Session(Box::new(items), |reader| T::decode(reader)),
            None => {
                let why = "the streams that its node reads take all the room that they may: end some, or raise \
                           `NodeOptions::peer_memory` there";
                session.refuse_streams(&[number], CallErrorKind::Overloaded, why);
                Source::Failed((CallErrorKind::Overloaded, why.into()))
            }
        }))
    }
}

impl<T: Send + 'static> Stream for Items<T> {
    type Item = Result<T, CallError>;

    fn poll_next(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<T, CallError>>> {
        self.get_mut().poll_next_item(context)
    }
}

impl<T: Send + 'static> fmt::Debug for Items<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Items").finish_non_exhaustive()
    }
}
