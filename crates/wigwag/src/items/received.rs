//! A stream that has come over a session as a value.

use std::sync::Arc;
use std::task::{Poll, Waker};

use wigwag_actor::reply::kind_of_drop;
use wigwag_actor::{CallErrorKind, ReadItem};
use wigwag_link::credit::StreamId;
use wigwag_wire::DecodeError;

use super::reader::ItemReader;
use crate::session::Session;
use crate::streams::inbox::Failure;

/// The reader's end of a stream that the peer of a session sends.
pub(crate) struct ReceivedItems {
    reader: ItemReader,
    number: u64,
    /// Why it is read no further, if that is known before it is dropped.
    why: Option<Failure>,
    /// The end was taken.
    is_over: bool,
}

impl ReceivedItems {
    /// Opens the stream with this number. `None` if there is no room for another one.
    ///
    /// # Errors
    /// If there is a stream with this number.
    pub(super) fn open(
        session: &Arc<Session>,
        number: u64,
    ) -> Result<Option<ReceivedItems>, DecodeError> {
        let Some((inbox, window)) = session.open_stream_value(number)? else { return Ok(None) };
        let reader = ItemReader::new(session.clone(), inbox, StreamId::Value(number), window);
        Ok(Some(ReceivedItems { reader, number, why: None, is_over: false }))
    }

    /// The address of the peer.
    pub(crate) fn peer(&self) -> &Arc<str> {
        &self.session().peer
    }

    fn session(&self) -> &Arc<Session> {
        &self.reader.session
    }

    /// Calls `read` on the next item. `None` after the end; after an error there is nothing more.
    pub(crate) fn poll(
        &mut self,
        read: &mut ReadItem<'_>,
        waker: &Waker,
    ) -> Poll<Option<Result<(), Failure>>> {
        if self.is_over {
            return Poll::Ready(None);
        }
        if let Some(result) = self.reader.next(read, waker) {
            return Poll::Ready(Some(result.map_err(|why| {
                let failure: Failure = (CallErrorKind::BadArguments, why.to_string().into());
                self.why = Some(failure.clone());
                failure
            })));
        }
        let Some(end) = self.reader.inbox.ended() else {
            self.reader.free();
            return Poll::Pending;
        };
        self.is_over = true;
        self.session().close_stream_value(self.number);
        Poll::Ready(end.err().map(Err))
    }

    /// Says why it is dropped.
    pub(crate) fn leave(&mut self, why: Failure) {
        self.why = Some(why);
    }
}

impl Drop for ReceivedItems {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let had_ended = self.reader.leave();
        if had_ended {
            return self.session().close_stream_value(self.number);
        }
        let (kind, text) = self.why.take().unwrap_or_else(|| {
            (kind_of_drop(CallErrorKind::Cancelled), "the reader of the stream has gone".into())
        });
        self.session().leave_stream_value(self.number, kind, &text);
    }
}
