//! The asks of a client that wait for their answers.

use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;
use wigwag_actor::CallErrorKind;
use wigwag_actor::reply::cancelled::CancelledAsks;
use wigwag_actor::reply::flow::Flow;

use super::failure::Failure;
use crate::lock::lock;

/// The place of an ask, and how many asks had it before.
pub(super) type AskNumber = (u32, u32);

/// The asks without an answer.
#[derive(Default)]
pub(super) struct Asks {
    answer_bytes_max: usize,
    table: Mutex<AskTable>,
    pub(super) cancelled: CancelledAsks,
}

#[derive(Default)]
struct AskTable {
    /// By their slots; as many as were open at once.
    places: Vec<AskPlace>,
    /// The slots without an ask.
    free: Vec<u32>,
}

#[derive(Default)]
struct AskPlace {
    generation: u32,
    asker: Option<Asker>,
}

/// The items of a stream, encoded, on their way to the client.
pub(crate) type EncodedItems = Flow<Vec<u8>>;

/// The place where an answer is waited for.
pub(super) enum Asker {
    Value(oneshot::Sender<Result<Vec<u8>, Failure>>),
    Items(Arc<EncodedItems>),
}

impl Asker {
    fn complete(self, outcome: Result<Vec<u8>, Failure>) {
        match (self, outcome) {
            // The asker may have gone since.
            (Asker::Value(asker), outcome) => drop(asker.send(outcome)),
            (Asker::Items(items), Ok(_)) => items.end(Ok(())),
            (Asker::Items(items), Err(Failure::Call(kind, text))) => {
                items.end(Err((kind, Some(text.into()))));
            }
            (Asker::Items(items), Err(Failure::Malformed(text))) => {
                items.end(Err((CallErrorKind::BadArguments, Some(text.into()))));
            }
        }
    }
}

/// An ask whose answer is waited for. Dropping it cancels the ask.
pub(super) struct OpenAsk<'a> {
    asks: &'a Asks,
    pub(super) number: AskNumber,
}

impl OpenAsk<'_> {
    /// Leaves the ask open, for an owner that cancels it.
    pub(super) fn keep(self) -> AskNumber {
        let number = self.number;
        std::mem::forget(self);
        number
    }
}

impl Drop for OpenAsk<'_> {
    fn drop(&mut self) {
        self.asks.cancel(self.number);
    }
}

impl AskTable {
    fn open(&mut self, asker: Asker) -> AskNumber {
        let slot = self.free.pop().unwrap_or_else(|| {
            self.places.push(AskPlace::default());
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[slot as usize];
        place.asker = Some(asker);
        (slot, place.generation)
    }

    fn get(&mut self, (slot, generation): AskNumber) -> Option<&mut AskPlace> {
        let place = self.places.get_mut(slot as usize)?;
        (place.generation == generation && place.asker.is_some()).then_some(place)
    }

    /// Takes the ask, whose slot the next one may have.
    fn take(&mut self, number: AskNumber) -> Option<Asker> {
        let place = self.get(number)?;
        place.generation = place.generation.wrapping_add(1);
        let asker = place.asker.take();
        self.free.push(number.0);
        asker
    }
}

impl Asks {
    /// Asks whose answers have at most so many bytes.
    pub(super) fn new(answer_bytes_max: usize) -> Asks {
        Asks { answer_bytes_max, ..Asks::default() }
    }

    pub(super) fn open(&self, asker: Asker) -> OpenAsk<'_> {
        OpenAsk { asks: self, number: lock(&self.table).open(asker) }
    }

    pub(super) fn cancel(&self, number: AskNumber) {
        let asker = lock(&self.table).take(number);
        if asker.is_some() {
            self.cancelled.mark(number);
        }
    }

    /// The way of the items to a stream; `None` if it is no longer waited for.
    pub(super) fn items(&self, number: AskNumber) -> Option<Arc<EncodedItems>> {
        match &lock(&self.table).get(number)?.asker {
            Some(Asker::Items(items)) => Some(items.clone()),
            _ => None,
        }
    }

    /// Hands an answer to the ask, if it is still open.
    pub(super) fn complete(&self, number: AskNumber, outcome: Result<Vec<u8>, Failure>) {
        let asker = lock(&self.table).take(number);
        if let Some(asker) = asker {
            asker.complete(outcome);
        }
    }

    pub(super) fn complete_with(&self, number: AskNumber, value: Vec<u8>) {
        let outcome = match value.len() {
            bytes if bytes <= self.answer_bytes_max => Ok(value),
            bytes => Err(too_large(bytes, self.answer_bytes_max)),
        };
        self.complete(number, outcome);
    }
}

/// The failure of an answer that no client accepts.
pub(crate) fn too_large(bytes: usize, most: usize) -> Failure {
    let text = format!("the reply has {bytes} bytes, and at most {most} are sent");
    Failure::call(CallErrorKind::TooLarge, text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(asks: &Asks) -> (AskNumber, oneshot::Receiver<Result<Vec<u8>, Failure>>) {
        let (sender, answer) = oneshot::channel();
        (asks.open(Asker::Value(sender)).keep(), answer)
    }

    #[test]
    fn an_answer_to_an_ask_that_was_cancelled_is_not_that_of_the_next_one() {
        let asks = Asks::new(8);
        let (first, mut cancelled) = open(&asks);
        asks.cancel(first);
        let (second, mut answer) = open(&asks);
        assert_eq!((first, second), ((0, 0), (0, 1)));
        asks.complete_with(first, vec![1]);
        assert!(answer.try_recv().is_err(), "the late answer came to the next ask");
        asks.complete_with(second, vec![2]);
        assert_eq!(answer.try_recv().unwrap().unwrap(), [2]);
        assert!(cancelled.try_recv().is_err());
    }

    #[test]
    fn the_places_kept_are_the_most_asks_open_at_once() {
        let asks = Asks::new(8);
        for _ in 0..100 {
            let (numbers, answers): (Vec<_>, Vec<_>) = (0..3).map(|_| open(&asks)).unzip();
            numbers.iter().for_each(|&number| asks.complete_with(number, Vec::new()));
            assert!(answers.into_iter().all(|mut answer| answer.try_recv().is_ok()));
        }
        assert_eq!(lock(&asks.table).places.len(), 3);
    }
}
