//! Nodes that are dropped without being closed: tells sent before the drop arrive.

use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use tokio::runtime::Builder;
use tokio::sync::oneshot;
use wigwag::{Fault, Node, NodeError};
use wigwag_link::frame::{Frame, kind};
use wigwag_link::{Code, Limits};
use wigwag_testkit::raw::listen;

use super::{Counter, attached, counter_until, granting, patient, service, soon, told};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tells_before_a_drop_arrive() {
    for address in ["tcp://127.0.0.1:0", "inproc://dropped"] {
        let (counter, reaches) = counter_until(100_000);
        let (_service, address) = service(&counter, address).await;
        let client = Node::new();
        let there = client.actor::<Counter>(&address).await.unwrap();
        for _ in 0..100_000 {
            there.add(1).tell().await.unwrap();
        }
        drop((there, client));
        soon(&address, reaches).await.unwrap();
    }
}

/// The peer writes a lot and reads late: its frames reach a node that is gone, and bytes that the
/// peer has not read yet must not be lost for that.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tells_before_a_drop_outlive_a_late_reader() {
    let (node, counter, mut raw) = attached(u64::MAX, Limits::default()).await;
    for _ in 0..100_000 {
        counter.add(1).tell().await.unwrap();
    }
    drop((counter, node));
    for channel in 0..10 {
        let credit = Frame::Credit { channel, limit: 1, handled: 0 };
        raw.tell(&[credit]).await;
    }
    for _ in 0..100_000 {
        assert_eq!(soon("the next tell", told(&mut raw)).await, 1);
    }
    // A dropped node ends its sessions in good order as long as its runtime lives.
    soon("DRAIN", raw.until(kind::DRAIN)).await;
    raw.tell(&[]).await;
    let last = soon("the goodbye", raw.closed()).await;
    assert_eq!(last.map(|(code, _)| code), Some(Code::BYE));
}

/// Bytes of a tell to [`Sink`]: a few hundred of them are more than the sockets' buffers hold.
const SINK_BYTES: usize = 16 * 1024;

struct Sink;

#[wigwag::actor]
impl Sink {
    pub fn take(&mut self, bytes: wigwag::Bytes) {
        drop(bytes);
    }
}

/// No background task runs once the runtime is gone, so the node writes everything while it is
/// being dropped.
#[test]
fn tells_before_a_drop_arrive_though_the_runtime_ends_with_the_node() {
    let (tells_address, address) = std::sync::mpsc::channel();
    let (lets_read, may_read) = oneshot::channel();
    let peer = std::thread::spawn(move || {
        runtime().block_on(async {
            let (listener, address) = listen().await;
            tells_address.send(address).unwrap();
            let mut raw = granting(&listener, u64::MAX, patient()).await;
            soon("the drop", may_read).await.unwrap();
            let mut tells = 0;
            while let Some(seen) = soon("the next frame", raw.frame()).await {
                tells += usize::from(seen.kind == kind::TELL);
            }
            tells
        })
    });
    let runtime = runtime();
    let address = address.recv().unwrap();
    let (node, sink, told) = runtime.block_on(async {
        let node = Node::new();
        let sink = node.actor::<Sink>(&format!("{address}/sink")).await.unwrap();
        let mut told = 0;
        // Fills the unacked window, which holds more than the sockets' buffers.
        while sink.take(vec![7; SINK_BYTES].into()).try_tell().is_ok() {
            told += 1;
        }
        (node, sink, told)
    });
    lets_read.send(()).unwrap();
    drop((sink, node));
    drop(runtime);
    assert!(told > 100, "{told}");
    assert_eq!(peer.join().unwrap(), told);
}

#[test]
fn a_node_whose_runtime_has_ended_says_so_where_it_needs_one() {
    let runtimes = [(); 2].map(|()| runtime());
    let [ended, runs] = runtimes;
    let (node, gone) = ended.block_on(async {
        let (counter, _) = counter_until(u64::MAX);
        let (node, address) = service(&counter, "inproc://gone").await;
        (node, address)
    });
    drop(ended);
    runs.block_on(async {
        for at in ["tcp://127.0.0.1:0", "inproc://the-runtime-runs"] {
            let (counter, _) = counter_until(u64::MAX);
            let (service, address) = service(&counter, at).await;
            let (peer, _) = address.rsplit_once('/').unwrap();
            let outcomes = [
                node.actor::<Counter>(&address).await.err(),
                node.dynamic(&address).await.err(),
                node.list_actors(peer).await.err(),
                node.connect(peer).await.err(),
                node.listen(at).await.err(),
            ];
            for outcome in outcomes {
                let error = outcome.expect("nothing of the node runs");
                assert!(matches!(error, NodeError::RuntimeEnded), "{at}: {error}");
                assert_eq!(error.fault(), Fault::Caller);
            }
            service.close(Duration::ZERO).await;
        }
        // Its actors and its listeners have ended too, and it can be closed.
        let other = Node::new();
        assert!(soon("an end", other.actor::<Counter>(&gone)).await.is_err());
        assert!(soon("the close", node.close(Duration::from_secs(1))).await.is_clean());
    });
}

fn runtime() -> tokio::runtime::Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Tells and asks from this thread, outside the runtime of both nodes, and drops all of them. The
/// result lives as long as that runtime, which keeps its hooks.
fn told_from_outside() -> Weak<()> {
    let kept = Arc::new(());
    let (life, hook) = (Arc::downgrade(&kept), kept);
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(1).enable_all().on_thread_park(move || {
        let _ = &hook;
    });
    let runtime = builder.build().unwrap();
    // It has the hook too.
    drop(builder);
    let (nodes, counter) = runtime.block_on(async {
        let (counter, _) = counter_until(u64::MAX);
        let (service, address) = service(&counter, "tcp://127.0.0.1:0").await;
        let client = Node::new();
        let counter = client.actor::<Counter>(&address).await.unwrap();
        ([service, client], counter)
    });
    // The second tell is held in a buffer of this thread, and those behind it.
    for _ in 0..10 {
        counter.add(1).blocking_tell().unwrap();
    }
    counter.add(1).blocking_ask().unwrap();
    drop((counter, nodes, runtime));
    life
}

#[test]
fn a_thread_that_goes_on_to_other_nodes_keeps_no_runtime_of_those_before() {
    let lives: Vec<_> = (0..4).map(|_| told_from_outside()).collect();
    // Other threads may hold a session for a moment.
    let end = Instant::now() + Duration::from_secs(20);
    while lives[..3].iter().any(|life| life.strong_count() > 0) {
        assert!(Instant::now() < end, "this thread keeps a runtime");
        std::thread::yield_now();
    }
}
