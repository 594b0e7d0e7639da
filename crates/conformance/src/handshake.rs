//! The answers of a socket to a peer whose first bytes are wrong.

use std::io;

use tokio::io::AsyncReadExt;
use wigwag_net::handshake::write_all;
use wigwag_net::socket::{Pull, Push};
use wigwag_net::{Address, NetErrorKind, transport};
use wigwag_wire::{HeaderError, ProtocolNumber};

use crate::transport::{listen, read_to_end};
use crate::{TestEnv, eventually};

/// The header of a pull socket.
const PULL: &[u8; 8] = b"\0SP\0\0\x51\0\0";

/// Eight bytes that no push or pull partner sends, and what is wrong with them.
fn wrong_headers(env: &TestEnv) -> Vec<(&'static [u8; 8], HeaderError)> {
    let mut headers: Vec<(&'static [u8; 8], HeaderError)> = vec![
        (b"GET / HT", HeaderError::SpeaksHttp),
        (b"HTTP/1.1", HeaderError::SpeaksHttp),
        (b"\x16\x03\x01\x02\0\x01\0\x01", HeaderError::SpeaksTls),
        (b"SSH-2.0-", HeaderError::BadMagic(*b"SSH-2.0-")),
        (b"\0\0\0\0\0\0\0\0", HeaderError::BadMagic([0; 8])),
        (b"\0SP\x01\0\x51\0\0", HeaderError::BadVersion(1)),
        (b"\0SP\0\0\x51\0\x01", HeaderError::ReservedBits),
        (b"\0SP\0\0\x51\x80\0", HeaderError::ReservedBits),
        (
            b"\0SP\0\0\x30\0\0",
            HeaderError::WrongProtocol { ours: ProtocolNumber::PUSH, theirs: ProtocolNumber::REQ },
        ),
    ];
    if env.opens_with_a_request() {
        headers.retain(|(_, error)| matches!(error, HeaderError::WrongProtocol { .. }));
    }
    headers
}

/// Each peer with a wrong header gets the listener's header and nothing more, and is disconnected
/// and counted; a partner that dials after them is served.
pub async fn a_listener_refuses_each_wrong_header(env: &TestEnv) {
    let pull = Pull::new();
    let address = pull.listen(&env.address()).await.expect("listens");
    let mut turned_away = 0;
    for (wrong, _) in wrong_headers(env) {
        let mut stranger = transport::dial(&address).await.expect("a connection");
        // Bytes after the header must never be taken for a message.
        let mut bytes = wrong.to_vec();
        bytes.extend_from_slice(&[0; 64]);
        let written = write_all(&*stranger.outlet, &bytes).await;
        // The listener may have refused the header before the rest is written.
        let is_refused = |error: io::Error| {
            matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset)
        };
        assert!(written.map_or_else(is_refused, |()| true));
        // A peer that closes before it has read our bytes may take its own header back: all of it
        // or nothing.
        let answer = read_to_end(&mut stranger).await;
        assert!(answer == PULL || answer.is_empty(), "{answer:02x?}");
        turned_away += 1;
    }
    let short = transport::dial(&address).await.expect("a connection");
    write_all(&*short.outlet, b"\0SP").await.expect("written");
    short.outlet.close();
    drop(short);
    turned_away += 1;

    let push = Push::new();
    push.dial(&address.to_string()).await.expect("a partner");
    push.send("served").await.expect("sent");
    assert_eq!(pull.recv().await.expect("a message"), "served");
    eventually(|| pull.statistics().handshakes_failed >= turned_away).await;
    let statistics = pull.statistics();
    assert_eq!(statistics.handshakes_failed, turned_away);
    assert_eq!(statistics.pipes_opened, 1);
    assert_eq!(statistics.counters.received, 1);
}

/// The dialer's error says what the peer speaks.
pub async fn a_dialer_reports_each_wrong_header(env: &TestEnv) {
    let (listener, address) = listen(env).await;
    for (wrong, expected) in wrong_headers(env) {
        let push = Push::new();
        let place = address.to_string();
        let dialling = tokio::spawn(async move { push.dial(&place).await });
        let mut peer = listener.accept().await.expect("a connection");
        write_all(&*peer.outlet, wrong).await.expect("written");
        let mut header = [0; 8];
        peer.reader.read_exact(&mut header).await.expect("a header");
        let refused = dialling.await.expect("no panic").expect_err("refused");
        match refused.kind {
            NetErrorKind::Header(named) => assert_eq!(named, expected),
            other => panic!("{wrong:02x?} gave {other}"),
        }
        assert_eq!(&header, b"\0SP\0\0\x50\0\0");
        assert!(read_to_end(&mut peer).await.is_empty());
    }
    let silent = dial_and_hang_up(&address, &*listener).await;
    assert!(matches!(silent, NetErrorKind::Closed { .. }), "{silent}");
}

/// A listener that accepts and closes: the half-open proxy of many bug reports.
async fn dial_and_hang_up(address: &Address, listener: &dyn wigwag_net::Listener) -> NetErrorKind {
    let push = Push::new();
    let place = address.to_string();
    let dialling = tokio::spawn(async move { push.dial(&place).await });
    let mut peer = listener.accept().await.expect("a connection");
    let mut header = [0; 8];
    peer.reader.read_exact(&mut header).await.expect("a header");
    peer.outlet.close();
    drop(peer);
    let refused = dialling.await.expect("no panic");
    refused.expect_err("refused").kind
}

/// A peer connects and sends nothing: after the handshake time its connection is closed, and other
/// peers are served meanwhile.
pub async fn a_silent_peer_is_disconnected(env: &TestEnv) {
    let pull = Pull::new();
    let address = pull.listen(&env.address()).await.expect("listens");
    let mut silent = transport::dial(&address).await.expect("a connection");
    let push = Push::new();
    push.dial(&address.to_string()).await.expect("a partner");
    push.send("served").await.expect("sent");
    assert_eq!(pull.recv().await.expect("a message"), "served");
    let heard = read_to_end(&mut silent).await;
    assert_eq!(heard, if env.greets_silent_peers() { &PULL[..] } else { &[] });
    eventually(|| pull.statistics().handshakes_failed == 1).await;
    push.send("still served").await.expect("sent");
    assert_eq!(pull.recv().await.expect("a message"), "still served");
}
