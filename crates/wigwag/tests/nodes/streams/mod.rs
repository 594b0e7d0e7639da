//! Streams of items from an actor of another node.

mod credit;
mod cuts;
mod ends;
mod order;
mod values;
mod wire;

use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;
use std::time::Duration;

use tokio::sync::Notify;
use wigwag::lifecycle::Alive;
use wigwag::{Actor, Bytes, CallErrorKind, Interface, Node, NodeOptions, Streaming, Yield};
use wigwag_testkit::ledger::in_time;

use crate::references::{MemberRef, member};

/// The longest wait for what comes in the end.
const PATIENCE: Duration = Duration::from_secs(60);

/// The record of a producer.
#[derive(Default)]
pub(crate) struct Produced {
    sent: AtomicU64,
    /// The consumer has gone.
    unwanted: AtomicU64,
    has_changed: Notify,
}

impl Produced {
    pub(crate) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }

    pub(crate) async fn until(&self, is_so: impl Fn(&Produced) -> bool) {
        in_time(PATIENCE, async {
            loop {
                let changed = self.has_changed.notified();
                if is_so(self) {
                    return;
                }
                changed.await;
            }
        })
        .await;
    }

    /// Sends numbers until all are sent or the consumer has gone.
    async fn numbers(&self, count: u64, mut items: Yield<u64>) {
        for number in 0..count {
            if items.send(number).await.is_err() {
                self.unwanted.fetch_add(1, Ordering::SeqCst);
                self.has_changed.notify_waiters();
                return;
            }
            self.sent.fetch_add(1, Ordering::SeqCst);
            self.has_changed.notify_waiters();
        }
        items.finish();
    }
}

/// An actor that produces streams in several ways.
#[derive(Default)]
pub(crate) struct Source {
    produced: Arc<Produced>,
    kept: Vec<Yield<u64>>,
    begun: u64,
}

#[wigwag::actor]
impl Source {
    /// Sends from a task, while the actor goes on.
    pub fn numbers(&mut self, count: u64, items: Yield<u64>) {
        self.begun += 1;
        let produced = self.produced.clone();
        tokio::spawn(async move { produced.numbers(count, items).await });
    }

    /// Sends from inside the handler.
    pub async fn inside(&mut self, count: u64, items: Yield<u64>) {
        self.produced.numbers(count, items).await;
    }

    /// Sends some items in the turn of the handler, and the others from a task, which another thread
    /// may run at once.
    pub fn moving(&mut self, count: u64, mut items: Yield<u64>) {
        for number in 0..count / 2 {
            items.try_send(number).unwrap();
        }
        tokio::spawn(async move {
            for number in count / 2..count {
                items.send(number).await.unwrap();
            }
            items.finish();
        });
        std::thread::sleep(Duration::from_millis(1));
    }

    /// Items of these sizes. Returns how many came back in the count of what was unwanted.
    pub async fn blocks(&mut self, sizes: Vec<u64>, mut items: Yield<Bytes>) {
        for size in sizes {
            let item = Bytes::from(vec![size as u8; size as usize]);
            match items.send(item.clone()).await {
                Ok(()) => drop(self.produced.sent.fetch_add(1, Ordering::SeqCst)),
                Err(unwanted) => {
                    assert_eq!(unwanted.0, item, "it is not lost");
                    self.produced.unwanted.fetch_add(1, Ordering::SeqCst);
                    return;
                }
            }
        }
        items.finish();
    }

    /// References as items.
    pub fn members(&mut self, count: u64, mut items: Yield<Option<MemberRef>>) {
        for at in 0..count {
            let (member, _) = member(&at.to_string());
            items.try_send((at % 2 == 0).then_some(member)).unwrap();
        }
        items.finish();
    }

    pub fn keep(&mut self, mut items: Yield<u64>) {
        items.try_send(7).unwrap();
        self.kept.push(items);
    }

    pub fn lose(&mut self) {
        self.kept.clear();
    }

    pub fn fail(&mut self) {
        self.kept.drain(..).for_each(|items| items.fail(5, "no more"));
    }

    pub fn panic_after(&mut self, count: u64, mut items: Yield<u64>) {
        (0..count).for_each(|number| items.try_send(number).unwrap());
        panic!("on purpose");
    }

    pub fn begun(&self) -> u64 {
        self.begun
    }

    /// Sends from the turn of the handler, and ends the stream on another thread before the turn has
    /// ended: in one of three ways.
    pub fn leaving(&mut self, count: u64, way: u8, mut items: Yield<u64>) {
        (0..count).for_each(|number| items.try_send(number).unwrap());
        let end = move || match way {
            0 => items.finish(),
            1 => items.fail(5, "no more"),
            _ => drop(items),
        };
        std::thread::spawn(end).join().unwrap();
    }
}

pub(crate) type Numbers = Streaming<Source, u64>;

/// Two nodes, one of which has a source.
pub(crate) struct Nodes {
    pub(crate) service: Node,
    pub(crate) client: Node,
    pub(crate) source: SourceRef,
    pub(crate) address: String,
    /// The source in its own process.
    pub(crate) here: SourceRef,
    pub(crate) produced: Arc<Produced>,
}

pub(crate) async fn nodes() -> Nodes {
    nodes_with(NodeOptions::default()).await
}

pub(crate) async fn nodes_with(options: NodeOptions) -> Nodes {
    let [service, client] = [(); 2].map(|()| Node::with(options.clone()));
    let source = Source::default();
    let produced = source.produced.clone();
    let here = source.spawn();
    service.export("source", &here).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let address = format!("{bound}/source");
    let source = client.actor::<Source>(&address).await.unwrap();
    Nodes { service, client, source, address, here, produced }
}

/// The next item, which comes in time.
pub(crate) async fn next<I: Interface, T: Send + 'static>(
    items: &mut Streaming<I, T>,
) -> Option<Result<T, wigwag::CallError>> {
    in_time(PATIENCE, items.next()).await
}

/// The number of items, which are those from `first` on, and the error that ended the stream, if
/// any.
pub(crate) async fn count(items: &mut Numbers, first: u64) -> (u64, Option<CallErrorKind>) {
    let mut number = first;
    loop {
        match next(items).await {
            Some(Ok(item)) => {
                assert_eq!(item, number);
                number += 1;
            }
            end => {
                assert!(next(items).await.is_none(), "the end is told once");
                let error = end.and_then(Result::err).map(|error| error.kind);
                return (number - first, error);
            }
        }
    }
}

/// Sends the calls of streams whose items are taken later, before the first of which is handled.
pub(crate) async fn begin_all<T: Send + 'static>(
    nodes: &Nodes,
    streams: &mut [Streaming<Source, T>],
) {
    let actor = nodes.here.handle().unwrap();
    actor.suspend();
    for items in streams {
        begin(items).await;
    }
    actor.resume();
}

/// Sends the call of a stream whose items are taken later, to a peer that sends none meanwhile.
pub(crate) async fn begin<T: Send + 'static>(items: &mut Streaming<Source, T>) {
    let pending = poll_fn(|context| Poll::Ready(items.poll_next(context).is_pending())).await;
    assert!(pending, "nothing was sent yet");
}
