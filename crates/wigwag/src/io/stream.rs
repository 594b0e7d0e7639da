//! Byte streams, in both directions or in one.

use std::marker::PhantomData;

use tokio::io::{AsyncRead, AsyncWrite};
use wigwag_actor::{Call, CallError, Interface, Ref};

use super::event::{Chunk, Event, Line, Piece};
use super::limits::Limits;
use super::task::credit::Credit;
use super::task::owned::{OwnedTasks, stop_with_actor};
use super::task::reader::{Input, Reader, run_to_end};
use super::task::recipient::{ActorRecipient, Recipient};
use super::task::writer::{Output, writer};

/// A stream in both directions that is not read yet, from [`lines`] or [`chunks`]; see [the
/// module](crate::io) for an example.
#[must_use = "nothing is read until it is delivered"]
#[derive(Debug)]
pub struct Stream<P, S> {
    stream: S,
    limits: Limits,
    piece: PhantomData<fn() -> P>,
}

/// A source that is not read yet, from [`lines_of`] or [`chunks_of`]; see
/// [`Writing`](super::Writing) for an example.
#[must_use = "nothing is read until it is delivered"]
#[derive(Debug)]
pub struct Reading<P, R> {
    source: R,
    limits: Limits,
    piece: PhantomData<fn() -> P>,
}

/// Prepares a stream, such as a `tokio::net::TcpStream`, whose lines become messages. See [the
/// module](crate::io) for an example.
pub fn lines<S>(stream: S) -> Stream<Line, S> {
    Stream { stream, limits: Limits::default(), piece: PhantomData }
}

/// Prepares a stream whose bytes become messages, as they arrive. It works like [`lines`], with
/// [`Chunk`] in place of [`Line`].
pub fn chunks<S>(stream: S) -> Stream<Chunk, S> {
    Stream { stream, limits: Limits::default(), piece: PhantomData }
}

/// Prepares a source that can only be read, such as a file or one half of a stream: its lines
/// become messages. See [`Writing`](super::Writing) for an example.
pub fn lines_of<R>(source: R) -> Reading<Line, R> {
    Reading { source, limits: Limits::default(), piece: PhantomData }
}

/// Prepares a source that can only be read, such as a file or one half of a stream: its bytes
/// become messages, as they arrive. It works like [`lines_of`], with [`Chunk`] in place of
/// [`Line`].
pub fn chunks_of<R>(source: R) -> Reading<Chunk, R> {
    Reading { source, limits: Limits::default(), piece: PhantomData }
}

impl<P: Piece, S: AsyncRead + AsyncWrite + Send + 'static> Stream<P, S> {
    /// Sets limits other than the defaults.
    pub fn limits(mut self, limits: Limits) -> Stream<P, S> {
        self.limits = limits;
        self
    }

    /// Delivers the stream to an actor: each event becomes a tell by `call`, one of the actor's
    /// methods. While the input lasts, it counts as a reference to the actor. The stream is closed
    /// when both directions have ended, or the actor has.
    ///
    /// # Errors
    /// `Remote` when the actor lives in another process.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn deliver<I, R, F>(
        self,
        to: &impl AsRef<Ref<I>>,
        call: F,
    ) -> Result<(Input, Output), CallError>
    where
        I: Interface,
        R: 'static,
        F: for<'a> Fn(&'a I::Ref, Event<P>) -> Call<'a, I, R> + Send + Sync + 'static,
    {
        let (to, actor) = ActorRecipient::new(to, call)?;
        let (source, sink) = tokio::io::split(self.stream);
        let (output, writing) = writer(sink, &self.limits, true);
        let (input, reading) = start_reader(source, self.limits, to);
        let writer = Some((tokio::spawn(writing), output.queue()));
        stop_with_actor(actor, OwnedTasks { reader: Some(crate::spawn(reading)), writer });
        Ok((input, output))
    }
}

impl<P: Piece, S: AsyncRead + Unpin + Send + 'static> Reading<P, S> {
    /// Sets limits other than the defaults.
    pub fn limits(mut self, limits: Limits) -> Reading<P, S> {
        self.limits = limits;
        self
    }

    /// Delivers the source to an actor, as [`Stream::deliver`] does.
    ///
    /// # Errors
    /// `Remote` when the actor lives in another process.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    pub fn deliver<I, R, F>(self, to: &impl AsRef<Ref<I>>, call: F) -> Result<Input, CallError>
    where
        I: Interface,
        R: 'static,
        F: for<'a> Fn(&'a I::Ref, Event<P>) -> Call<'a, I, R> + Send + Sync + 'static,
    {
        let (to, actor) = ActorRecipient::new(to, call)?;
        let (input, reading) = start_reader(self.source, self.limits, to);
        stop_with_actor(actor, OwnedTasks { reader: Some(crate::spawn(reading)), writer: None });
        Ok(input)
    }
}

/// An input, and the future that reads for it.
fn start_reader<P: Piece>(
    source: impl AsyncRead + Unpin + Send + 'static,
    limits: Limits,
    to: impl Recipient<Event<P>>,
) -> (Input, impl Future<Output = ()> + Send + 'static) {
    let credit = Credit::new(&limits);
    let input = Input::new(credit.clone());
    let stop = input.clone();
    let reading = async move {
        let reader = Reader { source, limits, credit, exited: None };
        run_to_end(reader.run(&to, std::convert::identity), stop, &to, Event::End).await;
    };
    (input, reading)
}
