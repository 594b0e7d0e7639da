//! How an SP socket treats hostile and broken peers, and the cost.
//!
//! One table. A row has the bytes that the wrong peer sends, the socket that gets them, the fate of
//! the connection and of its messages, and the counters that change: no other one may. A sound peer
//! of the same socket works before, during or after it. Each row runs over each stream transport,
//! against a fresh socket.
#![allow(clippy::unwrap_used, reason = "a test may panic, and so may its helpers")]

mod peer;
mod subject;
mod row;
mod run;
mod handshakes;
mod lengths;
mod backtraces;
mod replies;
mod hop_counts;
mod bodies;
mod dialled;
mod crowds;
#[path = "../support/memory.rs"]
mod memory;

use memory::Memory;
use peer::Place;
use row::Row;

/// Rows that each transport must have at least.
const ROWS_MIN: usize = 100;

fn rows() -> Vec<Row> {
    let groups = [
        handshakes::rows(),
        lengths::rows(),
        backtraces::rows(),
        replies::rows(),
        hop_counts::rows(),
        bodies::rows(),
    ];
    groups.into_iter().flatten().collect()
}

async fn play_all(place: Place) {
    let memory = Memory::of_self();
    let rows: Vec<Row> = rows().into_iter().filter(|row| row.is_played_at(place)).collect();
    let count = rows.len();
    assert!(count >= ROWS_MIN, "{count} rows");
    let mut failed = 0;
    for row in rows {
        // A failed row has printed its reason; the others still run.
        failed += u32::from(tokio::spawn(async move { row.play(place).await }).await.is_err());
    }
    assert_eq!(failed, 0, "rows failed of {count}");
    dialled::play_all(place).await;
    memory.check("the whole table");
    eprintln!("{count} rows over {place:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_peers_over_tcp_get_what_the_table_says() {
    play_all(Place::Tcp).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hostile_peers_over_ipc_get_what_the_table_says() {
    play_all(Place::Ipc).await;
}
