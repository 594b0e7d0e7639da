//! What stands around a program: the runtime of `main`, tasks that send in turns, and the nodes
//! that must be closed at the end.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, Weak};

use tokio::runtime::{Builder, Handle};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use wigwag_actor::turn;

use super::Node;
use super::close::close_sessions;
use super::inner::Inner;
use crate::limits::{DROP_WAIT, MAIN_CLOSE};
use crate::lock::lock;
use crate::session::Session;

static NODES: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

/// The ends of nodes that were dropped, for as long as they take.
static CLOSING: Mutex<Vec<JoinHandle<()>>> = Mutex::new(Vec::new());

/// Every node is closed when `#[wigwag::main]` ends.
pub(crate) fn register(node: &Arc<Inner>) {
    let mut nodes = lock(&NODES);
    nodes.retain(|node| node.strong_count() > 0);
    nodes.push(Arc::downgrade(node));
}

/// Runs `future` with `runtime` as the current one, whichever thread polls it.
pub(crate) async fn enter<F: Future>(runtime: &Handle, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        // Held for this poll only: the next one may come on another thread.
        let _entered = runtime.enter();
        future.as_mut().poll(context)
    })
    .await
}

/// Ends the links of a node that was dropped, in the background and in good order.
pub(crate) fn close_in_background(runtime: &Handle, sessions: Vec<Arc<Session>>) {
    if sessions.is_empty() {
        return;
    }
    let task = runtime.spawn(async move {
        let end = Instant::now() + DROP_WAIT;
        close_sessions(sessions, end, "this node was dropped").await;
    });
    let mut closing = lock(&CLOSING);
    closing.retain(|task| !task.is_finished());
    closing.push(task);
}

/// Starts a task on the current runtime whose polls are turns: what it tells within one poll is
/// published and written once, at the poll's end. A task that sends much belongs here; in a plain
/// `tokio::spawn` each message is published by itself.
///
/// # Panics
/// Outside a tokio runtime.
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    tokio::spawn(turn::in_turns(future))
}

/// What `#[wigwag::main]` was given.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MainOptions {
    pub current_thread: bool,
    pub worker_threads: Option<usize>,
}

/// Runs `main` in turns on a runtime of its own, then closes the nodes that are left.
///
/// # Panics
/// When no runtime can be made.
#[doc(hidden)]
pub fn run_main<F: Future>(options: MainOptions, main: F) -> F::Output {
    let mut builder = match options.current_thread {
        true => Builder::new_current_thread(),
        false => Builder::new_multi_thread(),
    };
    if let Some(threads) = options.worker_threads {
        builder.worker_threads(threads);
    }
    let runtime = builder.enable_all().build().expect("the operating system can start threads");
    runtime.block_on(async {
        let output = turn::in_turns(main).await;
        let nodes: Vec<Arc<Inner>> = lock(&NODES).drain(..).filter_map(|n| n.upgrade()).collect();
        for inner in nodes {
            let report = Node { inner }.close(MAIN_CLOSE).await;
            if !report.is_clean() {
                tracing::warn!(?report, "main has ended with messages on their way");
            }
        }
        let closing = std::mem::take(&mut *lock(&CLOSING));
        for task in closing {
            // One that panicked is over as well.
            let _ = task.await;
        }
        output
    })
}
