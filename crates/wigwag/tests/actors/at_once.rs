//! Inline execution: an ask may run an idle, quick actor on the caller's thread, and no other task
//! is delayed by that.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::runtime::{Builder, Handle, Runtime};
use tokio::time::timeout;
use wigwag::{
    Actor, ActorOptions, CallErrorKind, Local,
    lifecycle::Alive,
    supervise::{Child, Strategy, Supervisor},
};

/// Attempts within which at least one ask must be executed inline.
const TRIES: u64 = 1000;

#[derive(Default)]
struct Quick {
    next: Option<QuickRef>,
    dropped: Arc<AtomicU64>,
    counted: u64,
}

#[wigwag::actor]
impl Quick {
    pub fn add(&mut self, a: u64, b: u64) -> u64 {
        a + b
    }

    /// Tells the next actor, and answers.
    pub fn pass(&mut self, number: u64) -> u64 {
        self.next.as_ref().unwrap().take(number).try_tell().unwrap();
        number
    }

    pub fn set_next(&mut self, next: QuickRef) {
        self.next = Some(next);
    }

    pub fn take(&mut self, number: u64) {
        let _ = number;
    }

    pub fn runtime(&self) -> String {
        Handle::current().id().to_string()
    }

    pub fn thread(&self) -> Local<std::thread::ThreadId> {
        Local(std::thread::current().id())
    }

    pub fn count(&mut self) {
        self.counted += 1;
    }

    pub fn counted(&self) -> u64 {
        self.counted
    }

    pub fn fail(&mut self) {
        panic!("on purpose");
    }

    pub fn slow(&mut self) {
        std::thread::sleep(Duration::from_millis(1));
    }

    pub async fn many_steps(&mut self, steps: u64) -> u64 {
        for _ in 0..steps {
            tokio::task::consume_budget().await;
        }
        steps
    }
}

impl Drop for Quick {
    fn drop(&mut self) {
        self.dropped.fetch_add(1, Ordering::SeqCst);
    }
}

/// The answer of an ask that is polled once, if it is ready by then.
async fn at_once<T>(ask: impl Future<Output = T>) -> Option<T> {
    let mut ask = pin!(ask);
    let once = poll_fn(|context| match ask.as_mut().poll(context) {
        Poll::Ready(answer) => Poll::Ready(Some(answer)),
        Poll::Pending => Poll::Ready(None),
    });
    once.await
}

/// A runtime with two threads, on which tasks may block.
fn wide() -> Runtime {
    Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap()
}

#[tokio::test]
async fn the_answer_of_an_idle_quick_actor_is_there_when_it_was_asked() {
    let asked = async {
        let quick = Quick::default().spawn();
        let mut seen = 0;
        for number in 0..TRIES {
            // An ask that is not answered at once is dropped, and therefore never handled.
            if let Some(sum) = at_once(quick.add(number, 1).ask()).await {
                assert_eq!(sum.unwrap(), number + 1);
                seen += 1;
            }
            tokio::task::yield_now().await;
        }
        seen
    };
    assert!(wigwag::spawn(asked).await.unwrap() > 0, "none of {TRIES}");
}

#[tokio::test]
async fn a_slow_actor_is_never_run_by_its_asker() {
    let asked = async {
        let slow = Quick::default().spawn();
        for _ in 0..20 {
            let mut ask = pin!(slow.slow().ask());
            assert!(at_once(ask.as_mut()).await.is_none());
            ask.await.unwrap();
        }
    };
    wigwag::spawn(asked).await.unwrap();
}

/// A message that an actor sends during inline execution is on its way before the caller continues:
/// the actor's next turn may run on another thread, and its messages must not overtake this one.
#[tokio::test]
async fn messages_of_an_actor_leave_before_its_asker_goes_on() {
    let asked = async {
        let last = Quick::default().spawn();
        let first = Quick { next: Some(last.clone()), dropped: Arc::default(), counted: 0 }.spawn();
        let mut seen = 0;
        for number in 0..TRIES {
            // Twice: from its second send on, a turn keeps its messages in a buffer.
            for _ in 0..2 {
                let before = last.handle().unwrap().waiting();
                if at_once(first.pass(number).ask()).await.is_some() {
                    assert_eq!(last.handle().unwrap().waiting(), before + 1);
                    seen += 1;
                }
            }
            last.add(0, 0).ask().await.unwrap();
            // An actor that was taken for slow is measured again by its executor task.
            tokio::task::yield_now().await;
        }
        seen
    };
    assert!(wigwag::spawn(asked).await.unwrap() > 0, "none of {TRIES}");
}

/// Inline execution works for a supervised child too, in each of its lives; a panic there fails
/// only the caller.
#[tokio::test]
async fn a_supervised_actor_is_run_by_its_asker_before_and_after_a_restart() {
    let asked = async {
        let tree = Supervisor::new(Strategy::OneForOne)
            .intensity(u32::MAX, Duration::from_secs(1))
            .child(Child::new("quick", Quick::default));
        let tree = tree.start().await.unwrap();
        let quick = tree.child::<Quick>("quick").await.unwrap().unwrap();
        for _ in 0..3 {
            let mut seen = 0;
            for number in 0..TRIES {
                seen += u64::from(at_once(quick.add(number, 1).ask()).await.is_some());
                tokio::task::yield_now().await;
            }
            assert!(seen > 0, "none of {TRIES}");
            let error = quick.fail().ask().await.unwrap_err().error().clone();
            assert_eq!(error.kind, CallErrorKind::Panicked);
            assert_eq!(quick.add(2, 3).ask().await.unwrap(), 5);
        }
    };
    wigwag::spawn(asked).await.unwrap();
}

#[tokio::test]
async fn an_actor_with_calls_before_it_or_a_rest_ordered_is_not_run() {
    let asked = async {
        let quick = Quick::default().spawn();
        let handle = quick.handle().unwrap();
        for number in 0..TRIES {
            quick.add(number, 1).ask().await.unwrap();
            match number % 3 {
                // Tells made before the ask, in this turn or earlier, are handled first.
                0 => {
                    (0..3).for_each(|_| quick.count().try_tell().unwrap());
                    assert_eq!(quick.counted().ask().await.unwrap(), number + 3);
                }
                // An async handler that waits keeps the state borrowed.
                1 => {
                    let mut waits = pin!(quick.many_steps(1_000).ask());
                    let answer = at_once(waits.as_mut()).await;
                    assert_eq!(quick.add(1, 1).ask().await.unwrap(), 2);
                    let came_first = answer.is_some() || at_once(waits).await.is_some();
                    assert!(came_first);
                }
                _ => {
                    handle.suspend();
                    let mut ask = pin!(quick.add(3, 4).ask());
                    assert!(at_once(ask.as_mut()).await.is_none());
                    handle.resume();
                    assert_eq!(ask.await.unwrap(), 7);
                }
            }
        }
    };
    wigwag::spawn(asked).await.unwrap();
}

#[tokio::test]
async fn an_actor_with_a_thread_of_its_own_stays_there() {
    let asked = async {
        let quick = Quick::default().spawn_with(ActorOptions::default().own_thread());
        let home = quick.thread().ask().await.unwrap().0;
        assert_ne!(home, std::thread::current().id());
        for _ in 0..TRIES {
            assert_eq!(quick.thread().ask().await.unwrap().0, home);
        }
    };
    wigwag::spawn(asked).await.unwrap();
}

#[tokio::test]
async fn an_asker_in_an_endless_loop_lets_the_other_tasks_of_its_thread_run() {
    let quick = Quick::default().spawn();
    let stop = Arc::new(AtomicBool::new(false));
    let stopped = stop.clone();
    let asker = tokio::spawn(async move {
        let mut asks = 0_u64;
        while !stopped.load(Ordering::SeqCst) {
            asks = quick.add(asks, 1).ask().await.unwrap();
        }
        asks
    });
    let stops = tokio::spawn(async move {
        // The actor is known to be quick after these rounds.
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        stop.store(true, Ordering::SeqCst);
    });
    timeout(Duration::from_secs(10), stops).await.unwrap().unwrap();
    timeout(Duration::from_secs(10), asker).await.unwrap().unwrap();
}

#[tokio::test]
async fn a_handler_that_is_always_ready_lets_other_tasks_go_on() {
    let busy = Quick::default().spawn();
    let steps = busy.many_steps(100_000).ask().sent().await.unwrap();
    let other = tokio::spawn(async { tokio::task::yield_now().await });
    let mut steps = pin!(steps);
    tokio::select! {
        biased;
        _ = &mut steps => panic!("it had the thread for itself"),
        other = other => other.unwrap(),
    }
    assert_eq!(timeout(Duration::from_secs(20), steps).await.unwrap().unwrap(), 100_000);
}

#[test]
fn an_actor_runs_in_its_own_runtime_wherever_its_asker_runs() {
    let (one, other) = (wide(), wide());
    let quick = {
        let _entered = one.enter();
        Quick::default().spawn()
    };
    let home = one.handle().id().to_string();
    for runtime in [&one, &other] {
        let (quick, home) = (quick.clone(), home.clone());
        let asked = runtime.spawn(async move {
            for _ in 0..TRIES {
                assert_eq!(quick.runtime().ask().await.unwrap(), home);
            }
        });
        runtime.block_on(asked).unwrap();
    }
    assert_eq!(other.block_on(async { quick.runtime().ask().await.unwrap() }), home);
}

#[test]
fn actors_end_with_their_runtime_asleep_or_not() {
    let dropped = Arc::new(AtomicU64::new(0));
    let runtime = wide();
    let quick = || Quick { next: None, dropped: dropped.clone(), counted: 0 };
    let actors: Vec<QuickRef> = {
        let _entered = runtime.enter();
        (0..1000).map(|_| quick().spawn()).collect()
    };
    runtime.block_on(async {
        for (number, actor) in (0..).zip(&actors[..500]) {
            assert_eq!(actor.add(number, 0).ask().await.unwrap(), number);
        }
    });
    drop(runtime);
    assert_eq!(dropped.load(Ordering::SeqCst), 1000);
    for actor in &actors {
        assert!(actor.add(1, 1).try_tell().is_err());
        assert_eq!(actor.handle().unwrap().reason(), Some(wigwag::Reason::RuntimeGone));
    }
}

/// Each actor has the only reference to the next one. To cancel one inside the other would take more
/// stack than a thread has.
#[test]
fn a_long_chain_of_actors_ends_with_its_runtime() {
    const ACTORS: u64 = 20_000;
    let dropped = Arc::new(AtomicU64::new(0));
    let runtime = wide();
    let quick = || Quick { next: None, dropped: dropped.clone(), counted: 0 };
    let first = runtime.block_on(async {
        let first = quick().spawn();
        let mut last = first.clone();
        for _ in 1..ACTORS {
            let next = quick().spawn();
            last.set_next(next.clone()).ask().await.unwrap();
            last = next;
        }
        first
    });
    assert_eq!(dropped.load(Ordering::SeqCst), 0);
    drop(runtime);
    assert_eq!(dropped.load(Ordering::SeqCst), ACTORS);
    drop(first);
}

#[test]
fn an_actor_for_a_runtime_that_is_gone_has_ended() {
    let dropped = Arc::new(AtomicU64::new(0));
    let runtime = wide();
    let gone = runtime.handle().clone();
    drop(runtime);
    for _ in 0..2 {
        let quick = Quick { next: None, dropped: dropped.clone(), counted: 0 };
        let actor = quick.spawn_with(ActorOptions::default().on(&gone));
        assert_eq!(actor.handle().unwrap().reason(), Some(wigwag::Reason::RuntimeGone));
    }
    assert_eq!(dropped.load(Ordering::SeqCst), 2);
}
