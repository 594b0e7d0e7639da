//! A stream of bytes, in both directions or in one.

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

/// A stream that is not read yet.
#[must_use = "nothing is read until it is delivered"]
#[derive(Debug)]
pub struct Stream<P, S> {
    stream: S,
    limits: Limits,
    piece: PhantomData<fn() -> P>,
}

/// Something to be read that is not read yet.
#[must_use = "nothing is read until it is delivered"]
#[derive(Debug)]
pub struct Reading<P, R> {
    source: R,
    limits: Limits,
    piece: PhantomData<fn() -> P>,
}

/// A stream whose lines are to be messages, a `tokio::net::TcpStream` for instance.
pub fn lines<S>(stream: S) -> Stream<Line, S> {
    Stream { stream, limits: Limits::default(), piece: PhantomData }
}

/// A stream whose bytes are to be messages, as they come.
pub fn chunks<S>(stream: S) -> Stream<Chunk, S> {
    Stream { stream, limits: Limits::default(), piece: PhantomData }
}

/// Makes a read-only stream: from a file, or one half of a stream.
pub fn lines_of<R>(source: R) -> Reading<Line, R> {
    Reading { source, limits: Limits::default(), piece: PhantomData }
}

/// Makes a read-only stream of chunks: from a file, or one half of a stream.
pub fn chunks_of<R>(source: R) -> Reading<Chunk, R> {
    Reading { source, limits: Limits::default(), piece: PhantomData }
}

impl<P: Piece, S: AsyncRead + AsyncWrite + Send + 'static> Stream<P, S> {
    /// Other limits than the usual ones.
    pub fn limits(mut self, limits: Limits) -> Stream<P, S> {
        self.limits = limits;
        self
    }

    /// Gives the stream to an actor: what comes is told to it by `call`, one of its methods. While the
    /// input lasts, it counts as a reference to the actor. The stream is closed when both directions
    /// have ended, and when the actor has.
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
        let (output, writing) = writer(sink, &self.limits);
        let (input, reading) = start_reader(source, self.limits, to);
        let writer = Some((tokio::spawn(writing), output.queue()));
        stop_with_actor(actor, OwnedTasks { reader: Some(crate::spawn(reading)), writer });
        Ok((input, output))
    }
}

impl<P: Piece, S: AsyncRead + Unpin + Send + 'static> Reading<P, S> {
    /// Other limits than the usual ones.
    pub fn limits(mut self, limits: Limits) -> Reading<P, S> {
        self.limits = limits;
        self
    }

    /// Gives it to an actor, as [`Stream::deliver`] does.
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

/// An input, and what reads for it.
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
