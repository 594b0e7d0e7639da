//! Credit: a slow reader, and how long items may be.

use wigwag_link::limits::{FRAME_UNITS, ITEM_WINDOW_UNITS, Limits};

use super::*;

/// Waits until the producer has stood still for a moment.
async fn at_rest(produced: &Produced) -> u64 {
    let mut before = 0;
    loop {
        tokio::time::sleep(Duration::from_millis(100)).await;
        let sent = produced.sent();
        if sent == before && sent > 0 {
            return sent;
        }
        before = sent;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_waits_for_a_reader_that_takes_nothing() {
    let nodes = nodes().await;
    let mut items = nodes.source.numbers(100_000);
    begin_all(&nodes, std::slice::from_mut(&mut items)).await;
    let sent = in_time(PATIENCE, at_rest(&nodes.produced)).await;
    assert_eq!(sent, ITEM_WINDOW_UNITS, "an item of a number takes one unit");
    assert_eq!(next(&mut items).await.unwrap().unwrap(), 0);
    let sent = in_time(PATIENCE, at_rest(&nodes.produced)).await;
    assert_eq!(sent, ITEM_WINDOW_UNITS, "one item is less than half of the window");
    assert_eq!(count(&mut items, 1).await, (99_999, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_producer_is_no_further_ahead_than_the_reader_allows() {
    for ahead in [1, 2, 5, 100] {
        let nodes = nodes().await;
        let mut items = nodes.source.numbers(300).ahead(ahead);
        begin_all(&nodes, std::slice::from_mut(&mut items)).await;
        for number in 0..300 {
            assert_eq!(next(&mut items).await.unwrap().unwrap(), number);
            let sent = nodes.produced.sent();
            assert!(sent <= number + 1 + ahead as u64, "{sent} at {number}, {ahead} ahead");
        }
        assert!(next(&mut items).await.is_none());
    }
}

/// Items under way are bounded in bytes too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_items_take_as_much_credit_as_they_have_bytes() {
    let nodes = nodes().await;
    let mut items = nodes.source.blocks(vec![60_000; 1000]);
    begin_all(&nodes, std::slice::from_mut(&mut items)).await;
    let sent = in_time(PATIENCE, at_rest(&nodes.produced)).await;
    assert_eq!(sent, ITEM_WINDOW_UNITS * 64 / 60_000 + 1, "the last one reaches beyond");
    for _ in 0..1000 {
        assert_eq!(next(&mut items).await.unwrap().unwrap().len(), 60_000);
    }
    assert!(next(&mut items).await.is_none());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_of_any_length_up_to_a_frame_arrive_whatever_the_window_is() {
    // Three bytes in front of the item, and five in front of the bytes in it.
    let longest = Limits::default().frame_max - 8;
    assert!(longest.div_ceil(64) <= FRAME_UNITS);
    let sizes = [0, 1, 55, 56, 57, 127, 128, 16_000, 16_384, 17_000, longest, 3, longest, longest];
    for ahead in [1, 64, 100_000] {
        let nodes = nodes().await;
        let mut items = nodes.source.blocks(sizes.to_vec()).ahead(ahead);
        for size in sizes {
            let item = next(&mut items).await.unwrap().unwrap();
            assert!(item.len() as u64 == size && item.iter().all(|byte| *byte == size as u8));
        }
        assert!(next(&mut items).await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_item_longer_than_a_frame_comes_back_and_ends_the_stream_with_both_sizes() {
    let nodes = nodes().await;
    let too_long = Limits::default().frame_max;
    let mut items = nodes.source.blocks(vec![10, too_long, 10]);
    assert_eq!(next(&mut items).await.unwrap().unwrap().len(), 10);
    let error = next(&mut items).await.unwrap().unwrap_err();
    assert_eq!(error.kind, CallErrorKind::TooLarge);
    let text = error.to_string();
    assert!(text.contains("65544") && text.contains("65536"), "{text}");
    assert!(next(&mut items).await.is_none());
    let produced = &nodes.produced;
    assert_eq!((produced.sent(), produced.unwanted.load(Ordering::SeqCst)), (1, 1));
}

/// The reader refuses a stream that it has no room for; what it frees serves the next one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_beyond_the_memory_of_the_node_are_refused_until_others_end() {
    let nodes = nodes_with(NodeOptions::default().peer_memory(16 * 1024 * 1024)).await;
    let mut streams: Vec<Numbers> = Vec::new();
    let error = loop {
        let mut items = nodes.source.numbers(1);
        let poll = poll_fn(|context| Poll::Ready(items.poll_next(context))).await;
        match poll {
            Poll::Ready(Some(Err(error))) => break error,
            poll => assert!(poll.is_pending(), "its item is on its way"),
        }
        streams.push(items);
        assert!(streams.len() < 20, "a stream takes 64 KiB and more, of 1 MiB");
    };
    assert_eq!(error.kind, CallErrorKind::Overloaded);
    assert!(streams.len() > 10, "{}", streams.len());
    assert_eq!(count(&mut streams[0], 0).await, (1, None));
    assert_eq!(count(&mut nodes.source.numbers(1), 0).await, (1, None));
}
