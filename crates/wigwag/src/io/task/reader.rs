//! Reads for an actor, within its credit.

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

/// A handle to an input of an actor; see [`Accept`](crate::io::Accept) for an example.
///
/// Clones control the same input. Dropping them does not end it.
#[derive(Clone, Debug)]
pub struct Input {
    credit: Credit,
    stop: Arc<Notify>,
}

impl Input {
    pub(in crate::io) fn new(credit: Credit) -> Input {
        Input { credit, stop: Arc::new(Notify::new()) }
    }

    /// Allows that many more pieces. Required for each piece if they are [granted by
    /// hand](Limits::granted_by_hand), and more room otherwise. At most
    /// [`GRANTED_MAX`](crate::io::limits::GRANTED_MAX) may be unused.
    pub fn grant(&self, pieces: usize) {
        self.credit.grant(pieces);
    }

    /// Stops reading. Pieces that were delivered stay in the mailbox; then [`End::Stopped`]
    /// arrives, unless the input has ended already.
    pub fn close(&self) {
        self.stop.notify_one();
    }

    /// Waits for [`close`](Self::close).
    pub(in crate::io) async fn closed(&self) {
        self.stop.notified().await;
    }
}

/// A source and the rules for reading it.
pub(in crate::io) struct Reader<R> {
    pub(in crate::io) source: R,
    pub(in crate::io) limits: Limits,
    pub(in crate::io) credit: Credit,
    /// True once the process at the other end has exited; from then on silence is an end.
    pub(in crate::io) exited: Option<watch::Receiver<bool>>,
}

impl<R: AsyncRead + Unpin> Reader<R> {
    /// Delivers pieces until the end.
    pub(in crate::io) async fn run<P: Piece, E>(
        mut self,
        to: &impl Recipient<E>,
        event: impl Fn(Event<P>) -> E,
    ) -> Result<End, ActorGone> {
        let line_bytes_max = self.limits.line_bytes;
        let mut splitter = LineSplitter::new(P::LINES.then_some(line_bytes_max));
        let mut scratch = vec![0; self.limits.chunk_bytes];
        loop {
            // The two pipes of a child share its credit. A silent pipe must not keep credit from
            // the other one, so credit for pipes is taken after the read.
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
            // An error means that the sender is gone, and so is the process.
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

/// Makes an event of a split item, and takes the credit for its bytes.
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

/// Runs `reading` until it ends or the input is closed, and delivers the end.
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
        // An actor that has ended needs no last event.
        let _ = to.deliver(event(end)).await;
    }
}
