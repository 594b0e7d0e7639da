//! The asks of a client that wait for their answers.

use std::future::poll_fn;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

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
    Value(Answer),
    Items(Arc<EncodedItems>),
}

/// The answer to an ask for one value.
#[derive(Default)]
pub(super) enum Answer {
    #[default]
    NotAwaited,
    Awaited(Waker),
    Here(Result<Vec<u8>, Failure>),
}

impl Asker {
    /// An asker for one value, whose answer [`OpenAsk::answer`] gives.
    pub(super) fn value() -> Asker {
        Asker::Value(Answer::default())
    }
}

/// Ends a stream with the outcome of its ask.
fn end_items(items: &EncodedItems, outcome: Result<Vec<u8>, Failure>) {
    match outcome {
        Ok(_) => items.end(Ok(())),
        Err(Failure::Call(kind, text)) => items.end(Err((kind, Some(text.into())))),
        Err(Failure::Malformed(text)) => {
            items.end(Err((CallErrorKind::BadArguments, Some(text.into()))));
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

    /// Waits for the answer of an ask for one value.
    pub(super) async fn answer(&self) -> Result<Vec<u8>, Failure> {
        poll_fn(|context| lock(&self.asks.table).poll_answer(self.number, context)).await
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

    /// Takes the answer of an ask for one value out, when it is there.
    fn poll_answer(
        &mut self,
        number: AskNumber,
        context: &Context<'_>,
    ) -> Poll<Result<Vec<u8>, Failure>> {
        let Some(AskPlace { asker: Some(Asker::Value(answer)), .. }) = self.get(number) else {
            // Its answer was taken before, or is a stream.
            return Poll::Pending;
        };
        match answer {
            Answer::Here(outcome) => {
                let outcome = std::mem::replace(outcome, Ok(Vec::new()));
                self.take(number);
                Poll::Ready(outcome)
            }
            Answer::Awaited(waker) if waker.will_wake(context.waker()) => Poll::Pending,
            _ => {
                *answer = Answer::Awaited(context.waker().clone());
                Poll::Pending
            }
        }
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
        if asker.is_some_and(|asker| !matches!(asker, Asker::Value(Answer::Here(_)))) {
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
        let mut table = lock(&self.table);
        let Some(place) = table.get(number) else { return };
        // An answer stays in its place until it is taken, and the first one stands.
        if let Some(Asker::Value(answer)) = &mut place.asker {
            let before = match answer {
                Answer::Here(_) => return,
                _ => std::mem::replace(answer, Answer::Here(outcome)),
            };
            drop(table);
            if let Answer::Awaited(waker) = before {
                waker.wake();
            }
            return;
        }
        let asker = table.take(number);
        drop(table);
        if let Some(Asker::Items(items)) = asker {
            end_items(&items, outcome);
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
    use std::time::Duration;

    use super::*;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// The answer that has come.
    fn answer(asks: &Asks, number: AskNumber) -> Option<Result<Vec<u8>, Failure>> {
        let context = Context::from_waker(Waker::noop());
        match lock(&asks.table).poll_answer(number, &context) {
            Poll::Ready(outcome) => Some(outcome),
            Poll::Pending => None,
        }
    }

    fn value(asks: &Asks, number: AskNumber) -> Option<Vec<u8>> {
        let Ok(value) = answer(asks, number)? else { panic!("the ask has failed") };
        Some(value)
    }

    #[test]
    fn an_answer_to_an_ask_that_was_cancelled_is_not_that_of_the_next_one() {
        let asks = Asks::new(8);
        let first = asks.open(Asker::value()).keep();
        asks.cancel(first);
        let second = asks.open(Asker::value()).keep();
        assert_eq!((first, second), ((0, 0), (0, 1)));
        asks.complete_with(first, vec![1]);
        assert!(answer(&asks, second).is_none(), "the late answer came to the next ask");
        asks.complete_with(second, vec![2]);
        assert!(answer(&asks, first).is_none());
        assert_eq!(value(&asks, second).unwrap(), [2]);
    }

    #[test]
    fn the_first_answer_stands_and_is_taken_once() {
        let asks = Asks::new(8);
        let number = asks.open(Asker::value()).keep();
        asks.complete_with(number, vec![1]);
        asks.complete_with(number, vec![2]);
        assert_eq!(value(&asks, number).unwrap(), [1]);
        assert!(answer(&asks, number).is_none());
        asks.complete_with(number, vec![3]);
        assert!(answer(&asks, number).is_none());
    }

    #[test]
    fn an_ask_that_is_dropped_is_cancelled_unless_its_answer_has_come() {
        let asks = Asks::new(8);
        let open = asks.open(Asker::value());
        let number = open.number;
        asks.complete_with(number, vec![1]);
        drop(open);
        assert!(!asks.cancelled.contains(number));
        let open = asks.open(Asker::value());
        let number = open.number;
        drop(open);
        assert!(asks.cancelled.contains(number));
        assert_eq!(lock(&asks.table).free, [0]);
    }

    #[tokio::test]
    async fn the_task_that_waits_for_an_answer_is_woken_by_it() {
        let asks = Arc::new(Asks::new(8));
        let waiting = tokio::spawn({
            let asks = asks.clone();
            async move {
                let open = asks.open(Asker::value());
                open.answer().await.ok()
            }
        });
        // On one thread, the task waits by the time that this goes on.
        tokio::task::yield_now().await;
        asks.complete_with((0, 0), vec![7]);
        let answer = tokio::time::timeout(PATIENCE, waiting).await.expect("it is woken");
        assert_eq!(answer.expect("it has not panicked"), Some(vec![7]));
    }

    #[test]
    fn the_places_kept_are_the_most_asks_open_at_once() {
        let asks = Asks::new(8);
        for _ in 0..100 {
            let numbers: Vec<_> = (0..3).map(|_| asks.open(Asker::value()).keep()).collect();
            numbers.iter().for_each(|&number| asks.complete_with(number, Vec::new()));
            assert!(numbers.iter().all(|&number| value(&asks, number).is_some()));
        }
        assert_eq!(lock(&asks.table).places.len(), 3);
    }
}
