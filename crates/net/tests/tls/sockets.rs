//! SP sockets over `tls+tcp://`.

use std::sync::Mutex;

use wigwag_net::error::NetErrorKind;
use wigwag_net::socket::{PipeEnd, PipeInfo, PipeStatistics, PipeWatcher, Pull, Push, Rep, Req};
use wigwag_net::tls::{PeerRefusal, TlsError};
use wigwag_net::{DialOptions, ListenOptions};

use crate::ends::{Party, raw_client};

#[tokio::test]
async fn a_request_is_answered_and_the_peer_is_known() {
    let party = Party::new();
    let rep = Rep::new();
    let options = ListenOptions::default().tls(party.server().build().unwrap());
    let listener = rep.listen_with("tls+tcp://127.0.0.1:0", options).await.unwrap();
    assert_eq!(listener.scheme(), "tls+tcp");
    let req = Req::new();
    let options = DialOptions::default().tls(party.client().build().unwrap());
    req.dial_with(&listener.to_string(), options).await.unwrap();
    let body = "by tls ".repeat(10_000);
    req.send(body.clone()).await.unwrap();
    assert_eq!(rep.recv().await.unwrap(), body);
    rep.send(body.clone()).await.unwrap();
    assert_eq!(req.recv().await.unwrap(), body);
    for pipes in [rep.pipes(), req.pipes()] {
        let info = &pipes[0].info;
        assert!(info.certificate.is_some());
        assert!(info.peer.starts_with("tls+tcp://"), "{}", info.peer);
        assert!(info.local.as_deref().is_some_and(|local| local.starts_with("tls+tcp://")));
    }
}

#[tokio::test]
async fn a_listener_without_a_certificate_is_refused_with_what_to_do() {
    let rep = Rep::new();
    let refused = rep.listen("tls+tcp://127.0.0.1:0").await.unwrap_err();
    let none = NetErrorKind::Tls(TlsError::NoServerCertificate);
    assert_eq!(refused.kind.to_string(), none.to_string());
    assert!(refused.hint().contains("ListenOptions::tls"), "{}", refused.hint());
}

#[tokio::test]
async fn a_refused_dialer_gets_the_reason_and_the_listener_counts_it() {
    let party = Party::new();
    let pull = Pull::new();
    let options = ListenOptions::default().tls(party.server().build().unwrap());
    let listener = pull.listen_with("tls+tcp://127.0.0.1:0", options).await.unwrap();
    let push = Push::new();
    let options = DialOptions::default().tls(party.stranger().build().unwrap());
    let refused = push.dial_with(&listener.to_string(), options).await.unwrap_err();
    let required = TlsError::RefusedByPeer(PeerRefusal::CertificateRequired);
    assert!(matches!(&refused.kind, NetErrorKind::Tls(error) if *error == required), "{refused:#}");
    let statistics = pull.statistics();
    assert_eq!((statistics.handshakes.tls, statistics.handshakes_failed), (1, 1));
}

/// A client of TLS without a certificate writes a header and a message although it is not let in.
#[tokio::test]
async fn nothing_is_delivered_of_or_to_a_client_without_a_certificate() {
    let party = Party::new();
    let pull = Pull::new();
    let options = ListenOptions::default().tls(party.server().build().unwrap());
    let listener = pull.listen_with("tls+tcp://127.0.0.1:0", options).await.unwrap();
    // The header of a push socket, and a message of five bytes.
    let says = b"\0SP\0\0\x50\0\0\0\0\0\0\0\0\0\x05hello";
    let (got, ended) = raw_client(&party, listener.rest(), rustls::ALL_VERSIONS, says).await;
    assert_eq!(got, [0; 0]);
    assert!(ended.is_err());
    let statistics = pull.statistics();
    assert_eq!((statistics.handshakes.tls, statistics.pipes_opened), (1, 0));
    assert_eq!(statistics.counters.received, 0);
}

/// Reports the ends of pipes.
struct Ends(Mutex<Option<tokio::sync::oneshot::Sender<PipeEnd>>>);

impl PipeWatcher for Ends {
    fn closed(&self, _pipe: &PipeInfo, end: &PipeEnd, _statistics: &PipeStatistics) {
        if let Some(report) = self.0.lock().unwrap().take() {
            report.send(end.clone()).unwrap();
        }
    }
}

/// An end that closes says so within TLS; one that is cut off does not, and that is no orderly end.
#[tokio::test]
async fn a_peer_that_closes_differs_from_one_that_is_cut_off() {
    for is_cut in [false, true] {
        let party = Party::new();
        let pull = Pull::new();
        let (report, end) = tokio::sync::oneshot::channel();
        pull.watch_pipes(Ends(Mutex::new(Some(report))));
        let options = ListenOptions::default().tls(party.server().build().unwrap());
        let listener = pull.listen_with("tls+tcp://127.0.0.1:0", options).await.unwrap();
        let relay = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let place = format!("tls+tcp://{}", relay.local_addr().unwrap());
        let target = listener.rest().to_owned();
        let (cut, until_cut) = tokio::sync::oneshot::channel::<()>();
        let relaying = tokio::spawn(async move {
            let (mut near, _) = relay.accept().await.unwrap();
            let mut far = tokio::net::TcpStream::connect(target).await.unwrap();
            tokio::select! {
                _ = tokio::io::copy_bidirectional(&mut near, &mut far) => {}
                _ = until_cut => {}
            }
        });
        let push = Push::new();
        let options = DialOptions::default().tls(party.client().build().unwrap());
        push.dial_with(&place, options).await.unwrap();
        push.send("a message").await.unwrap();
        assert_eq!(pull.recv().await.unwrap(), "a message");
        if is_cut {
            cut.send(()).unwrap();
            let PipeEnd::Lost(why) = end.await.unwrap() else { panic!("not lost") };
            assert_eq!(why, TlsError::CutOff.to_string());
        } else {
            push.close().await;
            assert_eq!(end.await.unwrap(), PipeEnd::PeerClosed);
            drop(cut);
        }
        relaying.await.unwrap();
    }
}
