//! Asks and answers that borrow nothing: stored, moved to other tasks, threads and runtimes, and
//! awaited there, before and after they were polled.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::Duration;

use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use tokio::task::JoinSet;
use tokio::time::timeout;
use wigwag::call::{Answer, Ask};
use wigwag::{Actor, Node, Responder};

/// Far more than any of the tests takes.
const PATIENCE: Duration = Duration::from_secs(30);

/// Adds, or waits until it is told to answer.
#[derive(Default)]
struct Adder {
    waiting: Vec<(u64, Responder<u64>)>,
}

#[wigwag::actor]
impl Adder {
    pub fn add(&self, a: u64, b: u64) -> u64 {
        a + b
    }

    pub fn later(&mut self, number: u64, answer: Responder<u64>) {
        self.waiting.push((number, answer));
    }

    /// Answers the calls that wait, and returns their number.
    pub fn serve(&mut self) -> usize {
        let served = self.waiting.len();
        self.waiting.drain(..).for_each(|(number, answer)| answer.send(number));
        served
    }
}

type Owned = Pin<Box<dyn Future<Output = u64> + Send>>;

fn asking(ask: Ask<'static, Adder, u64>) -> Owned {
    Box::pin(async { ask.await.unwrap() })
}

fn answering(answer: Answer<'static, Adder, u64>) -> Owned {
    Box::pin(async { answer.await.unwrap() })
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Wakes a thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Unpark>) {
        self.0.unpark();
    }
}

/// An executor that has no runtime.
fn block_on(mut owned: Owned) -> u64 {
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    loop {
        if let Poll::Ready(number) = owned.as_mut().poll(&mut Context::from_waker(&waker)) {
            return number;
        }
        thread::park();
    }
}

/// Runs `work` on a thread outside of any runtime.
async fn elsewhere<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, outcome) = oneshot::channel();
    thread::spawn(move || drop(done.send(work())));
    outcome.await.unwrap()
}

/// Runs a test with an actor of this process and with one of another node. A test that
/// never ends has failed.
async fn both<F: Future<Output = ()>>(test: impl Fn(AdderRef) -> F) {
    let test = async |adder| timeout(PATIENCE, test(adder)).await.expect("it ends");
    test(Adder::default().spawn()).await;
    let (service, client) = (Node::new(), Node::new());
    service.export("adder", &Adder::default().spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    test(client.actor::<Adder>(&format!("{bound}/adder")).await.unwrap()).await;
    client.close(Duration::ZERO).await;
    service.close(Duration::ZERO).await;
}

#[tokio::test]
async fn an_owned_ask_outlives_its_reference_and_is_awaited_by_any_task_thread_and_executor() {
    both(async |adder| {
        let (task, other, none) = (adder.add(1, 2), adder.add(3, 4), adder.add(5, 6));
        let none = none.without_limit();
        let (task, other, none) =
            (asking(task.into_ask()), asking(other.into_ask()), asking(none.into_ask()));
        drop(adder);
        assert_eq!(tokio::spawn(task).await.unwrap(), 3);
        assert_eq!(elsewhere(|| runtime().block_on(other)).await, 7);
        assert_eq!(elsewhere(|| block_on(none)).await, 11);
    })
    .await;
}

#[tokio::test]
async fn owned_asks_and_answers_are_kept_in_collections() {
    both(async |adder| {
        let mut asks = JoinSet::new();
        let mut answers = Vec::new();
        for number in 0..100 {
            asks.spawn(adder.add(number, number).into_ask());
            let sent = adder.add(number, 1).ask().sent().await.unwrap();
            answers.push(sent.into_owned());
        }
        drop(adder);
        let sum: u64 = asks.join_all().await.into_iter().map(Result::unwrap).sum();
        assert_eq!(sum, 9_900);
        for (number, answer) in (0..).zip(answers) {
            assert_eq!(answer.await.unwrap(), number + 1);
        }
    })
    .await;
}

/// The first runtime, whose clock may measure the limit of the ask, is gone before the answer comes.
#[tokio::test]
async fn a_future_polled_in_a_closed_runtime_continues_in_another() {
    both(async |adder| {
        for limit in [None, Some(Duration::from_secs(60))] {
            let call = |number| match limit {
                Some(limit) => adder.later(number).timeout(limit),
                None => adder.later(number),
            };
            let ask = asking(call(1).into_ask());
            let answer = answering(call(2).ask().sent().await.unwrap().into_owned());
            let both = elsewhere(move || {
                let mut both = [ask, answer];
                runtime().block_on(async {
                    for owned in &mut both {
                        assert!(poll_once(owned).await.is_pending());
                    }
                });
                both
            });
            let [ask, answer] = both.await;
            let asked = tokio::spawn(elsewhere(|| runtime().block_on(ask)));
            let answered = tokio::spawn(elsewhere(|| runtime().block_on(answer)));
            assert_eq!(adder.serve().ask().await.unwrap(), 2);
            assert_eq!((asked.await.unwrap(), answered.await.unwrap()), (1, 2));
        }
    })
    .await;
}

async fn poll_once(owned: &mut Owned) -> Poll<u64> {
    poll_fn(|context| Poll::Ready(owned.as_mut().poll(context))).await
}
