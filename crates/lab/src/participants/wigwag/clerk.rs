//! The parts that the servers share: the port, and the account of many actors.

use wigwag::Node;

use super::sp::transport::port;
use crate::contract::{Counts, Failure, print_line, ready_until_input_ends, sequences};

/// Listens over tcp, says so, and serves until the process ends.
pub(super) async fn serve_node(node: &Node) -> Result<(), Failure> {
    serve_node_at(node, "tcp://127.0.0.1:0").await
}

/// Serves at another address.
pub(super) async fn serve_node_at(node: &Node, address: &str) -> Result<(), Failure> {
    let bound = node.listen(address).await?.to_string();
    ready_until_input_ends(port(&bound))?;
    std::future::pending().await
}

/// An actor that has counted.
#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
pub(super) trait Counted {
    /// The counts of each of its sequences.
    fn counts(&self) -> Vec<Counts>;
}

/// Prints the account of all of them.
pub(super) struct Clerk {
    pub(super) counted: Vec<CountedRef>,
}

#[wigwag::actor]
impl Clerk {
    /// True on success.
    pub async fn finish(&mut self) -> bool {
        let mut all = Vec::new();
        for counted in &self.counted {
            let Ok(counts) = counted.counts().ask().await else { return false };
            all.extend(counts);
        }
        print_line(&sequences(&all).to_string()).is_ok()
    }
}
