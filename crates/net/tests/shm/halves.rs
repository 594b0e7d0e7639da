//! Both halves of a connection in tasks of their own.

use std::io::IoSlice;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::time::timeout;
use wigwag_net::transport::{self, Connection};
use wigwag_net::{DialOptions, ListenOptions, ShmOptions};

use super::{Folder, alone};

/// Connections, one after the other.
const CONNECTIONS: usize = 8;

/// Bytes of each in one direction. The peer answers each read with one byte, so each end waits for both directions.
const BYTES: usize = 8 * 1024 * 1024;

/// Far longer than it takes.
const LIMIT: Duration = Duration::from_secs(60);

async fn ends(folder: &Folder) -> (Connection, Connection) {
    let address = folder.address().parse().unwrap();
    let listener = transport::listen(&address, ListenOptions::default()).await.unwrap();
    let options = DialOptions::default().shm(ShmOptions::default().ring_bytes(4096).unwrap());
    let dialing = transport::dial_with(&address, options);
    let (dialed, accepted) = tokio::join!(dialing, listener.accept());
    (dialed.unwrap(), accepted.unwrap())
}

/// A half that reads a wake which was meant for the other one passes it on, also where that one has
/// said that it waits and does not wait yet.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_wake_for_one_half_is_not_lost_to_the_other() {
    let _alone = alone().await;
    let folder = Folder::new("halves");
    for _ in 0..CONNECTIONS {
        exchange(&folder).await;
    }
}

async fn exchange(folder: &Folder) {
    let (Connection { reader: mut answers, outlet: there, .. }, mut other) = ends(folder).await;
    let writing = tokio::spawn(async move {
        let (chunk, mut left) = ([7; 1000], BYTES);
        while left > 0 {
            match there.try_write(&[IoSlice::new(&chunk[..left.min(1000)])]) {
                Ok(sent) => left -= sent,
                Err(_) => there.writable().await.unwrap(),
            }
        }
        there
    });
    let answered = tokio::spawn(async move {
        let mut count = 0_u64;
        while answers.read_u8().await.is_ok() {
            count += 1;
        }
        count
    });
    let reading = tokio::spawn(async move {
        let (mut chunk, mut left, mut sent) = ([0; 4096], BYTES, 0_u64);
        while left > 0 {
            left -= other.reader.read(&mut chunk).await.unwrap();
            sent += other.outlet.try_write(&[IoSlice::new(&[1])]).unwrap_or(0) as u64;
        }
        other.outlet.close();
        sent
    });
    let all = timeout(LIMIT, async { tokio::join!(writing, reading, answered) }).await;
    let (_there, sent, answered) = all.expect("no end sleeps");
    assert_eq!(sent.unwrap(), answered.unwrap());
}
