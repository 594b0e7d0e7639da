//! Handlers that never yield: endless loops, and blocked threads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use wigwag::{
    Actor, ActorOptions, CallErrorKind, Local, Reason, lifecycle::Alive, supervise::StopPlan,
};

use super::{Guard, PATIENCE, SECOND, Tally, kind};

/// The argument of a call that may take for ever: a sender that reports its begin, and the
/// condition for its end.
pub(super) struct Stuck {
    pub(super) begun: oneshot::Sender<()>,
    pub(super) until: Until,
}

pub(super) enum Until {
    /// The handler polls this flag in a loop.
    Seen(Arc<AtomicBool>),
    /// The thread blocks on this channel until the sender is dropped.
    Dropped(Receiver<()>),
}

pub(super) struct Rude {
    _state: Guard,
}

#[wigwag::actor]
impl Rude {
    pub fn plain(&self, guard: Local<Guard>) {
        drop(guard);
    }

    pub fn takes_all(&self, stuck: Local<Stuck>, guard: Local<Guard>) {
        // The receiver may be gone.
        let _ = stuck.0.begun.send(());
        match stuck.0.until {
            Until::Seen(end) => {
                while !end.load(Ordering::Acquire) {
                    std::hint::spin_loop();
                }
            }
            // `recv` fails once the sender is gone, which is the end that the handler waits for.
            Until::Dropped(end) => assert!(end.recv().is_err()),
        }
        drop(guard);
    }
}

pub(super) fn rude(options: ActorOptions, tally: &Arc<Tally>) -> RudeRef {
    Rude { _state: tally.guard() }.spawn_with(options)
}

/// Ends a stuck handler when it is dropped.
pub(super) enum Release {
    Sees(Arc<AtomicBool>),
    Drops { _end: Sender<()> },
}

impl Drop for Release {
    fn drop(&mut self) {
        if let Release::Sees(end) = self {
            end.store(true, Ordering::Release);
        }
    }
}

/// The argument of a call that loops or blocks its thread, the notice of its begin, and the release
/// that ends the call when it is dropped.
pub(super) fn stuck(loops: bool) -> (Stuck, oneshot::Receiver<()>, Release) {
    let (begun, begins) = oneshot::channel();
    if loops {
        let end = Arc::new(AtomicBool::new(false));
        return (Stuck { begun, until: Until::Seen(end.clone()) }, begins, Release::Sees(end));
    }
    let (release, end) = channel();
    (Stuck { begun, until: Until::Dropped(end) }, begins, Release::Drops { _end: release })
}

/// An actor whose handler keeps its thread: a caller's ask ends at its time limit, other actors go
/// on, and killing the actor frees all waiting callers at once. The values that the handler holds
/// are dropped when it returns.
async fn a_rude_one(options: ActorOptions, loops: bool) {
    let tally = Arc::new(Tally::default());
    let bad = rude(options, &tally);
    let good = [(); 8].map(|()| rude(ActorOptions::default(), &tally));
    let (stuck, begins, release) = stuck(loops);
    bad.takes_all(Local(stuck), Local(tally.guard())).tell().await.unwrap();
    timeout(PATIENCE, begins).await.unwrap().unwrap();
    let limit = SECOND / 5;
    let (begun, to) = (Instant::now(), bad.clone());
    let late = to.plain(Local(tally.guard())).timeout(limit).ask();
    let neighbours = async {
        for _ in 0..100 {
            for good in &good {
                assert_eq!(kind(good.plain(Local(tally.guard())).ask().await), Ok(()));
            }
        }
    };
    let (late, ()) = tokio::join!(async { (kind(late.await), begun.elapsed()) }, neighbours);
    assert_eq!(late.0, Err(CallErrorKind::Timeout(limit)));
    assert!(late.1 >= limit && late.1 < 5 * limit, "{:?}", late.1);
    let waits: Vec<_> =
        (0..20).map(|_| bad.plain(Local(tally.guard())).try_ask().unwrap()).collect();
    let (handle, begun) = (bad.handle().unwrap(), Instant::now());
    let plan = StopPlan::new().stop("bad", limit, [handle.clone()]);
    let stopped = timeout(5 * limit, plan.run()).await.unwrap();
    assert!(stopped[0].was_killed && begun.elapsed() >= limit);
    assert_eq!(handle.reason(), Some(Reason::Killed));
    for waits in waits {
        let heard = timeout(5 * limit, waits).await.unwrap();
        assert_eq!(heard.unwrap_err().kind, CallErrorKind::ActorStopped);
    }
    assert_eq!(kind(bad.plain(Local(tally.guard())).ask().await), Err(CallErrorKind::ActorStopped));
    // The actor's own state, the argument of its current call, and the neighbours.
    assert_eq!(tally.left(), 2 + good.len() as u64, "the rest is gone by now");
    drop((release, good));
    tally.nothing_is_left().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_endless_loop_on_its_own_thread_holds_up_nobody_else() {
    a_rude_one(ActorOptions::default().own_thread(), true).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_its_own_thread_holds_up_nobody_else() {
    a_rude_one(ActorOptions::default().own_thread(), false).await;
}

/// Blocks another actor, and answers.
struct Instigator {
    other: RudeRef,
}

#[wigwag::actor]
impl Instigator {
    pub fn blocks_the_other(&self, stuck: Local<Stuck>, guard: Local<Guard>) {
        assert!(self.other.takes_all(stuck, guard).try_tell().is_ok());
    }
}

/// Two actors run one after the other on one thread, and the first has just answered a task there
/// when the second blocks it: the other worker takes that task.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_that_was_answered_goes_on_though_the_next_actor_blocks_the_worker() {
    for _ in 0..100 {
        let tally = Arc::new(Tally::default());
        let other = rude(ActorOptions::default(), &tally);
        let (instigator, guard) = (Instigator { other }.spawn(), tally.guard());
        let (stuck, begins, release) = stuck(false);
        let asks = async move {
            kind(instigator.blocks_the_other(Local(stuck), Local(guard)).ask().await)
        };
        let answered = timeout(PATIENCE, tokio::spawn(asks)).await;
        assert_eq!(answered.expect("the asker hears").unwrap(), Ok(()));
        timeout(PATIENCE, begins).await.unwrap().unwrap();
        drop(release);
        tally.nothing_is_left().await;
    }
}

/// One worker is left for all other actors.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_blocks_a_worker_leaves_the_other_one_to_the_neighbours() {
    a_rude_one(ActorOptions::default(), false).await;
}

/// The handler blocks a worker for a while and then returns.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_actor_that_has_blocked_its_worker_for_a_while_handles_the_calls_that_wait() {
    let tally = Arc::new(Tally::default());
    let bad = rude(ActorOptions::default(), &tally);
    let (stuck, begins, release) = stuck(false);
    let taken = bad.takes_all(Local(stuck), Local(tally.guard())).ask().sent().await.unwrap();
    timeout(PATIENCE, begins).await.unwrap().unwrap();
    let waits: Vec<_> =
        (0..20).map(|_| bad.plain(Local(tally.guard())).try_ask().unwrap()).collect();
    let given_up = bad.plain(Local(tally.guard())).timeout(Duration::from_millis(1)).ask().await;
    assert!(matches!(kind(given_up), Err(CallErrorKind::Timeout(_))));
    drop(release);
    timeout(PATIENCE, taken).await.unwrap().unwrap();
    for waits in waits {
        timeout(PATIENCE, waits).await.unwrap().unwrap();
    }
    drop(bad);
    tally.nothing_is_left().await;
}
