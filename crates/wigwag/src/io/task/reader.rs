//! Reads for an actor, as far as its credit goes.

use std::io;
use std::sync::Arc;

use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::sync::{Notify, watch};
use tokio::time::sleep;

use super::credit::{Credit, PieceCredit};
use super::recipient::{ActorGone, Recipient};
use super::splitter::{LineSplitter, SplitItem};
use crate::io::event::{End, Event, Piece};
use crate::io::limits::{Limits, PIPE_SILENCE_MAX};

/// The actor's handle to an input. Clones are the same input; dropping them changes nothing.
#[derive(Clone, Debug)]
pub struct Input {
    credit: Credit,
    stop: Arc<Notify>,
}

impl Input {
    pub(in crate::io) fn new(credit: Credit) -> Input {
        Input { credit, stop: Arc::new(Notify::new()) }
    }

    /// Lets so many pieces more arrive: the only way for them to, when they are
    /// [granted by hand](Limits::granted_by_hand), and more room otherwise. At most
    /// [`GRANTED_MAX`](crate::io::limits::GRANTED_MAX) may be open.
    pub fn grant(&self, pieces: usize) {
        self.credit.grant(pieces);
    }

    /// Stops reading. Pieces that were handed over stay in the mailbox; then comes
    /// [`End::Stopped`], unless another end came before.
    pub fn close(&self) {
        self.stop.notify_one();
    }

    /// Waits until it is closed.
    pub(in crate::io) async fn closed(&self) {
        self.stop.notified().await;
    }
}

/// How a source is read.
pub(in crate::io) struct Reader<R> {
    pub(in crate::io) source: R,
    pub(in crate::io) limits: Limits,
    pub(in crate::io) credit: Credit,
    /// Says that the process at the other end has exited; silence is an end then.
    pub(in crate::io) exited: Option<watch::Receiver<bool>>,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Hands over pieces to the end.
    pub(in crate::io) async fn run<P: Piece, E>(
        mut self,
        to: &impl Recipient<E>,
        event: impl Fn(Event<P>) -> E,
    ) -> Result<End, ActorGone> {
        let line_bytes_max = self.limits.line_bytes;
        let mut splitter = LineSplitter::new(P::LINES.then_some(line_bytes_max));
        let mut scratch = vec![0; self.limits.chunk_bytes];
        loop {
            // Two pipes share the credit of a child: one that is silent must not keep it from the other,
            // so it is asked for behind the read there.
            let reserved = match self.exited {
                None => Some(self.credit.piece().await),
                Some(_) => None,
            };
            let mut ended = false;
            let item = loop {
                if let Some(item) = splitter.next() {
                    break item;
                }
                match self.read(&mut scratch).await {
                    Ok(0) => {
                        ended = true;
                        match splitter.rest() {
                            Some(rest) => break rest,
                            None => return Ok(End::Closed),
                        }
                    }
                    Ok(read) => splitter.push(scratch.get(..read).unwrap_or_default()),
                    Err(error) => return Ok(error.into()),
                }
            };
            let held = match reserved {
                Some(held) => held,
                None => self.credit.piece().await,
            };
            to.deliver(event(split_event(&self.credit, held, item, line_bytes_max).await)).await?;
            if ended {
                return Ok(End::Closed);
            }
        }
    }

    async fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Some(exited) = &mut self.exited else { return self.source.read(into).await };
        let silent = async {
            // An error: whoever would say so is gone, and so is the process.
            let _ = exited.wait_for(|exited| *exited).await;
            sleep(PIPE_SILENCE_MAX).await;
        };
        tokio::select! {
            biased;
            read = self.source.read(into) => read,
            () = silent => Ok(0),
        }
    }
}

/// The event for a piece that was cut off.
pub(in crate::io) async fn split_event<P: Piece>(
    credit: &Credit,
    mut held: PieceCredit,
    item: SplitItem,
    line_bytes_max: usize,
) -> Event<P> {
    match item {
        SplitItem::Piece(bytes, is_whole) => {
            credit.bytes(&mut held, bytes.len()).await;
            Event::Got(P::new(bytes, is_whole, held))
        }
        SplitItem::TooLong => Event::TooLong { line_bytes_max },
    }
}

/// Runs what reads until it ends or is closed, and delivers the end.
pub(in crate::io) async fn run_to_end<E>(
    reading: impl Future<Output = Result<End, ActorGone>>,
    input: Input,
    to: &impl Recipient<E>,
    event: impl FnOnce(End) -> E,
) {
    let end = tokio::select! {
        biased;
        () = input.closed() => Ok(End::Stopped),
        end = reading => end,
    };
    if let Ok(end) = end {
        // An actor that has ended needs no end.
        let _ = to.deliver(event(end)).await;
    }
}
