//! Tells ten thousand things and returns at once. None is lost: `#[wigwag::main]` ends only when
//! they have arrived.
//!
//! `cargo run --example farewell tcp://127.0.0.1:7001/counter`

use std::error::Error;

use wigwag::Node;

/// The reference to the actor at the other end.
#[wigwag::actor]
trait Counter {
    fn add(&mut self, amount: u64);
}

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("usage: farewell ADDRESS")?;
    let node = Node::new();
    let counter = node.actor::<CounterInterface>(&address).await?;
    for _ in 0..10_000 {
        counter.add(1).tell().await?;
    }
    Ok(())
}
