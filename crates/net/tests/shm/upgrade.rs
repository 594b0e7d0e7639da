//! Connections of ipc that move to shared memory, and those that stay on their socket.

use std::io::{Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::timeout;
use wigwag_net::socket::{Pair, PipeInfo, PipeWatcher, Pull, Push, Rep, Req};
use wigwag_net::{DialOptions, ListenOptions, Permissions, ShmOptions};
use wigwag_shm::{Segment, pass};

use super::strangers::dials_as_nobody;
use super::{Folder, alone, descriptors, segments};

const LIMIT: Duration = Duration::from_secs(30);

const PUSH_HEADER: &[u8; 8] = b"\0SP\0\0\x50\0\0";
const PULL_HEADER: &[u8; 8] = b"\0SP\0\0\x51\0\0";

/// The frame of "hi" over ipc.
const HI: &[u8] = b"\x01\0\0\0\0\0\0\0\x02hi";

fn ipc(folder: &Folder) -> String {
    format!("ipc://{}", folder.socket().display())
}

/// The message has come, and both ends know how.
#[tokio::test]
async fn a_connection_moves_if_both_ends_allow_it() {
    let _alone = alone().await;
    for (dials, listens) in [(true, true), (false, true), (true, false), (false, false)] {
        let folder = Folder::new(&format!("both-{dials}-{listens}"));
        let named = format!("abstract://{}", folder.0.file_name().unwrap().display());
        for address in [ipc(&folder), named] {
            let (pull, push) = (Pull::new(), Push::new());
            let with = |on: bool| ShmOptions::default().upgrade_ipc(on);
            let listen = ListenOptions::default().shm(with(listens));
            pull.listen_with(&address, listen).await.unwrap();
            push.dial_with(&address, DialOptions::default().shm(with(dials))).await.unwrap();
            for length in [0, 2, 100_000, 1_000_000] {
                push.send(vec![7; length]).await.unwrap();
                let arrived = timeout(LIMIT, pull.recv()).await.unwrap().unwrap();
                assert!(arrived == vec![7; length], "{length} bytes over {address}");
            }
            for end in [push.pipes(), pull.pipes()] {
                assert_eq!(end[0].info.shared_memory, dials && listens, "{address}");
                assert!(end[0].info.credentials.is_some());
            }
            // Each end has mapped it; the descriptor is needed no more.
            assert_eq!(segments(), if dials && listens { 2 } else { 0 });
            assert_eq!(descriptors(), 0);
            push.close().await;
            pull.close().await;
            assert_eq!(segments(), 0);
        }
    }
}

#[tokio::test]
async fn requests_and_replies_go_both_ways_through_the_memory_in_order() {
    let _alone = alone().await;
    let folder = Folder::new("order");
    let (rep, req) = (Rep::new(), Req::new());
    rep.listen(&ipc(&folder)).await.unwrap();
    req.dial(&ipc(&folder)).await.unwrap();
    let answering = tokio::spawn(async move {
        for number in 0_u32..2_000 {
            assert_eq!(rep.recv().await.unwrap(), number.to_be_bytes()[..]);
            rep.send(vec![number as u8; number as usize * 37]).await.unwrap();
        }
        rep
    });
    for number in 0_u32..2_000 {
        let reply = req.ask(number.to_be_bytes().to_vec()).await.unwrap();
        assert!(reply == vec![number as u8; number as usize * 37]);
    }
    answering.await.unwrap();
    assert!(req.pipes()[0].info.shared_memory);
}

/// A dialer of another implementation: its header comes without memory, or with a descriptor that is
/// none.
#[tokio::test]
async fn a_dialer_without_a_usable_offer_stays_on_the_socket() {
    let _alone = alone().await;
    let folder = Folder::new("dialers");
    let pull = Pull::new();
    pull.listen(&ipc(&folder)).await.unwrap();
    let not_offered = Segment::create(4096).unwrap();
    let descriptors: Vec<(&str, Option<OwnedFd>)> = vec![
        ("none", None),
        ("a file", Some(std::fs::File::open("/dev/null").unwrap().into())),
        ("a segment of shm://", Some(not_offered.descriptor().try_clone_to_owned().unwrap())),
    ];
    drop(not_offered);
    for (what, descriptor) in descriptors {
        let path = folder.socket();
        let dialled = tokio::task::spawn_blocking(move || {
            let mut socket = UnixStream::connect(path).unwrap();
            socket.set_read_timeout(Some(LIMIT)).unwrap();
            match descriptor {
                Some(one) => {
                    assert_eq!(pass::send(&socket, PUSH_HEADER, one.as_fd()).unwrap(), 8);
                }
                None => socket.write_all(PUSH_HEADER).unwrap(),
            }
            socket.write_all(HI).unwrap();
            let mut header = [0; 8];
            socket.read_exact(&mut header).unwrap();
            assert_eq!(&header, PULL_HEADER);
            socket
        });
        assert_eq!(timeout(LIMIT, pull.recv()).await.unwrap().unwrap(), "hi", "{what}");
        assert!(!pull.pipes()[0].info.shared_memory, "{what}");
        drop(dialled.await.unwrap());
        while !pull.pipes().is_empty() {
            tokio::task::yield_now().await;
        }
        assert_eq!(segments(), 0, "{what}");
    }
}

/// A listener of another implementation reads the header, and nothing of the descriptor; it may send
/// its header before.
#[tokio::test]
async fn a_listener_that_knows_nothing_of_the_offer_gets_the_bytes_of_ipc() {
    let _alone = alone().await;
    let folder = Folder::new("listeners");
    for sends_first in [true, false] {
        let listener = UnixListener::bind(folder.socket()).unwrap();
        let accepted = tokio::task::spawn_blocking(move || {
            let mut socket = listener.accept().unwrap().0;
            socket.set_read_timeout(Some(LIMIT)).unwrap();
            let mut received = vec![0; 8 + HI.len()];
            let (header, message) = received.split_at_mut(8);
            if sends_first {
                socket.write_all(PULL_HEADER).unwrap();
            }
            socket.read_exact(header).unwrap();
            if !sends_first {
                socket.write_all(PULL_HEADER).unwrap();
            }
            socket.read_exact(message).unwrap();
            received
        });
        let push = Push::new();
        timeout(LIMIT, push.dial(&ipc(&folder))).await.unwrap().unwrap();
        push.send("hi").await.unwrap();
        let received = timeout(LIMIT, accepted).await.unwrap().unwrap();
        assert_eq!(received, [PUSH_HEADER, HI].concat());
        assert_eq!((segments(), descriptors()), (0, 0));
        std::fs::remove_file(folder.socket()).unwrap();
    }
}

/// An offer that is accepted, of a dialer that then speaks another protocol over the socket.
#[tokio::test]
async fn bytes_on_the_socket_behind_an_accepted_offer_end_the_connection() {
    let _alone = alone().await;
    let folder = Folder::new("behind");
    let pull = Pull::new();
    pull.listen(&ipc(&folder)).await.unwrap();
    let path = folder.socket();
    let ended = tokio::task::spawn_blocking(move || {
        let mut socket = UnixStream::connect(path).unwrap();
        socket.set_read_timeout(Some(LIMIT)).unwrap();
        let segment = Segment::create(4096).unwrap();
        segment.offer();
        pass::send(&socket, PUSH_HEADER, segment.descriptor()).unwrap();
        let mut header = [0; 8];
        socket.read_exact(&mut header).unwrap();
        assert!(segment.is_accepted());
        socket.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        let mut rest = Vec::new();
        match socket.read_to_end(&mut rest) {
            Ok(_) => rest.is_empty(),
            Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
        }
    });
    assert!(timeout(LIMIT, ended).await.unwrap().unwrap());
    assert!(pull.pipes().is_empty());
}

/// Notes for each pipe whether it has moved.
struct Moved(Arc<Mutex<Vec<bool>>>);

impl PipeWatcher for Moved {
    fn admitted(&self, pipe: &PipeInfo) {
        self.0.lock().unwrap().push(pipe.shared_memory);
    }
}

/// The socket file may have been opened to others by hand: the listener's own permissions decide whose
/// memory it maps.
#[tokio::test]
async fn the_memory_of_another_user_is_used_only_if_the_listener_admits_others() {
    let _alone = alone().await;
    let folder = Folder::new("others");
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o755)).unwrap();
    let moved = Arc::<Mutex<Vec<bool>>>::default();
    let pull = Pull::new();
    pull.watch_pipes(Moved(moved.clone()));
    let listener = pull.listen(&ipc(&folder)).await.unwrap();
    let open = || std::fs::Permissions::from_mode(0o666);
    std::fs::set_permissions(folder.socket(), open()).unwrap();
    assert!(dials_as_nobody(&ipc(&folder)).await);
    listener.close().await;
    let all = ListenOptions::default().permissions(Permissions::new(0o666).unwrap());
    pull.listen_with(&ipc(&folder), all).await.unwrap();
    assert!(dials_as_nobody(&ipc(&folder)).await);
    assert_eq!(*moved.lock().unwrap(), [false, true]);
}

/// The memory of all connections is bounded: one more than fit stays on its socket.
#[tokio::test]
async fn connections_beyond_the_limit_of_memory_stay_on_their_socket() {
    let _alone = alone().await;
    let folder = Folder::new("bound");
    let (one, other) = (Pair::new(), Pair::new());
    let (server, client) = (Rep::new(), Req::new());
    server.listen(&ipc(&folder)).await.unwrap();
    // Both ends are in this process, so each connection takes two shares.
    let ring = 4 << 20;
    let each = 2 * (ring + 4096);
    let fit = ShmOptions::UPGRADED_BYTES_MAX / each / 2;
    let options = ShmOptions::default().ring_bytes(ring).unwrap();
    for _ in 0..fit + 2 {
        client.dial_with(&ipc(&folder), DialOptions::default().shm(options)).await.unwrap();
    }
    let moved = client.pipes().iter().filter(|pipe| pipe.info.shared_memory).count();
    assert_eq!((moved, client.pipes().len()), (fit, fit + 2));
    client.close().await;
    server.close().await;
    // The closed connection has given its share back.
    one.listen(&ipc(&folder)).await.unwrap();
    other.dial_with(&ipc(&folder), DialOptions::default().shm(options)).await.unwrap();
    assert!(other.pipes()[0].info.shared_memory);
}
