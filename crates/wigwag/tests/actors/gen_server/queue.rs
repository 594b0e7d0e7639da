//! Asks behind a huge queue: they are handled in order, and each gets an outcome.

use wigwag::{Actor, ActorOptions, CallErrorKind, lifecycle::Alive};

use super::server::soon;

/// Tells that wait before the ask.
const TELLS: u64 = 100_000;

/// Counts its tells and checks their order.
#[derive(Default)]
struct Counter {
    told: u64,
    out_of_order: u64,
    asked: Vec<u64>,
}

#[wigwag::actor]
impl Counter {
    pub fn tell(&mut self, number: u64) {
        self.out_of_order += u64::from(number != self.told);
        self.told += 1;
    }

    pub fn ask(&mut self, number: u64) -> (u64, u64, u64) {
        self.asked.push(number);
        (number, self.told, self.out_of_order)
    }
}

/// A suspended counter whose mailbox holds all the tells.
fn behind_a_queue() -> CounterRef {
    let options = ActorOptions::default().mailbox_calls(2 * TELLS as usize);
    let counter = Counter::default().spawn_with(options);
    counter.handle().unwrap().suspend();
    for number in 0..TELLS {
        counter.tell(number).try_tell().unwrap();
    }
    counter
}

/// gen_server_SUITE: call_with_huge_message_queue. Asks behind a hundred thousand tells are
/// answered after them, in order; so are asks that alternate with further tells.
#[tokio::test]
async fn asks_behind_a_huge_queue_are_answered_in_order() {
    let counter = behind_a_queue();
    let handle = counter.handle().unwrap();
    let mut asks = Vec::new();
    for number in 0..1000 {
        asks.push(counter.ask(number).try_ask().unwrap());
        counter.tell(TELLS + number).try_tell().unwrap();
    }
    assert_eq!(handle.waiting() as u64, TELLS + 2000);
    handle.resume();
    for (number, ask) in (0..).zip(asks) {
        assert_eq!(soon(ask).await.unwrap(), (number, TELLS + number, 0));
    }
    assert_eq!(soon(counter.ask(1000).ask()).await.unwrap(), (1000, TELLS + 1000, 0));
    assert!(counter.visit(|counter| counter.asked.iter().copied().eq(0..=1000)).await.unwrap());
}

/// gen_server_SUITE: call_with_huge_message_queue, crash. The server ends before such a queue is
/// handled: each ask in it fails.
#[tokio::test]
async fn asks_behind_a_huge_queue_end_with_their_server() {
    for kills in [true, false] {
        let counter = behind_a_queue();
        let handle = counter.handle().unwrap();
        let asks: Vec<_> = (0..1000).map(|number| counter.ask(number).try_ask().unwrap()).collect();
        match kills {
            true => handle.kill(),
            false => handle.stop(),
        };
        for ask in asks {
            assert_eq!(soon(ask).await.unwrap_err().kind, CallErrorKind::ActorStopped);
        }
        soon(handle.ended()).await;
        assert_eq!(handle.waiting(), 0, "nothing of the queue is kept");
    }
}
