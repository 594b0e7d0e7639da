//! Peers that are not let in: another user, another protocol, and an offer that would harm this
//! process.

use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use tokio::time::timeout;
use wigwag_net::socket::{Pull, Push};
use wigwag_net::{ListenOptions, NetErrorKind, Permissions};
use wigwag_shm::{Segment, pass};

use super::{Folder, alone, segments};

const LIMIT: Duration = Duration::from_secs(30);

/// The user without rights.
const NOBODY: u32 = 65_534;

/// Offers that are refused: bytes, and whether the memory comes with them.
fn bad_offers() -> Vec<(&'static str, Vec<u8>, bool)> {
    let offer = |bytes: u64| [&b"wigshm\0\x01"[..], &bytes.to_be_bytes()].concat();
    vec![
        ("plain SP", b"\0SP\0\0\x50\0\0".to_vec(), false),
        ("another version", b"wigshm\0\x02\0\0\0\0\0\0\x10\0".to_vec(), true),
        ("no memory", offer(4096), false),
        ("no power of two", offer(5000), true),
        ("a ring of nothing", offer(0), true),
        ("a ring of all memory", offer(u64::MAX), true),
        ("more than the memory has", offer(8192), true),
    ]
}

/// Each is refused without an end of the listener, whatever it was.
#[tokio::test]
async fn an_offer_that_would_harm_is_refused_and_the_listener_goes_on() {
    let _alone = alone().await;
    let folder = Folder::new("offers");
    let pull = Pull::new();
    pull.listen(&folder.address()).await.unwrap();
    let path = folder.socket();
    for (what, bytes, with_memory) in bad_offers() {
        let path = path.clone();
        let refused = tokio::task::spawn_blocking(move || {
            let mut socket = UnixStream::connect(path).unwrap();
            socket.set_read_timeout(Some(LIMIT)).unwrap();
            let segment = Segment::create(4096).unwrap();
            match with_memory {
                true => drop(pass::send(socket.as_fd(), &bytes, segment.descriptor()).unwrap()),
                false => socket.write_all(&bytes).unwrap(),
            }
            // The listener closes: an end, or a reset if it has not read all.
            let mut rest = Vec::new();
            match socket.read_to_end(&mut rest) {
                Ok(_) => rest.is_empty(),
                Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
            }
        });
        assert!(timeout(LIMIT, refused).await.unwrap().unwrap(), "{what}");
    }
    assert_eq!(segments(), 0);
    assert!(pull.pipes().is_empty());
    let push = Push::new();
    push.dial(&folder.address()).await.unwrap();
    push.send("still here").await.unwrap();
    assert_eq!(pull.recv().await.unwrap(), "still here");
}

/// Of a dialer at an ipc address, and of one from there, both are told what is wrong.
#[tokio::test]
async fn the_other_transport_on_a_socket_file_is_named() {
    let _alone = alone().await;
    let folder = Folder::new("ipc");
    let push = Push::new();
    push.listen(&format!("ipc://{}", folder.socket().display())).await.unwrap();
    let pull = Pull::new();
    let refused = timeout(LIMIT, pull.dial(&folder.address())).await.unwrap().unwrap_err();
    assert!(matches!(refused.kind, NetErrorKind::NotShared), "{refused}");
    assert!(refused.hint().contains("shm://"), "{refused:#}");
    let counted = async {
        while push.statistics().handshakes.not_sp == 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(LIMIT, counted).await.unwrap();
    let unsent = push.try_send("nobody is there").unwrap_err().to_string();
    assert!(unsent.contains("the peer offers shared memory"), "{unsent}");
}

/// The file belongs to its owner alone; a process of another user that gets hold of the socket all
/// the same is refused by its number, which the kernel tells.
#[tokio::test]
async fn a_process_of_another_user_is_not_let_in() {
    let _alone = alone().await;
    let folder = Folder::new("users");
    // The directory is open to all, so that the permissions of the socket decide.
    std::fs::set_permissions(&folder.0, std::fs::Permissions::from_mode(0o755)).unwrap();
    let pull = Pull::new();
    let listener = pull.listen(&folder.address()).await.unwrap();
    let mode = std::fs::metadata(folder.socket()).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(!dials_as_nobody(&folder.address()).await, "the file keeps it out");
    std::fs::set_permissions(folder.socket(), std::fs::Permissions::from_mode(0o666)).unwrap();
    assert!(!dials_as_nobody(&folder.address()).await, "its number keeps it out");
    listener.close().await;
    let all = ListenOptions::default().permissions(Permissions::new(0o666).unwrap());
    pull.listen_with(&folder.address(), all).await.unwrap();
    assert!(dials_as_nobody(&folder.address()).await, "the listener admits all");
}

/// True if a process of another user is let in at `address`.
pub(crate) async fn dials_as_nobody(address: &str) -> bool {
    let address = address.to_owned();
    let dialled = tokio::task::spawn_blocking(move || {
        Command::new("/proc/self/exe")
            .args(["strangers::the_process_of_another_user", "--exact"])
            .env(ADDRESS, address)
            .uid(NOBODY)
            .gid(NOBODY)
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .unwrap()
            .success()
    });
    timeout(LIMIT, dialled).await.unwrap().unwrap()
}

const ADDRESS: &str = "WIGWAG_TEST_SHM_STRANGER";

/// The body of that process: fails if it is not let in.
#[test]
fn the_process_of_another_user() {
    let Ok(address) = std::env::var(ADDRESS) else { return };
    Push::new().blocking_dial(&address).unwrap();
}
