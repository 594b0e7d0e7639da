//! The listeners of a node: the task of each one, and the addresses at which others reach the node.

use std::sync::{Arc, Mutex};

use tokio::task::JoinHandle;
use wigwag_net::Address;
use wigwag_net::transport::transport;

use crate::lock::lock;
use crate::session::references::value::{ADDRESS_BYTES_MAX, ADDRESSES_MAX};

/// The listeners of a node, until it is closed.
#[derive(Default)]
pub(crate) struct Listeners(Mutex<Table>);

#[derive(Default)]
struct Table {
    listening: Vec<Listening>,
    /// The addresses that references to actors of the node carry.
    advertised: Vec<Arc<str>>,
    is_closed: bool,
}

struct Listening {
    address: Address,
    task: JoinHandle<()>,
}

impl Listeners {
    /// Adds the listener at `address`, whose connections `begin` accepts in a task. `None` if the node
    /// is closed; then no task has begun.
    pub(crate) fn add(
        &self,
        address: &Address,
        begin: impl FnOnce() -> JoinHandle<()>,
    ) -> Option<()> {
        let mut table = lock(&self.0);
        if table.is_closed {
            return None;
        }
        // Those that connections were handed over to end with whoever has done so.
        table.listening.retain(|listening| !listening.task.is_finished());
        table.listening.push(Listening { address: address.clone(), task: begin() });
        table.advertise();
        Some(())
    }

    /// Stops listening at `address`, and returns the tasks that end by that.
    pub(crate) fn stop(&self, address: &Address) -> Vec<JoinHandle<()>> {
        let mut table = lock(&self.0);
        let stopped = table.listening.extract_if(.., |listening| listening.address == *address);
        let stopped = stopped.map(Listening::abort).collect();
        table.advertise();
        stopped
    }

    /// Stops all listeners and admits no more, and returns the tasks that end by that.
    pub(crate) fn close(&self) -> Vec<JoinHandle<()>> {
        let mut table = lock(&self.0);
        table.is_closed = true;
        table.listening.drain(..).map(Listening::abort).collect()
    }

    /// The addresses that references to actors of the node carry.
    pub(crate) fn advertised(&self) -> Vec<Arc<str>> {
        lock(&self.0).advertised.clone()
    }
}

impl Table {
    fn advertise(&mut self) {
        let addresses =
            self.listening.iter().filter_map(|listening| advertised(&listening.address));
        self.advertised = addresses.take(ADDRESSES_MAX).collect();
    }
}

impl Listening {
    fn abort(self) -> JoinHandle<()> {
        self.task.abort();
        self.task
    }
}

/// The form of `address` that references carry, unless other machines or programs cannot mean this node
/// by it.
fn advertised(address: &Address) -> Option<Arc<str>> {
    let text = address.to_string();
    let is_any = ["://0.0.0.0:", "://[::]:"].iter().any(|any| text.contains(any));
    // Connections come there from a server of this process, as a gateway.
    let is_handed_over = transport(address).is_err() || text.starts_with("ws://@");
    (!is_any && !is_handed_over && text.len() <= ADDRESS_BYTES_MAX).then(|| text.into())
}

/// Waits until the tasks have ended, which frees their addresses.
pub(crate) async fn ended(tasks: Vec<JoinHandle<()>>) {
    for task in tasks {
        // It was aborted.
        let _ = task.await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn references_carry_addresses_that_the_node_listens_at_and_others_can_dial() {
        let listeners = Listeners::default();
        let add = |text: &str| {
            let address: Address = text.parse().unwrap();
            listeners.add(&address, || tokio::spawn(std::future::pending())).unwrap();
        };
        let (any, handed_over) = ("tcp://0.0.0.0:1", "ws://@1/session");
        let most: Vec<String> =
            (0..=ADDRESSES_MAX).map(|number| format!("tcp://127.0.0.1:{}", 2 + number)).collect();
        [any, handed_over].into_iter().chain(most.iter().map(String::as_str)).for_each(add);
        let long = format!("inproc://{}", "x".repeat(ADDRESS_BYTES_MAX));
        add(&long);
        let advertised = || {
            let addresses = listeners.advertised();
            addresses.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(advertised(), most[..ADDRESSES_MAX]);

        let stopped = listeners.stop(&most[0].parse().unwrap());
        assert_eq!(stopped.len(), 1);
        ended(stopped).await;
        assert_eq!(advertised(), most[1..]);
    }

    #[tokio::test]
    async fn a_listener_is_not_added_to_a_closed_node() {
        let listeners = Listeners::default();
        let address: Address = "tcp://127.0.0.1:1".parse().unwrap();
        assert!(listeners.close().is_empty());
        assert!(listeners.add(&address, || unreachable!("a task has begun")).is_none());
    }
}
