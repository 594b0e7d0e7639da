//! The runtime of `main`, tasks that run in turns, and the nodes that are closed at the end of
//! `main`.

use std::future::{Future, pending, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex, Weak};

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot::{self, error::TryRecvError};
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

/// The ends of the tasks that close dropped nodes in the background: each task has the sender, and
/// drops it. A handle of the task would keep its runtime after the end of both, with descriptors.
static CLOSING: Mutex<Vec<oneshot::Receiver<()>>> = Mutex::new(Vec::new());

/// Registers a node, so that it is closed when `#[wigwag::main]` ends.
pub(crate) fn register(node: &Arc<Inner>) {
    let mut nodes = lock(&NODES);
    nodes.retain(|node| node.strong_count() > 0);
    nodes.push(Arc::downgrade(node));
}

/// Runs `future` with `runtime` as the current one, on whichever thread polls it.
pub(crate) async fn enter<F: Future>(runtime: &Handle, future: F) -> F::Output {
    let mut future = pin!(future);
    poll_fn(|context| {
        // Entered for one poll only: the next one may be on another thread.
        let _entered = runtime.enter();
        future.as_mut().poll(context)
    })
    .await
}

/// True if a runtime has ended, or ends now: it drops new tasks at once.
pub(crate) fn has_ended(runtime: &Handle) -> bool {
    let is_held = Arc::new(());
    let held = is_held.clone();
    let task = runtime.spawn(async move {
        let _held = held;
        pending::<()>().await;
    });
    let has_ended = Arc::strong_count(&is_held) == 1;
    task.abort();
    has_ended
}

/// Closes the sessions of a dropped node in the background.
pub(crate) fn close_in_background(runtime: &Handle, sessions: Vec<Arc<Session>>) {
    if sessions.is_empty() {
        return;
    }
    let (ends, ended) = oneshot::channel();
    runtime.spawn(async move {
        let _ends = ends;
        let end = Instant::now() + DROP_WAIT;
        close_sessions(sessions, end, "this node was dropped").await;
    });
    let mut closing = lock(&CLOSING);
    closing.retain_mut(|ended| matches!(ended.try_recv(), Err(TryRecvError::Empty)));
    closing.push(ended);
}

/// Spawns a task on the current tokio runtime whose polls are turns: what the task sends during one
/// poll is published and written together at the end of that poll.
///
/// Use it for tasks that send much, to several actors in turn or to actors of this process. In a
/// plain `tokio::spawn`, only consecutive tells to one actor of another process share a publication.
///
/// ```
/// use wigwag::Actor;
///
/// #[derive(Default)]
/// struct Counter {
///     total: u64,
/// }
///
/// #[wigwag::actor]
/// impl Counter {
///     pub fn add(&mut self, amount: u64) -> u64 {
///         self.total += amount;
///         self.total
///     }
/// }
///
/// # #[wigwag::main]
/// # async fn main() -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
/// let counter = Counter::default().spawn();
/// let sender = counter.clone();
/// let task = wigwag::spawn(async move {
///     for _ in 0..1000 {
///         sender.add(1).tell().await.expect("the counter lives");
///     }
/// });
/// task.await?;
/// assert_eq!(counter.add(0).ask().await?, 1000);
/// # Ok(()) }
/// ```
///
/// # Cancellation
/// Dropping the handle lets the task run on; [`abort`](tokio::task::JoinHandle::abort) ends it at
/// its next poll.
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

/// Options of `#[wigwag::main]`.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct MainOptions {
    pub current_thread: bool,
    pub worker_threads: Option<usize>,
}

/// Runs `main` in turns on a runtime of its own, then closes the remaining nodes.
///
/// # Panics
/// If no runtime can be created.
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
        for ended in closing {
            // Nothing is sent: a task that has ended, or has panicked, is the end of the channel.
            let _ = ended.await;
        }
        output
    })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// A runtime keeps its hooks as long as anything keeps the runtime.
    #[test]
    fn nothing_keeps_the_runtime_of_a_node_that_was_dropped() {
        let kept = Arc::new(());
        let hook = kept.clone();
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).enable_all().on_thread_park(move || {
            let _ = &hook;
        });
        let runtime = builder.build().unwrap();
        // It has the hook too.
        drop(builder);
        runtime.block_on(async {
            let [service, client] = [(); 2].map(|()| Node::new());
            let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
            client.connect(&bound.to_string()).await.unwrap();
        });
        drop(runtime);
        // Another thread may hold a session for a moment.
        let end = std::time::Instant::now() + Duration::from_secs(20);
        while Arc::strong_count(&kept) > 1 {
            assert!(std::time::Instant::now() < end, "something keeps the runtime");
            std::thread::yield_now();
        }
    }
}
