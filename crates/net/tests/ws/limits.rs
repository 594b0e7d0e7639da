//! The limits of messages, and peers that make trouble in numbers.

use wigwag_net::socket::Pull;

use super::raw::{Raw, Role, Seen, connected, frame, in_time, read_head, request};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;

const LIMIT: usize = 1000;

/// A pull socket with a limit, and a client made by hand.
async fn pulling(address: &str) -> (Pull, Raw) {
    let pull = Pull::new();
    let bound = pull.listen(address).await.unwrap().to_string();
    // A limit that is set later counts too.
    pull.set_receive_limit(LIMIT);
    let mut stream = TcpStream::connect(&bound["ws://".len()..]).await.unwrap();
    let protocol = "Sec-WebSocket-Protocol: pull.sp.nanomsg.org\r\n";
    stream.write_all(request("/", protocol).as_bytes()).await.unwrap();
    assert!(read_head(&mut stream).await.starts_with("HTTP/1.1 101 "));
    (pull, Raw { role: Role::Client, stream })
}

/// Both kinds of a message that is too long end with 1009, the whole one before its body has come.
#[tokio::test]
async fn a_message_over_the_limit_is_refused_with_1009_and_counted() {
    let announced = [&[0x82, 0xff][..], &(1_u64 << 40).to_be_bytes(), &[0; 4]].concat();
    let one_more = frame(Role::Client, 0x82, &[7; LIMIT + 1]);
    let fragments = [
        frame(Role::Client, 0x02, &[7; LIMIT / 2]),
        frame(Role::Client, 0x00, &[7; LIMIT / 2]),
        frame(Role::Client, 0x80, &[7; 1]),
    ]
    .concat();
    for too_long in [announced, one_more, fragments] {
        let (pull, mut raw) = pulling("ws://127.0.0.1:0").await;
        raw.send(&frame(Role::Client, 0x82, &[7; LIMIT]), usize::MAX).await;
        assert_eq!(in_time("a message", pull.recv()).await.unwrap().len(), LIMIT);
        raw.send(&too_long, usize::MAX).await;
        assert_eq!(raw.see().await, Seen::Close(Some(1009)));
        in_time("the count", async {
            while pull.statistics().pipes_punished == 0 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(pull.statistics().counters.received, 1);
    }
}

#[tokio::test]
async fn a_fragmented_message_of_the_limit_passes() {
    let (pull, mut raw) = pulling("ws://127.0.0.1:0").await;
    raw.send(&frame(Role::Client, 0x02, &[7; LIMIT - 1]), usize::MAX).await;
    raw.send(&frame(Role::Client, 0x80, &[7]), usize::MAX).await;
    assert_eq!(in_time("a message", pull.recv()).await.unwrap(), vec![7; LIMIT]);
}

#[tokio::test]
async fn empty_fragments_without_an_end_are_refused() {
    let (_echo, mut raw) = connected(Role::Client).await;
    let mut flood = frame(Role::Client, 0x02, b"begins");
    for _ in 0..2000 {
        flood.extend(frame(Role::Client, 0x00, b""));
    }
    raw.send(&flood, usize::MAX).await;
    assert_eq!(raw.see().await, Seen::Close(Some(1008)));
}

/// A peer that pings and reads nothing gets no more answers than fit, and the last one when it reads.
#[tokio::test]
async fn pings_of_a_peer_that_does_not_read_are_answered_within_bounds() {
    const PINGS: usize = 200_000;
    let (_echo, mut raw) = connected(Role::Client).await;
    let mut flood = Vec::new();
    for number in 0..PINGS {
        flood.extend(frame(Role::Client, 0x89, format!("{number:0>100}").as_bytes()));
    }
    flood.extend(frame(Role::Client, 0x82, b"behind the pings"));
    raw.send(&flood, usize::MAX).await;
    let (mut pongs, mut last) = (0, Vec::new());
    loop {
        match raw.see().await {
            Seen::Pong(payload) => {
                pongs += 1;
                last = payload;
            }
            Seen::Message(message) => {
                assert_eq!(message, b"behind the pings");
                break;
            }
            other => panic!("{other:?}"),
        }
    }
    // The buffers of the connection hold less than the answers to all.
    assert!((1..PINGS).contains(&pongs), "{pongs} answers");
    assert_eq!(last, format!("{:0>100}", PINGS - 1).as_bytes(), "the last ping has its answer");
}
