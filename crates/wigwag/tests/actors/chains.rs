//! Chains of actors, each of which holds the only reference to the next one: their end takes no more
//! stack than that of one actor.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, OnceLock};

use wigwag::Actor;

/// More than fit on the stack of a thread if each took 100 bytes of it.
const LINKS: usize = 100_000;

struct Link {
    /// Set after all links were spawned, so that each is cancelled before the one that it keeps.
    _next: Arc<OnceLock<LinkRef>>,
    dropped: Sender<()>,
}

#[wigwag::actor]
impl Link {
    pub fn hold(&self) {}
}

impl Drop for Link {
    fn drop(&mut self) {
        self.dropped.send(()).unwrap();
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap()
}

fn chain(dropped: &Sender<()>) -> LinkRef {
    let nexts: Vec<Arc<OnceLock<LinkRef>>> = (0..LINKS).map(|_| Arc::default()).collect();
    let link = |next: &Arc<OnceLock<LinkRef>>| {
        Link { _next: next.clone(), dropped: dropped.clone() }.spawn()
    };
    let links: Vec<LinkRef> = nexts.iter().map(link).collect();
    for (next, link) in nexts.iter().zip(&links[1..]) {
        next.set(link.clone()).ok().unwrap();
    }
    links[0].clone()
}

#[test]
fn a_runtime_that_shuts_down_ends_a_chain() {
    let (dropped, ends) = channel();
    let runtime = runtime();
    let first = runtime.block_on(async { chain(&dropped) });
    drop(runtime);
    drop((first, dropped));
    assert_eq!(ends.iter().count(), LINKS);
}

#[test]
fn a_chain_ends_with_the_last_reference_to_its_first_actor() {
    let (dropped, ends) = channel();
    let runtime = runtime();
    drop(runtime.block_on(async { chain(&dropped) }));
    drop(dropped);
    assert_eq!(ends.iter().count(), LINKS);
    drop(runtime);
}
