//! A thousand connections, and one client that does not read.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tokio::task::JoinSet;
use wigwag::lifecycle::Alive;
use wigwag_testkit::memory::Memory;

use super::chat::{Client, handles, serve};
use super::{LONG, alone, descriptors, until};

/// Raises the limit of open files by the `needed` descriptors of the test: both ends of each
/// connection.
fn raise_open_files(needed: u64) {
    let limit = getrlimit(Resource::Nofile);
    let enough = |limit: Option<u64>| limit.is_none_or(|limit| limit >= needed);
    if enough(limit.current) {
        return;
    }
    assert!(
        enough(limit.maximum),
        "{needed} open files are needed, the hard limit is {:?}\n hint: ulimit -Hn {needed}",
        limit.maximum
    );
    setrlimit(Resource::Nofile, Rlimit { current: Some(needed), ..limit }).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_clients_hear_every_line_of_their_rooms_in_order() {
    const CLIENTS: u32 = 1000;
    const ROOM: u32 = 50;
    const LINES: usize = 4;
    let _alone = alone().await;
    raise_open_files(2 * u64::from(CLIENTS) + 200);
    let memory = Memory::of_self();
    let (server, rooms, address) = serve((CLIENTS / ROOM) as usize, ROOM as usize).await;
    let mut clients = JoinSet::new();
    for number in 0..CLIENTS {
        let address = address.clone();
        clients.spawn(async move {
            let room = number / ROOM;
            let speakers = room * ROOM..(room + 1) * ROOM;
            let mut client = Client::join(&address, room as usize, number, speakers).await;
            for count in 0..LINES {
                client.say(count, 20).await;
            }
            client.hear(LINES, 20).await;
            client
        });
    }
    // All clients stay until the last has read everything.
    let clients = tokio::time::timeout(4 * LONG, clients.join_all()).await.unwrap();
    assert_eq!(clients.len(), CLIENTS as usize);
    memory.check("a thousand connections");
    for client in clients {
        client.finish().await;
    }
    for room in &rooms {
        assert_eq!(room.thrown_out().ask().await.unwrap(), Vec::<u32>::new());
    }
    let rooms = handles(rooms);
    server.handle().unwrap().stop();
    drop(server);
    for room in rooms {
        // A room ends when no session of it is left.
        tokio::time::timeout(LONG, room.ended()).await.unwrap();
    }
    until("every socket is closed", || descriptors() == 0).await;
}

/// The others proceed round by round, so none of them is ever more than two rounds behind; the
/// client that does not read is sent far more than all queues and buffers together hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_does_not_read_is_disconnected_and_the_others_go_on() {
    const ROOM: u32 = 50;
    const ROUNDS: usize = 40;
    const WIDTH: usize = 1000;
    let _alone = alone().await;
    let memory = Memory::of_self();
    let (server, rooms, address) = serve(1, ROOM as usize).await;
    let speakers = 1..ROOM;
    let silent = {
        let address = address.clone();
        tokio::spawn(async move { Client::join(&address, 0, 0, 1..1).await })
    };
    let mut clients = JoinSet::new();
    for number in speakers.clone() {
        let (address, speakers) = (address.clone(), speakers.clone());
        clients.spawn(async move {
            let mut client = Client::join(&address, 0, number, speakers).await;
            for round in 0..ROUNDS {
                client.say(round, WIDTH).await;
                client.hear(round + 1, WIDTH).await;
            }
            client
        });
    }
    let clients = tokio::time::timeout(4 * LONG, clients.join_all()).await.unwrap();
    assert_eq!(clients.len(), ROOM as usize - 1);
    assert_eq!(rooms[0].thrown_out().ask().await.unwrap(), [0]);
    memory.check("a client that does not read");
    drop((silent.await.unwrap(), clients, rooms));
    server.handle().unwrap().stop();
}
