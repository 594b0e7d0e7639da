//! Clients that connect for one ask and leave, in good order or not.

use std::time::Duration;

use wigwag::Node;
use wigwag_testkit::child::{self, Child};

use super::server::{Server, Sum};
use super::{PATIENCE, is_night};

/// The server's limit of open descriptors.
const DESCRIPTORS: u64 = 256;

/// KiB by which the server may have grown in the end: memory that its allocator keeps.
const GROWTH_KIB: u64 = 32 * 1024;

/// The whole life of one client.
async fn ask_once(address: &str, number: u64) {
    let node = Node::new();
    let sum = node.actor::<Sum>(&format!("{address}/sum")).await.unwrap();
    assert_eq!(sum.add(number, 1).ask().await.unwrap(), number + 1);
    drop(sum);
    assert!(node.close(PATIENCE).await.is_clean());
}

/// `tcp://host:port`, dialed from the loopback address that the number selects: each has ports of
/// its own, and a used port stays blocked for a minute.
fn from(address: &str, number: u64) -> String {
    let host = number % 250 + 2;
    address.replace("tcp://", &format!("tcp://127.0.0.{host};"))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn short_clients_are_all_answered_and_leave_nothing() {
    let count: u64 = if is_night() { 100_000 } else { 10_000 };
    let server = Server::start(DESCRIPTORS).await;
    for number in 0..200 {
        ask_once(&from(&server.address, number), number).await;
    }
    let (descriptors, memory) = (server.descriptors(), server.kib("VmRSS:"));
    let clients = (0..16).map(|client| {
        let address = server.address.clone();
        tokio::spawn(async move {
            for number in (client..count).step_by(16) {
                ask_once(&from(&address, number), number).await;
            }
        })
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.unwrap();
    }
    server.is_back_at(descriptors).await;
    let grown = server.kib("VmRSS:").saturating_sub(memory);
    println!("{count} short clients answered; {grown} KiB more resident");
    assert!(grown < GROWTH_KIB, "{grown} KiB more than before");
}

/// The body of a client process that is killed while it has sessions over which it has asked.
#[test]
fn child_client() {
    let Some(role) = child::role() else { return };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut nodes = Vec::new();
        for number in 0..CLIENTS {
            let node = Node::new();
            let sum = node.actor::<Sum>(&format!("{role}/sum")).await.unwrap();
            assert_eq!(sum.add(number, 1).ask().await.unwrap(), number + 1);
            nodes.push((node, sum));
        }
        child::say("ready");
        tokio::task::spawn_blocking(child::wait_for_parent).await.unwrap();
    });
}

/// Clients in one process that is killed.
const CLIENTS: u64 = 100;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_clients_leave_no_descriptor_and_stand_in_nobodys_way() {
    let kills = if is_night() { 1000 } else { 20 };
    let server = Server::start(DESCRIPTORS).await;
    ask_once(&server.address, 0).await;
    let descriptors = server.descriptors();
    for kill in 0..kills {
        let role = server.address.clone();
        let start = move || Child::start("siege::clients::child_client", &role);
        let mut client = tokio::task::spawn_blocking(start).await.unwrap();
        assert!(server.descriptors() > descriptors + CLIENTS as usize / 2);
        client.kill();
        server.is_back_at(descriptors).await;
        ask_once(&server.address, kill).await;
    }
    println!("{} clients were killed", kills * CLIENTS);
}

/// Active peers hold every descriptor: a new peer is refused at once, and one that connects when a
/// descriptor is free is served within a second.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_descriptors_newcomers_are_refused_and_served_when_one_is_free() {
    let server = Server::start(64).await;
    let place = format!("{}/sum", server.address);
    let mut living = Vec::new();
    let refused = loop {
        let node = Node::new();
        let found = node.actor::<Sum>(&place);
        match tokio::time::timeout(super::AT_ONCE, found).await.expect("it hears at once") {
            Ok(sum) => living.push((node, sum)),
            Err(error) => break error,
        }
        assert!(living.len() < 64);
    };
    println!("{} sessions, then: {refused}", living.len());
    for (number, (_, sum)) in living.iter().enumerate() {
        assert_eq!(sum.add(number as u64, 1).ask().await.unwrap(), number as u64 + 1);
    }
    let (node, sum) = living.pop().unwrap();
    drop(sum);
    node.close(PATIENCE).await;
    let begun = tokio::time::Instant::now();
    let node = Node::new();
    while let Err(error) = node.actor::<Sum>(&place).await {
        assert!(begun.elapsed() < 5 * Duration::from_secs(1), "{error}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
