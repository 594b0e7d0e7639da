//! The streams that are values of one session: those that the peer was sent, and those that it
//! sends.

use std::future::Future;
use std::sync::Arc;
use std::task::Waker;

use wigwag_actor::{CallErrorKind, turn};
use wigwag_link::credit::StreamId;
use wigwag_link::dispatch::application::ItemEnd;
use wigwag_link::frame::Frame;
use wigwag_link::{Code, features, write};
use wigwag_wire::{DecodeError, peer_text};

use crate::limits::{ERROR_TEXT_CHARS_MAX, STREAM_VALUES_MAX};
use crate::session::{Session, buffers};
use crate::streams::inbox::{Ended, Inbox, StreamEnd};
use crate::streams::outlet::{Gone, Outlet};
use crate::streams::{OpenStreams, ReadStreams, SentStreams, value};
use crate::sync::{AtomicU64, Ordering};

/// The streams of one session that are values, by their numbers.
pub(crate) struct StreamValues {
    /// The peer knows them.
    are_known: bool,
    pub(crate) read: ReadStreams,
    sent: SentStreams,
    /// The number of the next one that is sent. None is used twice.
    next: AtomicU64,
}

impl StreamValues {
    pub(crate) fn new(features: u64) -> StreamValues {
        StreamValues {
            are_known: features & features::STREAM_VALUES != 0,
            read: OpenStreams::default(),
            sent: OpenStreams::default(),
            next: AtomicU64::new(0),
        }
    }
}

/// Begins to send the items of a stream over a session.
type Begin = Box<dyn FnOnce(&Arc<Session>) + Send>;

/// A stream in a value that is encoded. It begins when the value is sent, and is forgotten when the
/// value is not.
pub(crate) struct UnsentStream {
    session: Arc<Session>,
    outlet: Arc<Outlet>,
    begin: Option<Begin>,
}

impl UnsentStream {
    pub(crate) fn new(session: &Arc<Session>, outlet: Arc<Outlet>, begin: Begin) -> UnsentStream {
        UnsentStream { session: session.clone(), outlet, begin: Some(begin) }
    }

    /// The number that it is sent as.
    pub(crate) fn number(&self) -> u64 {
        self.outlet.id.slot()
    }

    /// The value is on its way.
    pub(crate) fn begin(mut self) {
        if let Some(begin) = self.begin.take() {
            begin(&self.session);
        }
    }
}

impl Drop for UnsentStream {
    fn drop(&mut self) {
        if self.begin.is_some() {
            self.session.stream_values.sent.remove_slot(self.number());
        }
    }
}

impl Session {
    /// Takes a number for a stream that is about to be sent.
    ///
    /// # Errors
    /// Why it cannot be sent, in words.
    pub(crate) fn reserve_stream(&self) -> Result<Arc<Outlet>, &'static str> {
        let StreamValues { are_known, sent, next, .. } = &self.stream_values;
        if !are_known {
            return Err("the peer runs a release that knows no streams as arguments");
        }
        let number = next.fetch_add(1, Ordering::Relaxed);
        let outlet = sent.insert_new(number, || match sent.len() {
            ..STREAM_VALUES_MAX => Ok(Arc::new(Outlet::new(StreamId::Value(number), 0))),
            _ => Err("the peer is sent as many streams as a session has"),
        });
        // The number is new.
        let outlet = outlet.map_err(Option::unwrap_or_default)?;
        if self.has_ended() {
            outlet.end_because(Gone::with_session(""));
        }
        Ok(outlet)
    }

    /// Runs a task of the node. Without a node, the future is dropped.
    pub(crate) fn run(&self, task: impl Future<Output = ()> + Send + 'static) {
        if let Some(owner) = self.owner.upgrade() {
            owner.runtime().spawn(task);
        }
    }

    /// The sender of a stream that was never opened is gone.
    pub(crate) fn forget_stream_value(&self, outlet: &Outlet) {
        self.stream_values.sent.remove_slot(outlet.id.slot());
    }

    /// The sender of a stream tells its reader of the end, unless the reader has not opened it.
    pub(crate) fn end_stream_value(&self, outlet: &Outlet, end: StreamEnd) {
        let number = outlet.id.slot();
        self.stream_values.sent.remove_slot(number);
        if outlet.gone().is_some_and(|gone| gone.is_refused) {
            return;
        }
        let (code, text) = match end {
            Ok(()) => (Code::OK, "".into()),
            Err((kind, text)) => (Code(kind.code()), text),
        };
        self.send_item_end(number, ItemEnd::Sent, code, &text);
    }

    /// Opens a stream that the peer sends: its inbox, and its window in units. `None` if there is no
    /// room for another one.
    ///
    /// # Errors
    /// If there is a stream with this number.
    pub(crate) fn open_stream_value(
        &self,
        number: u64,
    ) -> Result<Option<(Arc<Inbox>, u64)>, DecodeError> {
        if !self.stream_values.are_known {
            return Err(DecodeError::BadStream { why: "the session knows no streams as values" });
        }
        let (id, mut window) = (StreamId::Value(number), 0);
        let opened = self.stream_values.read.insert_new(number, || {
            window = self.sending().sender.open_stream(id, None).ok_or(())?;
            Ok(Arc::new(Inbox::new(0, window)))
        });
        let inbox = match opened {
            Ok(inbox) => inbox,
            Err(Some(())) => return Ok(None),
            Err(None) => return Err(DecodeError::BadStream { why: "its number is in use" }),
        };
        if self.has_ended() {
            // The end of the session may not have found it.
            inbox.end(Gone::with_session("").into_end());
        }
        // Its credit is to be sent.
        self.send_soon();
        Ok(Some((inbox, window)))
    }

    /// The stream that the peer has sent is over, and its items were read.
    pub(crate) fn close_stream_value(&self, number: u64) {
        if self.stream_values.read.remove_slot(number).is_some() {
            self.sending().sender.close_stream_value(number);
        }
    }

    /// The reader of a stream leaves. The peer ends the stream: until then it may use its credit.
    pub(crate) fn leave_stream_value(&self, number: u64, kind: CallErrorKind, text: &str) {
        self.send_item_end(number, ItemEnd::Left, Code(kind.code()), text);
    }

    /// Tells the peer that streams which it has sent were not opened.
    pub(crate) fn refuse_streams(&self, numbers: &[u64], kind: CallErrorKind, text: &str) {
        for number in numbers {
            self.send_item_end(*number, ItemEnd::Refused, Code(kind.code()), text);
        }
    }

    fn send_item_end(&self, stream: u64, how: ItemEnd, code: Code, text: &str) {
        let text: String = text.chars().take(ERROR_TEXT_CHARS_MAX).collect();
        let (how, text) = (how.how(), text.as_bytes());
        let mut sending = self.sending();
        if sending.ended.is_some() {
            return;
        }
        let end = Frame::ItemEnd { stream, how, code, text };
        sending.sender.outbox.append(|out| write::any(out, &end));
        drop(sending);
        self.send_soon();
    }

    /// Writes what waits: with the turn that is open, or by the driver.
    fn send_soon(&self) {
        match self.me.upgrade() {
            Some(me) if turn::is_open() => buffers::flush_soon(&me),
            _ => self.wake_driver(),
        }
    }

    /// Handles ITEM_END. False if there was no such stream.
    pub(crate) fn items_ended(&self, number: u64, how: ItemEnd, code: Code, text: &[u8]) -> bool {
        let (kind, text) = (CallErrorKind::from_code(code.0), peer_text::line(text).into());
        let StreamValues { read, sent, next, .. } = &self.stream_values;
        match how {
            ItemEnd::Sent => {
                let Some(inbox) = read.find((number, 0)) else { return false };
                let end = if code == Code::OK { Ok(()) } else { Err((kind, text)) };
                self.end_read(number, &inbox, end)
            }
            ItemEnd::Left | ItemEnd::Refused => {
                // It may have ended: both ends may end it at once.
                if let Some(outlet) = sent.find((number, 0)) {
                    let is_refused = how == ItemEnd::Refused;
                    outlet.end_because(Gone { kind, text, is_refused });
                }
                number < next.load(Ordering::Relaxed)
            }
        }
    }

    /// Notes the end of a stream that is read here. False if it had ended.
    fn end_read(&self, number: u64, inbox: &Inbox, end: StreamEnd) -> bool {
        match inbox.end(end) {
            Ended::Queued(reader) => reader.into_iter().for_each(Waker::wake),
            Ended::Unwanted => self.close_stream_value(number),
            Ended::Again => return false,
        }
        true
    }

    /// The credit of a stream that is a value has risen.
    pub(crate) fn stream_value_credited(&self, number: u64, limit: u64) {
        if let Some(outlet) = self.stream_values.sent.find((number, 0)) {
            outlet.raise(limit);
        }
    }

    /// The session has ended: so have its streams.
    pub(crate) fn end_stream_values(&self, why: &str) {
        let StreamValues { read, sent, .. } = &self.stream_values;
        for (number, inbox) in read.all() {
            self.end_read(number, &inbox, Gone::with_session(why).into_end());
        }
        let sent = sent.take_all();
        sent.values().for_each(|outlet| outlet.end_because(Gone::with_session(why)));
    }

    /// True if a value of the peer that is never read may hold what is to be let go.
    pub(crate) fn has_values_to_discard(&self) -> bool {
        self.references.are_known() || self.stream_values.are_known
    }

    /// Lets go the references in a value of the peer that is never read, and refuses its streams.
    pub(crate) fn discard_value_because(&self, value: &[u8], why: CallErrorKind) {
        self.release_references_in(value);
        if self.stream_values.are_known {
            self.refuse_streams(&value::numbers_in(value), why, "");
        }
    }
}

impl Gone {
    /// The session is over.
    pub(crate) fn with_session(why: &str) -> Gone {
        let text = if why.is_empty() { "the session has ended" } else { why };
        Gone { kind: CallErrorKind::Unknown, text: text.into(), is_refused: false }
    }

    fn into_end(self) -> StreamEnd {
        Err((self.kind, self.text))
    }
}
