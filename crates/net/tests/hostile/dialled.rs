//! Wrong peers that are dialled: the caller gets an error that names them, at once.

use tokio::time::timeout;
use wigwag_net::socket::{Pull, Push};
use wigwag_net::{NetErrorKind, transport};
use wigwag_wire::{HeaderError, ProtocolNumber};

use crate::peer::{FakeListener, Peer, Place, header};
use crate::row::AT_ONCE;
use crate::run::losses;
use crate::subject::{SocketKind, Subject};

/// The bytes of a wrong listener, and the error of the dialer.
struct WrongPeer {
    name: &'static str,
    bytes: Vec<u8>,
    leaves: bool,
    is_named: fn(&NetErrorKind) -> bool,
    words: &'static str,
    hint: &'static str,
}

fn said(
    name: &'static str,
    bytes: &[u8],
    is_named: fn(&NetErrorKind) -> bool,
    words: &'static str,
    hint: &'static str,
) -> WrongPeer {
    WrongPeer { name, bytes: bytes.to_vec(), leaves: false, is_named, words, hint }
}

fn rows() -> Vec<WrongPeer> {
    let (web, tls) = ("belongs to a web server", "speaks TLS: dial tls+tcp://");
    let (port, partner) = ("not an SP peer", "partner's socket type");
    let mut rows = vec![
        said("a web server", b"HTTP/1.1 400 Bad Request\r\n\r\n", is_http, "speaks HTTP", web),
        said("a TLS alert", b"\x15\x03\x03\x00\x02\x02\x46\0", is_tls, "speaks TLS", tls),
        said("a TLS hello", b"\x16\x03\x03\x00\x7a\x02\0\0", is_tls, "speaks TLS", tls),
        said("SSH", b"SSH-2.0-OpenSSH_9.6\r\n", is_no_sp, "first bytes", port),
        said("zeros", &[0; 8], is_no_sp, "first bytes", port),
        said("version 1", b"\0SP\x01\0\x50\0\0", is_version, "version 1", port),
        said("reserved bits", b"\0SP\0\0\x50\0\x01", is_reserved, "reserved bytes", port),
    ];
    let wrong = [ProtocolNumber::PULL, ProtocolNumber::REQ, ProtocolNumber::PUB];
    for theirs in wrong {
        let words = theirs.name().unwrap();
        rows.push(said("a wrong partner", &header(theirs), is_wrong, words, partner));
    }
    let whole = header(ProtocolNumber::PUSH);
    for cut in 0..whole.len() {
        let mut left = said("it hangs up", &whole[..cut], is_closed, "SP header", "peer's log");
        left.leaves = true;
        rows.push(left);
    }
    rows
}

fn is_http(kind: &NetErrorKind) -> bool {
    matches!(kind, NetErrorKind::Header(HeaderError::SpeaksHttp))
}

fn is_tls(kind: &NetErrorKind) -> bool {
    matches!(kind, NetErrorKind::Header(HeaderError::SpeaksTls))
}

fn is_no_sp(kind: &NetErrorKind) -> bool {
    matches!(kind, NetErrorKind::Header(HeaderError::BadMagic(_)))
}

fn is_version(kind: &NetErrorKind) -> bool {
    matches!(kind, NetErrorKind::Header(HeaderError::BadVersion(1)))
}

fn is_reserved(kind: &NetErrorKind) -> bool {
    matches!(kind, NetErrorKind::Header(HeaderError::ReservedBits))
}

fn is_wrong(kind: &NetErrorKind) -> bool {
    let ours = ProtocolNumber::PULL;
    matches!(kind, NetErrorKind::Header(HeaderError::WrongProtocol { ours: o, .. }) if *o == ours)
}

fn is_closed(kind: &NetErrorKind) -> bool {
    matches!(kind, NetErrorKind::Closed { .. })
}

/// A pull socket dials each of them, while a sound peer pushes to it.
pub(crate) async fn play_all(place: Place) {
    let pull = Pull::new();
    let at = pull.listen(&place.address()).await.unwrap();
    let sound = Push::new();
    sound.dial(&at.to_string()).await.unwrap();
    for (number, row) in rows().into_iter().enumerate() {
        let listener = FakeListener::open(place).await;
        let there = listener.address();
        let (error, ()) = tokio::join!(
            timeout(AT_ONCE, pull.dial(&there)),
            answer(&listener, &row.bytes, row.leaves),
        );
        let error = error.unwrap_or_else(|_| panic!("{}: no answer in time", row.name));
        let error = error.map(drop).expect_err(row.name);
        assert!((row.is_named)(&error.kind), "{}: {error}", row.name);
        for words in [row.words, row.hint, "hint: ", &there] {
            assert!(format!("{error:#}").contains(words), "{}: no {words:?} in {error}", row.name);
        }
        sound.send(number.to_string()).await.unwrap();
        assert_eq!(pull.recv().await.unwrap(), number.to_string());
    }
    let statistics = pull.statistics();
    assert!(losses(&statistics).iter().all(|(_, by)| *by == 0), "{statistics:?}");
    assert_eq!((statistics.pipes_opened, statistics.pipes_open), (1, 1));
}

async fn answer(listener: &FakeListener, bytes: &[u8], leaves: bool) {
    let mut peer: Peer = listener.accept().await;
    // Read first: closing with unread bytes would discard the bytes that were sent.
    peer.greeting().await;
    peer.say(bytes).await;
    if !leaves {
        assert!(peer.rest().await.is_empty(), "nothing but a header");
    }
}

/// A dialer not only refuses a wrong listener: bytes after the wrong header are never taken for a
/// message.
#[tokio::test]
async fn bytes_of_a_wrong_listener_are_never_delivered() {
    for place in [Place::Tcp, Place::Ipc] {
        for ours in [SocketKind::Pull, SocketKind::Bus, SocketKind::Rep, SocketKind::RawRep] {
            let subject: Box<dyn Subject> = ours.open();
            let listener = FakeListener::open(place).await;
            let bytes = [header(ProtocolNumber::STAR), place.framed(b"\x80\0\0\x01no")].concat();
            let (dialled, ()) =
                tokio::join!(subject.dial(listener.address()), answer(&listener, &bytes, false));
            assert!(dialled.is_err());
            assert_eq!(subject.take(), None);
            assert_eq!(subject.statistics().traffic.messages_received, 0);
        }
    }
    // The transports can parse the addresses of the fake listeners.
    assert!(transport::transport(&Place::Ipc.address().parse().unwrap()).is_ok());
}
