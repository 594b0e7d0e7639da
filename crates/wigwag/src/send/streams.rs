//! The items of a stream of a remote actor, as their reader takes them.

use std::sync::Arc;
use std::task::{Poll, Waker};

use bytes::Bytes;
use wigwag_actor::{CallError, CallErrorKind, ItemSource, ReadItem, Slot, turn};
use wigwag_link::credit::StreamId;

use crate::items::reader::ItemReader;
use crate::send::cancel::send_cancels;
use crate::session::Session;
use crate::streams::inbox::Inbox;

/// The reply that ends a stream: nil.
const END: &[u8] = &[0xC0];

/// The reader's end of a stream that answers an ask.
pub(crate) struct Items {
    reader: ItemReader,
    target: Arc<str>,
    slot: Slot,
    state: ItemsState,
}

enum ItemsState {
    /// The ask has no completion yet.
    Open,
    /// The completion has come, and items before it may be left.
    Ending(Result<Bytes, CallError>),
    Over,
}

impl Items {
    /// Prepares the stream that is to answer an ask from the slot of `asker`. Also returns its window
    /// in units; `None` if there is no room for another one.
    pub(crate) fn open(
        session: &Arc<Session>,
        target: &Arc<str>,
        asker: (u32, u32),
        ahead: Option<usize>,
    ) -> Option<(Items, u64)> {
        let wanted = ahead.map(|items| items as u64);
        let id = StreamId::Answer(asker.0, asker.1);
        let window = session.sending().sender.open_stream(id, wanted)?;
        let inbox = Arc::new(Inbox::new(asker.1, window));
        // Before the ask is sent: the items may come at once.
        session.read_streams.insert(asker.0.into(), inbox.clone());
        let items = Items {
            reader: ItemReader::new(session.clone(), inbox, id, window),
            target: target.clone(),
            slot: Slot::new(asker.0, asker.1),
            state: ItemsState::Open,
        };
        Some((items, window))
    }

    /// Drops a stream whose ask was not sent.
    pub(crate) fn close_unsent(mut self) {
        self.state = ItemsState::Over;
        self.reader.session.close_stream(self.slot.index());
    }

    fn bad_reply(&self, why: &str) -> CallError {
        CallError::new(CallErrorKind::BadReply, &self.target).with_detail(why)
    }

    /// Polls for the completion of the ask.
    fn poll_completion(&self, waker: &Waker) -> Poll<Result<Bytes, CallError>> {
        let (slot, session) = (self.slot, &self.reader.session);
        let Poll::Ready(fetched) = session.asks.poll(slot.index(), slot.generation(), waker) else {
            if !turn::is_open() {
                session.flush_ask();
            }
            return Poll::Pending;
        };
        Poll::Ready(match fetched {
            None => Err(CallError::new(CallErrorKind::Unknown, &self.target)),
            Some(answer) => answer.map_err(|failed| {
                let (kind, text) = *failed;
                CallError::new(kind, &self.target).with_detail(&text)
            }),
        })
    }
}

impl ItemSource for Items {
    fn poll_items(
        &mut self,
        read: &mut ReadItem<'_>,
        waker: &Waker,
    ) -> Poll<Option<Result<(), CallError>>> {
        loop {
            if let Some(result) = self.reader.next_some(read, waker) {
                let result = result.map_err(|why| self.bad_reply(&why.to_string()));
                return Poll::Ready(Some(result));
            }
            match std::mem::replace(&mut self.state, ItemsState::Over) {
                ItemsState::Over => return Poll::Ready(None),
                ItemsState::Open => {
                    self.reader.free();
                    match self.poll_completion(waker) {
                        Poll::Pending => {
                            self.state = ItemsState::Open;
                            return Poll::Pending;
                        }
                        // Items may have come between the last look and the completion.
                        Poll::Ready(completion) => self.state = ItemsState::Ending(completion),
                    }
                }
                ItemsState::Ending(completion) => {
                    self.reader.session.free_slot(self.slot.index());
                    return Poll::Ready(match completion {
                        Ok(end) if end == END => None,
                        Ok(_) => Some(Err(self.bad_reply("the answer is no stream"))),
                        Err(error) => Some(Err(error)),
                    });
                }
            }
        }
    }
}

impl Drop for Items {
    fn drop(&mut self) {
        self.reader.leave();
        match self.state {
            ItemsState::Over => {}
            ItemsState::Ending(_) => self.reader.session.free_slot(self.slot.index()),
            ItemsState::Open => {
                let session = &self.reader.session;
                if session.disown(self.slot) {
                    let asker = (self.slot.index(), self.slot.generation());
                    send_cancels(session, [asker]);
                }
            }
        }
    }
}
