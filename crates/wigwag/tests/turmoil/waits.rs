//! The times at which asks of another process give up, if their callers have set no limit: in
//! simulated time, to the millisecond.

use std::time::Duration;

use tokio::time::sleep;
use wigwag::limits::{ASK_WAIT_MAX, HANDLER_WAIT_MAX};
use wigwag::{Actor, CallError, CallErrorKind, NodeOptions};
use wigwag_testkit::ledger::{Ledger, LedgerRef};

use crate::stage::{HOSTS, Outcome, find, network, node, now, place, seeds};

/// Timers have a resolution of a millisecond.
const STEP: Duration = Duration::from_millis(2);

/// Asks in its handler what is never answered.
struct Asker {
    ledger: LedgerRef,
}

#[wigwag::actor(local)]
impl Asker {
    pub async fn ask(&mut self) -> (CallError, Duration) {
        never(&self.ledger).await
    }
}

/// Asks what is never answered; returns the error and how long it took.
async fn never(ledger: &LedgerRef) -> (CallError, Duration) {
    let begun = now();
    let error = ledger.never().ask().await.expect_err("nobody answers").into_error();
    (error, now() - begun)
}

fn assert_waited((error, waited): (CallError, Duration), kind: CallErrorKind, limit: Duration) {
    assert_eq!(error.kind, kind);
    assert!(waited >= limit && waited <= limit + STEP, "{waited:?} instead of {limit:?}");
}

fn assert_outside((error, waited): (CallError, Duration)) {
    assert_waited((error, waited), CallErrorKind::Timeout(ASK_WAIT_MAX), ASK_WAIT_MAX);
}

fn assert_in_handler(ended: (CallError, Duration)) {
    assert_waited(ended, CallErrorKind::Overloaded, HANDLER_WAIT_MAX);
}

/// Asks that begin one after another, some in handlers, beside others that are answered.
async fn together(ledger: &LedgerRef) {
    let mut asks = tokio::task::JoinSet::new();
    for second in [0, 1, 7, 20, 29, 31, 40] {
        let later = Duration::from_secs(second);
        let (one, other) = (ledger.clone(), Asker { ledger: ledger.clone() }.spawn());
        asks.spawn(async move {
            sleep(later).await;
            assert_outside(never(&one).await);
        });
        asks.spawn(async move {
            sleep(later + Duration::from_millis(500)).await;
            let ended = other.ask().without_limit().ask().await;
            assert_in_handler(ended.unwrap_or_else(|_| panic!("it lives")));
        });
    }
    for number in 0..700 {
        assert_eq!(ledger.count(1, number).ask().await.expect("it answers"), number + 1);
        sleep(Duration::from_millis(100)).await;
    }
    while let Some(ended) = asks.join_next().await {
        ended.expect("each gives up in time");
    }
}

async fn dialer() -> Outcome {
    let node = node(HOSTS[0], NodeOptions::default()).await?;
    let ledger: LedgerRef = find::<Ledger>(&node, &place(HOSTS[1], "ledger")).await;
    assert_outside(never(&ledger).await);
    together(&ledger).await;
    // Nobody has waited for a while.
    sleep(2 * ASK_WAIT_MAX).await;
    assert_outside(never(&ledger).await);
    // The time goes on while the session has no connection, for which it is kept longer than this.
    let asker = Asker { ledger: ledger.clone() }.spawn();
    turmoil::partition(HOSTS[0], HOSTS[1]);
    let ended = asker.ask().without_limit().ask().await;
    assert_in_handler(ended.unwrap_or_else(|_| panic!("it lives")));
    Ok(())
}

#[test]
fn an_ask_gives_up_when_its_limit_is_over_whatever_other_asks_do() {
    seeds(3, |seed| {
        let mut simulation = network(seed, Duration::from_millis(5));
        simulation.host(HOSTS[1], || async {
            let _node = node(HOSTS[1], NodeOptions::default()).await?;
            std::future::pending().await
        });
        simulation.client(HOSTS[0], dialer());
        simulation.run().expect("each gives up in time");
    });
}
