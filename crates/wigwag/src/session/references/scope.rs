//! The session that this thread encodes a value for, or reads one from.
//!
//! Encoders and decoders are not told of the session. Only references and streams need it, so a value is written
//! or read without one first, which costs nothing, and once more with it if a reference was met.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use wigwag_actor::CallErrorKind;
use wigwag_wire::{Buffer, DecodeError};

use crate::limits::STREAM_VALUES_MAX;
use crate::session::Session;
use crate::session::references::value::SentReference;
use crate::session::stream_values::UnsentStream;
use crate::streams::value::numbers_in as streams_in;

thread_local! {
    /// A reference or a stream was met while there was no session.
    static IS_NEEDED: Cell<bool> = const { Cell::new(false) };
    static ENCODING: RefCell<Option<Encoding>> = const { RefCell::new(None) };
    static READING: RefCell<Option<Reading>> = const { RefCell::new(None) };
}

struct Encoding {
    session: Arc<Session>,
    lent: Vec<u128>,
    streams: Vec<UnsentStream>,
    refused: Option<&'static str>,
}

struct Reading {
    session: Arc<Session>,
    taken: Vec<u128>,
    taken_streams: Vec<u64>,
}

/// References and streams in an encoded value; taken back unless the value is [sent](Self::sent).
#[derive(Default)]
pub(crate) struct LentInValue {
    session: Option<Arc<Session>>,
    numbers: Vec<u128>,
    streams: Vec<UnsentStream>,
}

impl LentInValue {
    /// The number of the first one.
    pub(crate) fn first(&self) -> Option<u128> {
        self.numbers.first().copied()
    }

    /// The value is on its way, and its references with it. Its streams begin.
    pub(crate) fn sent(&mut self) {
        self.numbers.clear();
        self.streams.drain(..).for_each(UnsentStream::begin);
    }
}

impl Drop for LentInValue {
    fn drop(&mut self) {
        if let Some(session) = &self.session {
            for number in self.numbers.drain(..) {
                session.reference_released(number, 1);
            }
        }
    }
}

/// Runs `encode`, and once more if the value has references: then they are lent to the peer of
/// `session`. `clear` removes what the first run has written.
///
/// # Errors
/// Why a reference cannot be sent, in words.
pub(crate) fn encode_for<T>(
    session: &Arc<Session>,
    out: &mut T,
    encode: impl Fn(&mut T),
    clear: impl FnOnce(&mut T),
) -> Result<LentInValue, &'static str> {
    let before = IS_NEEDED.replace(false);
    // An encoder of the program may send other values, or panic.
    let outer = ENCODING.take();
    let _restored = Restored { before, outer };
    encode(out);
    if !IS_NEEDED.get() {
        return Ok(LentInValue::default());
    }
    clear(out);
    let (lent, streams, refused) = (Vec::new(), Vec::new(), None);
    ENCODING.set(Some(Encoding { session: session.clone(), lent, streams, refused }));
    encode(out);
    let Some(Encoding { session, lent, streams, refused }) = ENCODING.take() else {
        return Ok(LentInValue::default());
    };
    let lent = LentInValue { session: Some(session), numbers: lent, streams };
    match refused {
        None => Ok(lent),
        Some(why) => Err(why),
    }
}

/// Encodes a value for a receiver that no reference can be sent to. False if the value has one.
pub(crate) fn encode_without(out: &mut Buffer, encode: impl FnOnce(&mut Buffer)) -> bool {
    let before = IS_NEEDED.replace(false);
    let _restored = Restored { before, outer: ENCODING.take() };
    encode(out);
    !IS_NEEDED.get()
}

/// Restores what an outer encoder has had.
struct Restored {
    before: bool,
    outer: Option<Encoding>,
}

impl Drop for Restored {
    fn drop(&mut self) {
        IS_NEEDED.set(self.before);
        let inner = ENCODING.replace(self.outer.take());
        if let Some(Encoding { session, lent, streams, .. }) = inner {
            drop(LentInValue { session: Some(session), numbers: lent, streams });
        }
    }
}

/// Lends a reference to the session that this thread encodes for. `None` if there is none, or the
/// reference cannot be sent.
pub(crate) fn encode(
    lend: impl FnOnce(&Session) -> Result<SentReference, &'static str>,
) -> Option<SentReference> {
    encode_with(|encoding| {
        let value = lend(&encoding.session)?;
        encoding.lent.push(value.reference);
        Ok(value)
    })
}

/// Prepares a stream for the session that this thread encodes for, and returns its number. `None` if
/// there is no such session, or the stream cannot be sent.
pub(crate) fn encode_stream(
    prepare: impl FnOnce(&Arc<Session>) -> Result<UnsentStream, &'static str>,
) -> Option<u64> {
    encode_with(|encoding| {
        let stream = prepare(&encoding.session)?;
        let number = stream.number();
        encoding.streams.push(stream);
        Ok(number)
    })
}

fn encode_with<T>(add: impl FnOnce(&mut Encoding) -> Result<T, &'static str>) -> Option<T> {
    let Some(mut encoding) = ENCODING.take() else {
        IS_NEEDED.set(true);
        return None;
    };
    let added = add(&mut encoding);
    let value = match added {
        Ok(value) => Some(value),
        Err(why) => {
            encoding.refused = Some(why);
            None
        }
    };
    ENCODING.set(Some(encoding));
    value
}

/// Runs `read`, in which references and streams can be read from `value`, which has come over
/// `session`. If it returns false, those that it has not read are let go.
pub(crate) fn read_from(session: &Arc<Session>, value: &[u8], read: &mut dyn FnMut() -> bool) {
    struct Restored(Option<Reading>);
    impl Drop for Restored {
        fn drop(&mut self) {
            READING.set(self.0.take());
        }
    }
    let (taken, taken_streams) = (Vec::new(), Vec::new());
    let reading = Reading { session: session.clone(), taken, taken_streams };
    let _restored = Restored(READING.replace(Some(reading)));
    let is_read = read();
    let reading = READING.take();
    if !is_read && let Some(Reading { taken, taken_streams, .. }) = reading {
        let mut left = SentReference::numbers_in(value);
        for number in taken {
            if let Some(at) = left.iter().position(|one| *one == number) {
                left.swap_remove(at);
            }
        }
        session.release_references(&left);
        let mut unread = streams_in(value);
        unread.retain(|number| !taken_streams.contains(number));
        session.refuse_streams(&unread, CallErrorKind::BadArguments, "");
    }
}

/// The session that this thread reads a stream with this number from.
///
/// # Errors
/// If there is none, or the value has more streams than a peer may have open.
pub(crate) fn read_stream(number: u64) -> Result<Arc<Session>, DecodeError> {
    READING.with_borrow_mut(|reading| {
        let reading = reading.as_mut().ok_or(DecodeError::NeedsSession)?;
        if reading.taken_streams.len() as u64 >= STREAM_VALUES_MAX {
            return Err(DecodeError::BadStream { why: "there are too many in one value" });
        }
        reading.taken_streams.push(number);
        Ok(reading.session.clone())
    })
}

/// The session that this thread reads a reference with this number from.
pub(crate) fn read(number: u128) -> Option<Arc<Session>> {
    READING.with_borrow_mut(|reading| {
        let reading = reading.as_mut()?;
        reading.taken.push(number);
        Some(reading.session.clone())
    })
}
