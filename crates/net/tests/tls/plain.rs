//! Peers without TLS, and peers that break it or stop in the middle.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use wigwag_net::error::NetErrorKind;
use wigwag_net::tls::TlsError;
use wigwag_net::{Address, DialOptions, ListenOptions, transport};
use wigwag_wire::{HeaderError, ProtocolNumber};

use crate::ends::{Party, listen, shake};

/// The first bytes of peers without TLS, and what they are called.
fn strangers() -> [(&'static [u8], TlsError); 4] {
    [
        (b"\0SP\0\0\x50\0\0", TlsError::SpeaksSp),
        (b"GET / HTTP/1.1\r\n\r\n", TlsError::SpeaksHttp),
        (b"SSH-2.0-OpenSSH\r\n", TlsError::NotTls(*b"SSH-2.0-")),
        (&[0xff; 300], TlsError::NotTls([0xff; 8])),
    ]
}

fn kind(outcome: Result<wigwag_net::Connection, NetErrorKind>) -> NetErrorKind {
    outcome.err().expect("an error")
}

#[tokio::test]
async fn a_listener_names_what_a_peer_without_tls_speaks_and_tells_it() {
    let party = Party::new();
    let (listener, address) = listen(party.server().build().unwrap()).await;
    for (first, expected) in strangers() {
        let mut peer = TcpStream::connect(address.rest()).await.unwrap();
        peer.write_all(first).await.unwrap();
        let accepted = listener.accept().await.unwrap();
        match kind(shake(accepted, ProtocolNumber::PULL).await) {
            NetErrorKind::Tls(named) => assert_eq!(named, expected),
            other => panic!("{first:02x?} gave {other}"),
        }
        let mut answer = Vec::new();
        peer.read_to_end(&mut answer).await.unwrap();
        assert_eq!(answer, [21, 3, 3, 0, 2, 2, 10], "an alert in the clear and nothing else");
    }
}

#[tokio::test]
async fn a_dialer_names_what_a_peer_without_tls_speaks() {
    let party = Party::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address: Address = format!("tls+tcp://{}", listener.local_addr().unwrap()).parse().unwrap();
    for (first, expected) in strangers() {
        let options = DialOptions::default().tls(party.client().build().unwrap());
        let dialled = transport::dial_with(&address, options).await.unwrap();
        let (mut peer, _) = listener.accept().await.unwrap();
        peer.write_all(first).await.unwrap();
        match kind(shake(dialled, ProtocolNumber::PUSH).await) {
            NetErrorKind::Tls(named) => assert_eq!(named, expected),
            other => panic!("{first:02x?} gave {other}"),
        }
    }
}

#[tokio::test]
async fn few_bytes_without_tls_are_named_when_the_peer_leaves() {
    let party = Party::new();
    let (listener, address) = listen(party.server().build().unwrap()).await;
    let mut peer = TcpStream::connect(address.rest()).await.unwrap();
    peer.write_all(b"HTTP/").await.unwrap();
    drop(peer);
    let accepted = listener.accept().await.unwrap();
    let named = kind(shake(accepted, ProtocolNumber::PULL).await);
    assert!(matches!(named, NetErrorKind::Tls(TlsError::SpeaksHttp)), "{named}");

    drop(TcpStream::connect(address.rest()).await.unwrap());
    let accepted = listener.accept().await.unwrap();
    let left = kind(shake(accepted, ProtocolNumber::PULL).await);
    assert!(matches!(left, NetErrorKind::Closed { .. }), "{left}");
}

/// Of our own two ends one has TLS and the other has not.
#[tokio::test]
async fn a_plain_end_and_one_with_tls_both_say_so() {
    let party = Party::new();
    let (listener, address) = listen(party.server().build().unwrap()).await;
    let plain = Address::new("tcp", address.rest());
    let dialled = transport::dial(&plain).await.unwrap();
    let accepted = listener.accept().await.unwrap();
    let (accepted, dialled) =
        tokio::join!(shake(accepted, ProtocolNumber::PULL), shake(dialled, ProtocolNumber::PUSH));
    let (accepted, dialled) = (kind(accepted), kind(dialled));
    assert!(matches!(accepted, NetErrorKind::Tls(TlsError::SpeaksSp)), "{accepted}");
    assert!(matches!(dialled, NetErrorKind::Header(HeaderError::SpeaksTls)), "{dialled}");
    assert!(accepted.hint().contains("tls+tcp://") && dialled.hint().contains("tls+tcp://"));

    let plain: Address = "tcp://127.0.0.1:0".parse().unwrap();
    let listener = transport::listen(&plain, ListenOptions::default()).await.unwrap();
    let address = Address::new("tls+tcp", listener.address().rest());
    let options = DialOptions::default().tls(party.client().build().unwrap());
    let dialled = transport::dial_with(&address, options).await.unwrap();
    let accepted = listener.accept().await.unwrap();
    let (accepted, dialled) =
        tokio::join!(shake(accepted, ProtocolNumber::PULL), shake(dialled, ProtocolNumber::PUSH));
    let (accepted, dialled) = (kind(accepted), kind(dialled));
    assert!(matches!(accepted, NetErrorKind::Header(HeaderError::SpeaksTls)), "{accepted}");
    assert!(matches!(dialled, NetErrorKind::Tls(TlsError::SpeaksSp)), "{dialled}");
}

/// A plain peer over WebSocket.
#[cfg(feature = "ws")]
#[tokio::test]
async fn ws_at_wss_and_wss_at_ws_both_say_so() {
    use wigwag_net::ws::WsError;

    let party = Party::new();
    let is_http = |kind: &NetErrorKind| matches!(kind, NetErrorKind::Tls(TlsError::SpeaksHttp));
    let is_tls = |kind: &NetErrorKind| matches!(kind, NetErrorKind::WebSocket(WsError::SpeaksTls));
    for listens_with_tls in [true, false] {
        let scheme = |has_tls: bool| if has_tls { "wss" } else { "ws" };
        let wanted = Address::new(scheme(listens_with_tls), "127.0.0.1:0");
        let mut options = ListenOptions::default();
        if listens_with_tls {
            options = options.tls(party.server().build().unwrap());
        }
        let listener = transport::listen(&wanted, options).await.unwrap();
        let address = Address::new(scheme(!listens_with_tls), listener.address().rest());
        let mut options = DialOptions::default();
        if !listens_with_tls {
            options = options.tls(party.client().build().unwrap());
        }
        let dialled = transport::dial_with(&address, options).await.unwrap();
        let accepted = listener.accept().await.unwrap();
        let (accepted, dialled) = tokio::join!(
            shake(accepted, ProtocolNumber::PULL),
            shake(dialled, ProtocolNumber::PUSH)
        );
        let (accepted, dialled) = (kind(accepted), kind(dialled));
        let (with_tls, without) =
            if listens_with_tls { (&accepted, &dialled) } else { (&dialled, &accepted) };
        assert!(is_http(with_tls) && is_tls(without), "{with_tls}; {without}");
        assert!(with_tls.hint().contains("wss://") && without.hint().contains("wss://"));
    }
}

/// Records that look like TLS and are not: the peer is told so and the error has rustls's reason.
#[tokio::test]
async fn garbage_in_records_is_refused() {
    let party = Party::new();
    let (listener, address) = listen(party.server().build().unwrap()).await;
    let records: [&[u8]; 4] = [
        &[22, 3, 1, 0, 5, 1, 0, 0, 1, 0],
        &[22, 3, 1, 0, 4, 99, 0, 0, 0],
        &[23, 3, 3, 0, 3, 1, 2, 3],
        &[22, 3, 3, 0xff, 0xff, 1],
    ];
    for record in records {
        let mut peer = TcpStream::connect(address.rest()).await.unwrap();
        peer.write_all(record).await.unwrap();
        peer.shutdown().await.unwrap();
        let accepted = listener.accept().await.unwrap();
        let refused = kind(shake(accepted, ProtocolNumber::PULL).await);
        match refused {
            NetErrorKind::Tls(TlsError::Protocol(_)) | NetErrorKind::Closed { .. } => {}
            other => panic!("{record:02x?} gave {other}"),
        }
    }
}

/// A peer that begins the handshake and stops is closed when the time of a handshake is over.
#[tokio::test]
async fn a_handshake_that_stops_is_ended() {
    let party = Party::new();
    let (listener, address) = listen(party.server().build().unwrap()).await;
    let mut peer = TcpStream::connect(address.rest()).await.unwrap();
    // The head of a ClientHello of 200 bytes, and the first of them.
    peer.write_all(&[22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3]).await.unwrap();
    let accepted = listener.accept().await.unwrap();
    let stopped = kind(shake(accepted, ProtocolNumber::PULL).await);
    assert!(matches!(stopped, NetErrorKind::TimedOut(_)), "{stopped}");
    let mut rest = Vec::new();
    // The end, in whichever way: nothing comes before it.
    let _ = peer.read_to_end(&mut rest).await;
    assert_eq!(rest, [0; 0]);
}
