//! A hand that writes anywhere in the memory of a connection while both ends use it.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::time::timeout;
use wigwag_net::socket::{Pull, Push};

use super::{Folder, alone};

/// Connections that are broken.
const CONNECTIONS: u64 = 40;

const LIMIT: Duration = Duration::from_secs(30);

/// The memory of the only connection of this process, by its mapping.
fn memory() -> Option<File> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let range = maps.lines().find(|line| line.contains("memfd:wigwag"))?.split(' ').next()?;
    OpenOptions::new().write(true).open(format!("/proc/self/map_files/{range}")).ok()
}

/// The connection ends with an error or goes on; the sockets and the process stay of use.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_connection_whose_memory_is_overwritten_harms_nothing_else() {
    let _alone = alone().await;
    let folder = Folder::new("scribbled");
    let mut hits = 0_u64;
    for seed in 1..=CONNECTIONS {
        let (pull, push) = (Pull::new(), Push::new());
        pull.set_receive_limit(usize::MAX);
        let listener = pull.listen(&folder.address()).await.unwrap();
        push.dial(&folder.address()).await.unwrap();
        push.send("first").await.unwrap();
        pull.recv().await.unwrap();
        let hand = memory().expect("a connection has memory");
        let done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| {
                let mut draw = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
                let mut strokes = 0_u64;
                while !done.load(Ordering::Relaxed) {
                    draw ^= draw << 13;
                    draw ^= draw >> 7;
                    draw ^= draw << 17;
                    // Counters and flags lie 128 bytes apart in two pages; the rings follow.
                    let at = if draw & 7 == 0 { draw >> 8 & 0x3FFF } else { draw >> 8 & 0x1F80 };
                    hand.write_at(&(draw >> (draw & 63)).to_le_bytes(), at).unwrap();
                    strokes += 1;
                    std::thread::yield_now();
                }
                strokes
            });
            tokio::task::block_in_place(|| {
                tokio::runtime::Handle::current().block_on(async {
                    for _ in 0..200 {
                        let short = Duration::from_millis(1);
                        let _ = timeout(short, push.send(vec![1; 700])).await;
                        let _ = timeout(short, pull.recv()).await;
                        if push.pipes().is_empty() {
                            break;
                        }
                    }
                });
            });
            done.store(true, Ordering::Relaxed);
            hits += writing.join().unwrap();
        });
        timeout(LIMIT, async { tokio::join!(listener.close(), pull.close(), push.close()) })
            .await
            .expect("both close");
    }
    assert!(hits > CONNECTIONS, "the hand wrote");
    let (pull, push) = (Pull::new(), Push::new());
    pull.listen(&folder.address()).await.unwrap();
    push.dial(&folder.address()).await.unwrap();
    push.send("of use").await.unwrap();
    assert_eq!(timeout(LIMIT, pull.recv()).await.unwrap().unwrap(), "of use");
}
