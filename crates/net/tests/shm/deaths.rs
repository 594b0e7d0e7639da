//! A peer that is killed while it writes: what it sent before is received in order, and nothing of
//! it is left, a thousand times.

use std::env;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use tokio::time::timeout;
use wigwag_net::socket::{Pull, Push};

use super::{Folder, alone, descriptors, segments};

const DEATHS: u64 = 1000;

/// Peers that live at a time, so that starting one overlaps with the others.
const AT_ONCE: usize = 4;

/// Time for whatever must happen by itself.
const LIMIT: Duration = Duration::from_secs(30);

const ADDRESS: &str = "WIGWAG_TEST_SHM_ADDRESS";
const NUMBER: &str = "WIGWAG_TEST_SHM_NUMBER";

/// The body of the process that is killed: sends its number and a counter, padded to any length,
/// until it is killed.
#[test]
fn the_process_that_is_killed() {
    let Ok(address) = env::var(ADDRESS) else { return };
    let number: u64 = env::var(NUMBER).unwrap().parse().unwrap();
    let push = Push::new();
    push.blocking_dial(&address).unwrap();
    for counter in 0_u64.. {
        let mut message = number.to_le_bytes().to_vec();
        message.extend_from_slice(&counter.to_le_bytes());
        message.resize(16 + (counter * 7919 % 30_000) as usize, counter as u8);
        // The parent is gone: so is the reason to go on.
        if push.blocking_send(message).is_err() {
            return;
        }
    }
}

fn start(address: &str, number: u64) -> Child {
    Command::new(env::current_exe().unwrap())
        .args(["deaths::the_process_that_is_killed", "--exact"])
        .env(ADDRESS, address)
        .env(NUMBER, number.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Reads the number of the sender and its counter, and checks the rest.
fn parse(message: &[u8]) -> (u64, u64) {
    let word = |at: usize| u64::from_le_bytes(message[at..at + 8].try_into().unwrap());
    let (number, counter) = (word(0), word(8));
    assert_eq!(message.len(), 16 + (counter * 7919 % 30_000) as usize);
    assert!(message[16..].iter().all(|byte| *byte == counter as u8));
    (number, counter)
}

#[tokio::test]
async fn a_killed_peer_leaves_nothing_behind() {
    let _alone = alone().await;
    let folder = Folder::new("deaths");
    let pull = Pull::new();
    let address = pull.listen(&folder.address()).await.unwrap().to_string();
    let mut peers: Vec<(u64, Child)> = Vec::new();
    let mut expected = vec![0_u64; DEATHS as usize];
    let mut started = 0;
    while started < DEATHS || !peers.is_empty() {
        while started < DEATHS && peers.len() < AT_ONCE {
            peers.push((started, start(&address, started)));
            started += 1;
        }
        let (number, counter) = parse(&timeout(LIMIT, pull.recv()).await.unwrap().unwrap());
        assert_eq!(counter, expected[number as usize], "peer {number}");
        expected[number as usize] += 1;
        // It dies at its first message, or a few later.
        let due = counter >= number % 5;
        if let Some(at) = peers.iter().position(|(of, _)| *of == number && due) {
            let (_, mut peer) = peers.remove(at);
            peer.kill().unwrap();
            peer.wait().unwrap();
        }
    }
    // Their last messages are received, and then nothing of them is left.
    let emptied = async {
        while segments() > 0 || descriptors() > 0 || !pull.pipes().is_empty() {
            match timeout(Duration::from_millis(20), pull.recv()).await {
                Ok(message) => {
                    let (number, counter) = parse(&message.unwrap());
                    assert_eq!(counter, expected[number as usize], "peer {number}");
                    expected[number as usize] += 1;
                }
                Err(_) => tokio::task::yield_now().await,
            }
        }
    };
    let in_time = timeout(LIMIT, emptied).await;
    let left = (segments(), descriptors(), pull.pipes().len());
    assert!(in_time.is_ok(), "segments, descriptors, pipes: {left:?}");
}
