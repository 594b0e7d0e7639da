//! Credit: a slow reader, and how long items may be.

use std::time::Duration;

use wigwag_link::limits::{ITEM_WINDOW_UNITS, Limits};

use super::*;

/// Sends until the stream has taken nothing for a moment; returns how many it has taken.
async fn taken(sender: &mut ItemSender<u64>, first: u64) -> u64 {
    let (mut sent, mut idle) = (0, 0);
    while idle < 5 {
        let more = fill(sender, first + sent);
        idle = if more > 0 { 0 } else { idle + 1 };
        sent += more;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    sent
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sender_waits_for_a_reader_that_takes_nothing_and_nothing_else_does() {
    let nodes = nodes().await;
    let (mut sender, rows) = Items::channel(16);
    assert_eq!(taken(&mut sender, 0).await, 16, "the queue, before the call is sent");
    nodes.store.keep(rows).ask().await.unwrap();
    let sent = in_time(PATIENCE, taken(&mut sender, 16)).await;
    assert_eq!(sent, ITEM_WINDOW_UNITS, "an item of a number takes one unit");
    // Other streams and calls of the session go on.
    let (mut other, rows) = Items::channel(16);
    let asked = nodes.store.count_aside(rows).ask().sent().await.unwrap();
    send(&mut other, 0, 10_000).await;
    other.finish();
    assert_eq!(in_time(PATIENCE, asked).await.unwrap(), (10_000, None));
    in_time(PATIENCE, nodes.store.take(1).ask()).await.unwrap();
    assert_eq!(taken(&mut sender, 0).await, 0, "one item is less than half of the window");
    in_time(PATIENCE, nodes.store.take(ITEM_WINDOW_UNITS).ask()).await.unwrap();
    assert!(taken(&mut sender, ITEM_WINDOW_UNITS + 16).await >= ITEM_WINDOW_UNITS / 2);
}

/// A call that waits in the mailbox has cost nothing but its queue.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_sent_before_the_handler_has_the_stream() {
    let nodes = nodes().await;
    nodes.store.wait().tell().await.unwrap();
    let (mut sender, rows) = Items::channel(16);
    let asked = nodes.store.count(rows).ask().sent().await.unwrap();
    assert_eq!(taken(&mut sender, 0).await, 16);
    nodes.go.notify_one();
    send(&mut sender, 16, 100).await;
    sender.finish();
    assert_eq!(in_time(PATIENCE, asked).await.unwrap(), (116, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_of_any_length_up_to_a_frame_arrive() {
    // Three bytes in front of the item, and five in front of the bytes in it.
    let longest = Limits::default().frame_max - 8;
    let sizes = [0, 1, 55, 56, 57, 127, 128, 16_000, 16_384, 17_000, longest, 3, longest, longest];
    let nodes = nodes().await;
    for ahead in [1, 64] {
        let (mut sender, blocks) = Items::channel(ahead);
        let asked = nodes.store.blocks(blocks).ask().sent().await.unwrap();
        for size in sizes {
            let block = Bytes::from(vec![size as u8; size as usize]);
            in_time(PATIENCE, sender.send(block)).await.unwrap();
        }
        sender.finish();
        assert_eq!(in_time(PATIENCE, asked).await.unwrap(), (sizes.into(), None));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_longer_than_a_frame_ends_the_stream_at_both_ends_with_both_sizes() {
    let nodes = nodes().await;
    let (mut sender, blocks) = Items::channel(16);
    let asked = nodes.store.blocks(blocks).ask().sent().await.unwrap();
    let too_long = Limits::default().frame_max as usize;
    for size in [10, too_long] {
        sender.send(Bytes::from(vec![size as u8; size])).await.unwrap();
    }
    let gone = in_time(PATIENCE, sender.closed()).await;
    assert_eq!(gone.kind, CallErrorKind::TooLarge);
    let (lengths, error) = in_time(PATIENCE, asked).await.unwrap();
    assert_eq!(lengths, [10]);
    for text in [gone.to_string(), error.unwrap()] {
        assert!(text.contains("65544") && text.contains("65536"), "{text}");
    }
}

/// The reader refuses a stream that it has no room for; what it frees serves the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_beyond_the_memory_of_the_node_are_refused_until_others_end() {
    let nodes = nodes_with(NodeOptions::default().peer_memory(16 * 1024 * 1024)).await;
    let mut senders = Vec::new();
    loop {
        let (mut sender, rows) = Items::channel(1);
        nodes.store.keep(rows).ask().await.unwrap();
        // The second item leaves only when the first was sent, or the stream was refused.
        let sent = async { sender.send(0).await.is_ok() && sender.send(1).await.is_ok() };
        if !in_time(PATIENCE, sent).await || !sender.is_wanted() {
            assert_eq!(closed(&mut sender).await, CallErrorKind::Overloaded);
            break;
        }
        senders.push(sender);
        assert!(senders.len() < 20, "a stream takes 64 KiB and more, of 1 MiB");
    }
    assert!(senders.len() > 10, "{}", senders.len());
    nodes.store.lose().ask().await.unwrap();
    for sender in &mut senders {
        assert_eq!(closed(sender).await, CallErrorKind::Cancelled);
    }
    let (mut sender, rows) = Items::channel(16);
    let asked = nodes.store.count(rows).ask().sent().await.unwrap();
    send(&mut sender, 0, 10).await;
    sender.finish();
    assert_eq!(in_time(PATIENCE, asked).await.unwrap(), (10, None));
}

/// The sender's side has a limit of its own: each stream is a task.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_session_sends_so_many_streams_and_no_more() {
    let nodes = nodes().await;
    nodes.store.wait().tell().await.unwrap();
    let most = wigwag::limits::STREAM_VALUES_MAX;
    let mut senders = Vec::new();
    let error = loop {
        let (sender, rows) = Items::channel(1);
        match nodes.store.keep(rows).tell().await {
            Ok(()) => senders.push(sender),
            Err(refused) => break refused.error,
        }
        assert!(senders.len() as u64 <= most);
    };
    assert_eq!((senders.len() as u64, error.kind), (most, CallErrorKind::NotSerializable));
    assert!(error.to_string().contains("as many streams"), "{error}");
    nodes.go.notify_one();
    drop(senders);
    nodes.store.lose().ask().await.unwrap();
    let (sender, rows) = Items::channel(16);
    sender.finish();
    assert_eq!(in_time(PATIENCE, nodes.store.count(rows).ask()).await.unwrap(), (0, None));
}
