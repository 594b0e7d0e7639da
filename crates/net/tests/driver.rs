//! The driver of a connection, with a handler of the test's own.
#![allow(clippy::unwrap_used, reason = "a test may panic, and so may its helpers")]
#![allow(clippy::disallowed_types, reason = "no model runs these tests")]

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::yield_now;
use wigwag_net::driver::{ConnectionHandler, Flow, Flusher, drive};
use wigwag_net::transport::{self, Connection};
use wigwag_net::{Address, ListenOptions};
use wigwag_spin::{Spin, SpinPolicy};
use wigwag_wire::{Batch, ReadBuf, Time};

/// Takes what arrives, and counts how often the driver runs.
struct Counting {
    spin: SpinPolicy,
    bytes: AtomicUsize,
    runs: AtomicUsize,
}

impl ConnectionHandler for Counting {
    type Error = Infallible;

    fn read(&self, input: &mut ReadBuf, _now: Time) -> Result<(), Infallible> {
        self.bytes.fetch_add(input.len(), Ordering::Relaxed);
        input.skip(usize::MAX);
        Ok(())
    }

    fn fill(&self, _batch: &mut Batch, _now: Time) {}

    fn tick(&self, _now: Time) -> Result<(), Infallible> {
        Ok(())
    }

    fn deadline(&self) -> Option<Time> {
        None
    }

    fn flow(&self) -> Flow {
        self.runs.fetch_add(1, Ordering::Relaxed);
        Flow::Open
    }

    fn spin(&self) -> Option<Spin<'_>> {
        self.spin.begin()
    }
}

async fn connected() -> (Connection, Connection) {
    let at = Address::new("tcp", "127.0.0.1:0");
    let listener = transport::listen(&at, ListenOptions::default()).await.unwrap();
    let dialing = transport::dial(listener.address());
    let (ours, theirs) = tokio::join!(listener.accept(), dialing);
    (ours.unwrap(), theirs.unwrap())
}

/// Runs of the driver while the tasks of its runtime yield a hundred times behind two reads.
async fn runs_behind_reads(limit: Duration) -> usize {
    let (mut ours, theirs) = connected().await;
    let handler = Arc::new(Counting {
        spin: SpinPolicy::spinning(limit),
        bytes: AtomicUsize::new(0),
        runs: AtomicUsize::new(0),
    });
    let driven = handler.clone();
    let driving = tokio::spawn(async move {
        let flusher = Flusher::new(ours.outlet.clone());
        drive(&*driven, &mut *ours.reader, &mut ReadBuf::new(), &flusher).await
    });
    for bytes in [4, 8] {
        theirs.outlet.writable().await.unwrap();
        theirs.outlet.try_write(&[std::io::IoSlice::new(b"word")]).unwrap();
        while handler.bytes.load(Ordering::Relaxed) < bytes {
            yield_now().await;
        }
    }
    let before = handler.runs.load(Ordering::Relaxed);
    for _ in 0..100 {
        yield_now().await;
    }
    driving.abort();
    handler.runs.load(Ordering::Relaxed) - before
}

#[tokio::test]
async fn a_driver_that_spins_runs_again_and_again_and_another_one_sleeps() {
    let spins = runs_behind_reads(Duration::from_secs(3600)).await;
    assert!(spins >= 50, "{spins}");
    // Once, to see that nothing else has come.
    let sleeps = runs_behind_reads(Duration::ZERO).await;
    assert!(sleeps <= 2, "{sleeps}");
}
