//! A call is sent by `tell` or `ask`.

use wigwag::Actor;

struct Counter;

#[wigwag::actor]
impl Counter {
    pub fn add(&mut self, amount: u64) -> u64 {
        amount
    }
}

async fn add() -> u64 {
    let counter = Counter.spawn();
    counter.add(1).await;
    let call = counter.add(2);
    call.await
}

fn main() {
    drop(add());
}
