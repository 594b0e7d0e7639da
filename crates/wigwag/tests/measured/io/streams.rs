//! Streams: credit, ends, writing, and resources left when the actor ends.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use wigwag::io::{self, End, Limits, WriteErrorKind};
use wigwag::lifecycle::Alive;

use super::recorder::{Heard, RecorderRef, expect_silence, line, next, recorder};
use super::{LONG, alone, descriptors, until};

async fn pair() -> (TcpStream, TcpStream) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    (client, listener.accept().await.unwrap().0)
}

/// A connected pair with small socket buffers.
async fn narrow_pair() -> (TcpStream, TcpStream) {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(8 * 1024).unwrap();
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let listener = socket.listen(8).unwrap();
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(8 * 1024).unwrap();
    socket.set_recv_buffer_size(8 * 1024).unwrap();
    let client = socket.connect(listener.local_addr().unwrap()).await.unwrap();
    (client, listener.accept().await.unwrap().0)
}

#[tokio::test]
async fn lines_arrive_in_order_and_the_end_comes_once_and_last() {
    let _alone = alone().await;
    let (mut client, stream) = pair().await;
    let (actor, mut heard) = recorder(false);
    let limits = Limits::default().line_bytes_max(8);
    let delivered = io::lines(stream).limits(limits).deliver(&actor, RecorderRef::line);
    let (_, output) = delivered.unwrap();
    client.write_all(b"one\r\ntwo\n\nmuch too long\nthree\nrest").await.unwrap();
    client.shutdown().await.unwrap();
    for expected in [line("one"), line("two"), line(""), Heard::TooLong, line("three")] {
        assert_eq!(next(&mut heard).await, expected);
    }
    assert_eq!(next(&mut heard).await, Heard::Part("rest".into()));
    assert_eq!(next(&mut heard).await, Heard::End(End::Closed));
    // The other direction is still open.
    output.write("bye").await.unwrap();
    drop(output);
    let mut answer = String::new();
    client.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "bye");
    // This reference is the only one to the actor.
    drop(actor);
    assert_eq!(heard.recv().await, None);
}

#[tokio::test]
async fn chunks_are_the_bytes_and_a_reset_is_an_error() {
    let _alone = alone().await;
    let (mut client, stream) = pair().await;
    let (actor, mut heard) = recorder(false);
    let limits = Limits::default().chunk_bytes(4);
    let delivered = io::chunks(stream).limits(limits).deliver(&actor, RecorderRef::chunk);
    let (_, output) = delivered.unwrap();
    client.write_all(b"a\nbcdefg").await.unwrap();
    let mut bytes = Vec::new();
    while bytes.len() < 8 {
        let Heard::Bytes(chunk) = next(&mut heard).await else { panic!("no chunk") };
        assert!(chunk.len() <= 4);
        bytes.extend(chunk);
    }
    assert_eq!(bytes, b"a\nbcdefg");
    client.set_zero_linger().unwrap();
    drop(client);
    let Heard::End(End::Failed { kind, .. }) = next(&mut heard).await else { panic!("no error") };
    assert_eq!(kind, std::io::ErrorKind::ConnectionReset);
    // The writer gets the error too.
    let refused = loop {
        match output.write("x").await {
            Ok(()) => tokio::task::yield_now().await,
            Err(refused) => break refused,
        }
    };
    assert!(matches!(refused.kind, WriteErrorKind::Ended(End::Failed { .. })), "{refused}");
    assert_eq!(refused.bytes, "x");
    assert!(matches!(output.ended().await, End::Failed { .. }));
}

/// 32 MiB are far more than the system buffers between two sockets.
#[tokio::test]
async fn a_peer_waits_until_the_actor_grants() {
    const LINES: usize = 32 * 1024;
    let _alone = alone().await;
    let (mut client, stream) = pair().await;
    let (actor, mut heard) = recorder(false);
    let limits = Limits::default().granted_by_hand();
    let delivered = io::lines(stream).limits(limits).deliver(&actor, RecorderRef::line);
    let (input, _output) = delivered.unwrap();
    let writes = tokio::spawn(async move {
        for number in 0..LINES {
            client.write_all(format!("{number:01023}\n").as_bytes()).await.unwrap();
        }
    });
    let mut number = 0;
    for granted in [1, 10, 100] {
        input.grant(granted);
        for _ in 0..granted {
            assert_eq!(next(&mut heard).await, Heard::Line(format!("{number:01023}")));
            number += 1;
        }
        expect_silence(&mut heard).await;
    }
    assert!(!writes.is_finished(), "what was not granted must stay at the peer");
    input.grant(LINES);
    while number < LINES {
        assert_eq!(next(&mut heard).await, Heard::Line(format!("{number:01023}")));
        number += 1;
    }
    assert_eq!(next(&mut heard).await, Heard::End(End::Closed));
    writes.await.unwrap();
}

#[tokio::test]
async fn lines_in_hand_and_waiting_lines_count() {
    let _alone = alone().await;
    for (limits, arrive) in [
        (Limits::default().waiting_max(4), 4),
        (Limits::default().waiting_bytes_max(30), 3),
        (Limits::default().waiting_bytes_max(5), 1),
    ] {
        let (mut client, stream) = pair().await;
        let (actor, mut heard) = recorder(true);
        let delivered = io::lines(stream).limits(limits).deliver(&actor, RecorderRef::line);
        let _both = delivered.unwrap();
        client.write_all("123456789\n".repeat(8).as_bytes()).await.unwrap();
        for _ in 0..8 / arrive {
            for _ in 0..arrive {
                assert_eq!(next(&mut heard).await, line("123456789"));
            }
            expect_silence(&mut heard).await;
            actor.forget().ask().await.unwrap();
        }
        // While the actor is suspended, its mailbox holds at most `arrive` events.
        let handle = actor.handle().unwrap();
        handle.suspend();
        client.write_all("123456789\n".repeat(100).as_bytes()).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        assert!(handle.waiting() <= arrive, "{} wait", handle.waiting());
    }
}

#[tokio::test]
async fn closing_an_input_ends_it_while_the_peer_goes_on() {
    let _alone = alone().await;
    let (mut client, stream) = pair().await;
    let (actor, mut heard) = recorder(false);
    let (input, _output) = io::lines(stream).deliver(&actor, RecorderRef::line).unwrap();
    client.write_all(b"one\n").await.unwrap();
    assert_eq!(next(&mut heard).await, line("one"));
    input.close();
    assert_eq!(next(&mut heard).await, Heard::End(End::Stopped));
    let _ = client.write_all(b"two\n").await;
    expect_silence(&mut heard).await;
}

#[tokio::test]
async fn a_write_without_room_comes_back_or_waits() {
    let _alone = alone().await;
    let (mut client, stream) = narrow_pair().await;
    let (actor, _heard) = recorder(false);
    let limits = Limits::default().writing_bytes_max(64 * 1024);
    let delivered = io::lines(stream).limits(limits).deliver(&actor, RecorderRef::line);
    let (_, output) = delivered.unwrap();
    let too_long = output.try_write(vec![0; 64 * 1024]).unwrap_err();
    assert_eq!(too_long.kind, WriteErrorKind::TooLong { most: 64 * 1024 - 64 });
    let mut written = Vec::new();
    let refused = loop {
        let text = format!("{:01023}\n", written.len() / 1024);
        match output.try_write(text.clone()) {
            Ok(()) => written.extend(text.bytes()),
            Err(refused) => {
                // The system may have taken some bytes meanwhile.
                assert_eq!(refused.kind, WriteErrorKind::Full);
                assert_eq!(refused.bytes, text);
                break refused.bytes;
            }
        }
        assert!(output.waiting_bytes() <= 64 * 1024);
        tokio::task::yield_now().await;
    };
    let waits = output.clone();
    let end = tokio::spawn(async move {
        waits.write(refused.clone()).await.unwrap();
        refused
    });
    drop(output);
    let mut read = Vec::new();
    let all = client.read_to_end(&mut read);
    tokio::time::timeout(LONG, all).await.unwrap().unwrap();
    written.extend(end.await.unwrap());
    assert!(read == written, "{} bytes of {}", read.len(), written.len());
}

/// However the actor ends, its peer sees the end and no descriptor is left.
#[tokio::test]
async fn the_streams_of_an_actor_end_with_it() {
    let _alone = alone().await;
    for end in ["stop", "kill", "panic", "drop"] {
        let (mut client, stream) = narrow_pair().await;
        let (actor, heard) = recorder(false);
        let handle = actor.handle().unwrap();
        let delivered = io::lines(stream).deliver(&actor, RecorderRef::line);
        let (input, output) = delivered.unwrap();
        let text = vec![b'x'; 100 * 1024];
        output.try_write(text.clone()).unwrap();
        match end {
            "stop" => drop(actor.stop().tell().await),
            "kill" => drop(handle.kill()),
            "panic" => drop(actor.panic().tell().await),
            _ => {
                // The input is still a reference to the actor.
                drop(actor);
                input.close();
            }
        }
        tokio::time::timeout(LONG, handle.ended()).await.unwrap();
        let mut read = Vec::new();
        // If the stream was aborted, the read may end with a reset.
        let _ = tokio::time::timeout(LONG, client.read_to_end(&mut read)).await.unwrap();
        let whole = matches!(end, "stop" | "drop");
        assert_eq!(read.len() == text.len(), whole, "{end}: {} bytes", read.len());
        let ended = tokio::time::timeout(LONG, output.ended()).await.unwrap();
        assert!(output.try_write("more").is_err(), "{end}: {ended}");
        drop((client, input, output, heard));
        until(end, || descriptors() == 0).await;
    }
}

#[tokio::test]
async fn a_peer_that_never_reads_does_not_keep_the_stream_of_a_stopped_actor() {
    let _alone = alone().await;
    let (client, stream) = narrow_pair().await;
    let (actor, _heard) = recorder(false);
    let (_input, output) = io::lines(stream).deliver(&actor, RecorderRef::line).unwrap();
    output.try_write(vec![b'x'; 200 * 1024]).unwrap();
    actor.stop().tell().await.unwrap();
    assert_eq!(tokio::time::timeout(LONG, output.ended()).await.unwrap(), End::Stopped);
    until("the actor's end of it is closed", || descriptors() == 1).await;
    drop(client);
}
