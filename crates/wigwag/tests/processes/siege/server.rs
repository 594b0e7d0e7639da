//! The node under siege, in a process with at most 256 MiB of address space.

use std::time::Duration;

use rustix::process::{Resource, Rlimit, setrlimit};
use tokio::time::{Instant, sleep};
use wigwag::{Actor, Node, NodeOptions};
use wigwag_testkit::child::{self, Child};

use super::PATIENCE;

/// Address space of the server's process, an upper bound on its resident memory.
const ADDRESS_SPACE: u64 = 256 * 1024 * 1024;

/// Bytes that its peers together may make the server hold.
const PEER_MEMORY: u64 = 64 * 1024 * 1024;

/// How long the server keeps a session that was cut; short, so that a row can see it end.
const TTL: Duration = Duration::from_secs(2);

/// Descriptors that the process may have more than before, opened by its runtime meanwhile.
const DESCRIPTORS_SPARE: usize = 4;

#[derive(Default)]
pub(crate) struct Sum;

#[wigwag::actor]
impl Sum {
    pub fn add(&mut self, a: u64, b: u64) -> u64 {
        a + b
    }
}

#[derive(Default)]
pub(crate) struct Slow;

#[wigwag::actor]
impl Slow {
    pub async fn take(&mut self, _bytes: Vec<u8>) {
        sleep(Duration::from_millis(20)).await;
    }
}

/// The body of the server's process; `role` is the number of descriptors that it may have.
pub(crate) fn serve(role: &str) {
    let limit = |resource, most: u64| {
        setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) }).unwrap();
    };
    limit(Resource::Nofile, role.parse().unwrap());
    limit(Resource::As, ADDRESS_SPACE);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .max_blocking_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let options = NodeOptions::default().peer_memory(PEER_MEMORY).keep_sessions(TTL);
        let node = Node::with(options);
        node.export("sum", &Sum.spawn()).unwrap();
        node.export("slow", &Slow.spawn()).unwrap();
        let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
        child::say(&bound.to_string());
        tokio::task::spawn_blocking(child::wait_for_parent).await.unwrap();
    });
}

/// The server's process, as the test sees it.
pub(crate) struct Server {
    child: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) async fn start(descriptors: u64) -> Server {
        let start = move || Child::start("siege::child_server", &descriptors.to_string());
        let child = tokio::task::spawn_blocking(start).await.unwrap();
        let address = child.said.clone();
        Server { child, address }
    }

    /// How many descriptors the process has open.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.child.pid())).expect("it lives").count()
    }

    pub(crate) fn kib(&self, field: &str) -> u64 {
        let path = format!("/proc/{}/status", self.child.pid());
        let status = std::fs::read_to_string(path).expect("it lives");
        let line =
            status.lines().find_map(|line| line.strip_prefix(field)).expect("Linux tells it");
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    pub(crate) fn peak_mib(&self) -> u64 {
        self.kib("VmHWM:") / 1024
    }

    /// Waits until the process has as many descriptors open as before.
    pub(crate) async fn is_back_at(&self, before: usize) {
        let end = Instant::now() + PATIENCE;
        while self.descriptors() > before + DESCRIPTORS_SPARE {
            assert!(Instant::now() < end, "{} are open, {before} were", self.descriptors());
            // Descriptors of another process cannot be waited for.
            sleep(Duration::from_millis(20)).await;
        }
    }
}
