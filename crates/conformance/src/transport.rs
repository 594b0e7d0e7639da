//! The promises of a transport to the users of its connections.

use std::io::{self, IoSlice};
use std::sync::Arc;
use std::thread;

use bytes::BytesMut;
use tokio::io::AsyncReadExt;
use tokio::runtime::Builder;
use tokio::sync::oneshot;
use wigwag_net::handshake::{greet, read_message, send_message, write_all};
use wigwag_net::transport::{ByteInlet, PeerCertificate, SharedMemory};
use wigwag_net::{
    Address, Connection, DialOptions, ListenOptions, Listener, NetErrorKind, Outlet, transport,
};
use wigwag_wire::{Framing, ProtocolNumber, ReadBuf};

use crate::payload::{LENGTHS, body, check};
use crate::{TEST_MAX, TestEnv};

/// More than the largest message of these tests.
const LIMIT: usize = 1024 * 1024;

/// More than any transport holds between a writer and a reader.
const FLOOD_BYTES: usize = 64 * 1024 * 1024;

pub(crate) async fn listen(env: &TestEnv) -> (Box<dyn Listener>, Address) {
    let wanted: Address = env.address().parse().expect("an address");
    let options = ListenOptions::default().receive_limit(FLOOD_BYTES);
    let listener = transport::listen(&wanted, options).await.expect("a listener");
    let address = listener.address().clone();
    (listener, address)
}

/// Two ends of one connection that have exchanged their SP headers: a transport may translate what
/// follows, so it must be SP messages.
async fn connected(env: &TestEnv) -> (Connection, Connection) {
    let (listener, address) = listen(env).await;
    let options = DialOptions::default().receive_limit(FLOOD_BYTES);
    let mut dialled = transport::dial_with(&address, options).await.expect("a connection");
    let mut accepted = listener.accept().await.expect("a connection");
    tokio::join!(greeted(&mut dialled), greeted(&mut accepted));
    (dialled, accepted)
}

/// Exchanges the headers of pairs.
async fn greeted(connection: &mut Connection) {
    let mut input = ReadBuf::new();
    greet(connection, &mut input, ProtocolNumber::PAIR0).await.expect("a partner");
    assert!(input.is_empty(), "nothing follows the header yet");
}

/// A message as its framing puts it into the stream.
fn framed(framing: Framing, message: &[u8]) -> Vec<u8> {
    let (prefix, used) = framing.prefix(message.len());
    [&prefix[..used], message].concat()
}

/// Reads until the peer closes.
pub(crate) async fn read_to_end(connection: &mut Connection) -> Vec<u8> {
    let mut bytes = Vec::new();
    // A reset after the last byte is an end as well.
    let _ = connection.reader.read_to_end(&mut bytes).await;
    bytes
}

/// The writing half alone, as far as sending messages needs a connection.
fn writing_half(connection: &Connection) -> Connection {
    Connection {
        reader: Box::new(ByteInlet(tokio::io::empty())),
        outlet: connection.outlet.clone(),
        framing: connection.framing,
        peer: connection.peer.clone(),
        local: None,
        credentials: None,
        vouched_name: None,
        certificate: PeerCertificate::default(),
        own_certificate: None,
        shared_memory: SharedMemory::default(),
    }
}

/// Messages of every length go both ways at once and arrive unchanged and in order.
pub async fn messages_keep_their_order_and_content(env: &TestEnv) {
    let (left, right) = connected(env).await;
    let talk = |mut connection: Connection, ours: usize, theirs: usize| async move {
        let writing = writing_half(&connection);
        let writer = tokio::spawn(async move {
            for (number, length) in LENGTHS.into_iter().enumerate() {
                let message = body(ours + number, length);
                send_message(&writing, &message).await.expect("sent");
            }
        });
        let mut input = ReadBuf::new();
        for (number, length) in LENGTHS.into_iter().enumerate() {
            let message = read_message(&mut connection, &mut input, LIMIT).await;
            check(&message.expect("a message"), theirs + number, length);
        }
        writer.await.expect("all sent");
        connection
    };
    let left = tokio::spawn(talk(left, 0, 1000));
    let right = tokio::spawn(talk(right, 1000, 0));
    left.await.expect("left");
    right.await.expect("right");
}

/// Both ends write more than the transport holds before either has read all: no end waits for the
/// other for ever.
pub async fn both_directions_flow_at_once(env: &TestEnv) {
    const BYTES: usize = 8 * 1024 * 1024;
    let (left, right) = connected(env).await;
    let talk = |mut connection: Connection, number: usize| async move {
        let (outlet, framing) = (connection.outlet.clone(), connection.framing);
        let writer = tokio::spawn(async move {
            let bytes = framed(framing, &body(number, BYTES));
            write_all(&*outlet, &bytes).await.expect("written");
        });
        let message = read_message(&mut connection, &mut ReadBuf::new(), BYTES).await;
        check(&message.expect("a message"), 1 - number, BYTES);
        writer.await.expect("written");
        connection
    };
    let left = tokio::spawn(talk(left, 0));
    let right = tokio::spawn(talk(right, 1));
    left.await.expect("left");
    right.await.expect("right");
}

/// Complete messages arrive, the partial one does not, and writing to the closed end fails.
pub async fn a_peer_that_closes_in_the_middle_is_noticed(env: &TestEnv) {
    let (left, mut right) = connected(env).await;
    send_message(&left, b"whole").await.expect("sent");
    let (prefix, used) = left.framing.prefix(1000);
    write_all(&*left.outlet, &prefix[..used]).await.expect("written");
    write_all(&*left.outlet, &[7; 500]).await.expect("written");
    left.outlet.close();
    drop(left);
    let mut input = ReadBuf::new();
    let whole = read_message(&mut right, &mut input, LIMIT).await;
    assert_eq!(whole.expect("a message"), "whole");
    let half = read_message(&mut right, &mut input, LIMIT).await;
    let half = half.expect_err("half a message");
    assert!(matches!(half.kind, NetErrorKind::Closed { .. }), "{half}");
    // The first write may still find room; a closed peer must show before a flood is through.
    let flood = vec![0; FLOOD_BYTES];
    assert!(write_all(&*right.outlet, &flood).await.is_err());
}

/// An outlet that finishes ends its own direction: the peer reads to the end and can still answer.
pub async fn a_finished_direction_leaves_the_other_open(env: &TestEnv) {
    let (mut left, mut right) = connected(env).await;
    send_message(&left, b"the last").await.expect("sent");
    if !left.outlet.finish() {
        // A transport that cannot end one direction leaves it open.
        send_message(&left, b"one more").await.expect("sent");
        return;
    }
    assert!(write_all(&*left.outlet, &[7]).await.is_err());
    let mut input = ReadBuf::new();
    let last = read_message(&mut right, &mut input, LIMIT).await;
    assert_eq!(last.expect("a message"), "the last");
    assert!(read_to_end(&mut right).await.is_empty());
    send_message(&right, b"the answer").await.expect("the other direction is open");
    let answer = read_message(&mut left, &mut ReadBuf::new(), LIMIT).await;
    assert_eq!(answer.expect("a message"), "the answer");
}

/// Closing ends both directions, also the reader of the end that closes.
pub async fn closing_ends_our_own_reader(env: &TestEnv) {
    let (left, mut right) = connected(env).await;
    let outlet: Arc<dyn Outlet> = right.outlet.clone();
    let reading = tokio::spawn(async move { read_to_end(&mut right).await });
    outlet.close();
    assert!(reading.await.expect("ended").is_empty());
    drop(left);
}

/// Dialing an address without a listener fails with an error that says so.
pub async fn dialling_without_a_listener_is_refused(env: &TestEnv) {
    let (address, _kept) = env.unused_address();
    let address: Address = address.parse().expect("an address");
    let refused = transport::dial(&address).await.err().expect("refused");
    assert!(matches!(refused.kind, NetErrorKind::NobodyListens), "{refused}");
    assert!(refused.to_string().contains(&address.to_string()));
}

/// A second listener at an address is refused without an effect on the first, and when the first
/// one is dropped the address is free.
pub async fn an_address_is_listened_at_once(env: &TestEnv) {
    let (first, address) = listen(env).await;
    let second = transport::listen(&address, ListenOptions::default()).await;
    let second = second.err().expect("in use");
    assert!(matches!(second.kind, NetErrorKind::InUse), "{second}");
    let dialled = transport::dial(&address).await.expect("a connection");
    first.accept().await.expect("a connection");
    drop((dialled, first));
    let again = transport::listen(&address, ListenOptions::default()).await;
    assert_eq!(again.expect("free again").address(), &address);
}

/// Bytes written one by one and read one by one are the same bytes.
pub async fn single_bytes_come_through(env: &TestEnv) {
    let (left, mut right) = connected(env).await;
    let sent = framed(left.framing, &body(1, 2000));
    let expected = sent.clone();
    let writer = tokio::spawn(async move {
        for byte in &sent {
            write_all(&*left.outlet, &[*byte]).await.expect("written");
        }
        left
    });
    for (place, byte) in expected.iter().enumerate() {
        let mut one = BytesMut::with_capacity(1);
        assert_eq!(right.reader.read_buf(&mut one).await.expect("read"), 1);
        assert_eq!(one[0], *byte, "byte {place}");
    }
    writer.await.expect("written");
}

/// A thousand dialers dial at once; each is accepted and its bytes arrive.
pub async fn a_thousand_dials_at_once_are_accepted(env: &TestEnv) {
    const DIALS: u32 = 1000;
    let (listener, address) = listen(env).await;
    let dials: Vec<_> = (0..DIALS)
        .map(|number| {
            let address = address.clone();
            tokio::spawn(async move {
                let mut dialled = transport::dial(&address).await.expect("a connection");
                greeted(&mut dialled).await;
                send_message(&dialled, &number.to_be_bytes()).await.expect("sent");
                dialled
            })
        })
        .collect();
    let mut heard = Vec::new();
    for _ in 0..DIALS {
        let mut accepted = listener.accept().await.expect("a connection");
        let mut input = ReadBuf::new();
        greet(&mut accepted, &mut input, ProtocolNumber::PAIR0).await.expect("a partner");
        let number = read_message(&mut accepted, &mut input, 4).await.expect("its number");
        heard.push(u32::from_be_bytes(number.as_ref().try_into().expect("four bytes")));
    }
    for dial in dials {
        dial.await.expect("dialled");
    }
    heard.sort_unstable();
    assert!(heard.into_iter().eq(0..DIALS));
}

/// A writer finds no room long before the flood is written. Once the peer reads, it continues, and
/// nothing is lost.
pub async fn a_writer_stops_without_a_reader(env: &TestEnv) {
    let (left, mut right) = connected(env).await;
    let chunk = framed(left.framing, &body(3, 64 * 1024));
    let written = fill(&*left.outlet, &chunk);
    let reading = tokio::spawn(async move { read_to_end(&mut right).await.len() });
    left.outlet.writable().await.expect("room again");
    let rest = &chunk[written % chunk.len()..];
    write_all(&*left.outlet, rest).await.expect("written");
    left.outlet.close();
    assert_eq!(reading.await.expect("read"), written + rest.len());
}

/// A process that is about to exit writes what is left although its runtime has stopped.
pub async fn a_blocking_write_needs_no_runtime(env: &TestEnv) {
    let (listener, address) = listen(env).await;
    let (is_greeted, both_greeted) = oneshot::channel();
    let (is_full, full) = oneshot::channel();
    let writing = thread::spawn(move || {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let left = runtime.block_on(async {
            let options = DialOptions::default().receive_limit(FLOOD_BYTES);
            let mut dialled = transport::dial_with(&address, options).await.expect("a connection");
            greeted(&mut dialled).await;
            dialled
        });
        // From here on nothing runs the runtime.
        both_greeted.blocking_recv().expect("the reader has the header");
        let chunk = framed(left.framing, &body(3, 64 * 1024));
        let written = fill(&*left.outlet, &chunk);
        is_full.send(()).expect("the reader waits");
        let rest = &chunk[written % chunk.len()..];
        assert_eq!(left.outlet.write_blocking(rest, TEST_MAX).expect("written"), rest.len());
        left.outlet.close();
        written + rest.len()
    });
    let mut right = listener.accept().await.expect("a connection");
    greeted(&mut right).await;
    is_greeted.send(()).expect("the writer waits");
    full.await.expect("the writer finds no room");
    let read = read_to_end(&mut right).await.len();
    assert_eq!(writing.join().expect("the writer is done"), read);
}

/// Writes `chunk` again and again until there is no room, and returns the number of bytes.
fn fill(outlet: &dyn Outlet, chunk: &[u8]) -> usize {
    let mut written = 0;
    let stopped = loop {
        match outlet.try_write(&[IoSlice::new(&chunk[written % chunk.len()..])]) {
            Ok(more) => written += more,
            Err(error) => break error,
        }
        assert!(written < FLOOD_BYTES, "nothing holds the writer back");
    };
    assert_eq!(stopped.kind(), io::ErrorKind::WouldBlock);
    written
}
