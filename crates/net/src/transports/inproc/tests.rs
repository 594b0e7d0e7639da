use std::task::Wake;

use bytes::Bytes;
use tokio::io::AsyncReadExt;

use super::*;
use crate::socket::{Pub, Sub};

#[derive(Default)]
struct Count(Mutex<usize>);

impl Wake for Count {
    fn wake(self: Arc<Count>) {
        *lock(&self.0) += 1;
    }
}

#[tokio::test]
async fn a_reader_wakes_the_writer_that_waits_for_room() {
    let address = Address::new("inproc", "room");
    let listener = Inproc.listen(&address, ListenOptions::default()).await.unwrap();
    let ours = Inproc.dial(&address, DialOptions::default()).await.unwrap();
    let mut theirs = listener.accept().await.unwrap();
    while ours.outlet.try_write(&[IoSlice::new(&[7; 4096])]).is_ok() {}
    let count = Arc::new(Count::default());
    let waker = Waker::from(count.clone());
    assert!(ours.outlet.poll_writable(&mut Context::from_waker(&waker)).is_pending());
    theirs.reader.read_exact(&mut [0; 1]).await.unwrap();
    assert_eq!(*lock(&count.0), 1);
    assert!(ours.outlet.poll_writable(&mut Context::from_waker(&waker)).is_ready());
}

#[tokio::test]
async fn long_messages_are_handed_over_without_a_copy() {
    let (publisher, subs) = (Pub::new(), [Sub::new(), Sub::new()]);
    publisher.listen("inproc://handed").await.unwrap();
    for sub in &subs {
        sub.subscribe("").unwrap();
        sub.dial("inproc://handed").await.unwrap();
    }
    while publisher.statistics().pipes_open < 2 {
        tokio::task::yield_now().await;
    }
    let bodies = [2000, 70_000, 1 << 20].map(|length| Bytes::from(vec![7; length]));
    for body in &bodies {
        publisher.send(body.clone()).await.unwrap();
        publisher.send("between").await.unwrap();
    }
    for sub in &subs {
        for body in &bodies {
            let received = sub.recv().await.unwrap();
            assert_eq!((received.as_ptr(), received.len()), (body.as_ptr(), body.len()));
            assert_eq!(sub.recv().await.unwrap(), "between");
        }
    }
}

/// Many writes that the reader is too slow for share a few batches, in order and bounded.
#[tokio::test]
async fn small_writes_share_batches_up_to_the_bound() {
    let address = Address::new("inproc", "small");
    let listener = Inproc.listen(&address, ListenOptions::default()).await.unwrap();
    let ours = Inproc.dial(&address, DialOptions::default()).await.unwrap();
    let mut theirs = listener.accept().await.unwrap();
    let mut sent = Vec::new();
    for number in 0_u8.. {
        let mut batch = Batch::new();
        batch.head(|out| out.extend(&[number; 1000]));
        batch.body(Bytes::from(vec![number; 1500]));
        match number % 2 {
            0 if ours.outlet.try_write_batch(&mut batch).is_err() => break,
            1 if ours.outlet.try_write(&[IoSlice::new(&[number; 2500])]).is_err() => break,
            _ => sent.extend([number; 2500]),
        }
    }
    assert!((QUEUE_BYTES_MAX..QUEUE_BYTES_MAX + 2500).contains(&sent.len()), "{}", sent.len());
    let mut first = vec![0; 3000];
    theirs.reader.read_exact(&mut first).await.unwrap();
    let mut input = ReadBuf::new();
    let mut fills = 0;
    while first.len() + input.len() < sent.len() {
        theirs.reader.fill(&mut input).await.unwrap();
        fills += 1;
    }
    assert!(fills <= BATCHES_MAX, "{fills}");
    assert_eq!([&first, input.as_slice()].concat(), sent);
}

#[tokio::test]
async fn a_dropped_listener_leaves_its_name_to_the_next() {
    let address = Address::new("inproc", "name");
    let listen = || Inproc.listen(&address, ListenOptions::default());
    let first = listen().await.unwrap();
    let taken = listen().await.err().unwrap();
    assert!(matches!(taken.kind, NetErrorKind::InUse), "{taken}");
    drop(first);
    let refused = Inproc.dial(&address, DialOptions::default()).await.err().unwrap();
    assert!(matches!(refused.kind, NetErrorKind::NobodyListens), "{refused}");
    let _second = listen().await.unwrap();
    Inproc.dial(&address, DialOptions::default()).await.unwrap();
}
