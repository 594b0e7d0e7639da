//! How streams end.

use super::*;

async fn kept(nodes: &Nodes) -> Numbers {
    let mut items = nodes.source.keep();
    assert_eq!(next(&mut items).await.unwrap().unwrap(), 7);
    items
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_end_is_told_once_behind_the_items() {
    let nodes = nodes().await;
    let mut items = kept(&nodes).await;
    nodes.here.lose().tell().await.unwrap();
    assert_eq!(count(&mut items, 0).await, (0, Some(CallErrorKind::ReplyDropped)));

    let mut items = kept(&nodes).await;
    nodes.here.fail().tell().await.unwrap();
    let error = next(&mut items).await.unwrap().unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Application(0x8005));
    assert!(error.to_string().contains("no more"), "{error}");
    assert!(next(&mut items).await.is_none());

    let mut items = kept(&nodes).await;
    nodes.here.handle().unwrap().stop();
    assert_eq!(count(&mut items, 0).await, (0, Some(CallErrorKind::ActorStopped)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_sent_before_a_panic_arrive_before_the_panic() {
    let nodes = nodes().await;
    let mut items = nodes.source.panic_after(50);
    assert_eq!(count(&mut items, 0).await, (50, Some(CallErrorKind::Panicked)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_leaves_releases_its_producer_at_once() {
    let nodes = nodes().await;
    for inside in [false, true] {
        let mut items = match inside {
            false => nodes.source.numbers(u64::MAX),
            true => nodes.source.inside(u64::MAX),
        };
        for number in 0..10 {
            assert_eq!(next(&mut items).await.unwrap().unwrap(), number);
        }
        let before = nodes.produced.unwanted.load(Ordering::SeqCst);
        drop(items);
        let has_ended = |it: &Produced| it.unwanted.load(Ordering::SeqCst) > before;
        nodes.produced.until(has_ended).await;
    }
    // Nothing of them is left in the way of later ones.
    assert_eq!(count(&mut nodes.source.numbers(1000), 0).await, (1000, None));
    nodes.client.close(PATIENCE).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_whose_reader_leaves_before_its_turn_is_not_begun() {
    let nodes = nodes().await;
    let handle = nodes.here.handle().unwrap();
    handle.suspend();
    let mut items = nodes.source.numbers(10);
    begin(&mut items).await;
    drop(items);
    // The answer to a request behind it, which does not need the actor, shows that the cancellation
    // has arrived.
    drop(in_time(PATIENCE, nodes.client.dynamic(&nodes.address)).await.unwrap());
    handle.resume();
    assert_eq!(in_time(PATIENCE, nodes.source.begun().ask()).await.unwrap(), 0);
    assert_eq!(nodes.service.statistics()[0].session.asks_cancelled, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_session_ends_its_streams_behind_what_has_come() {
    let nodes = nodes().await;
    let mut items = nodes.source.numbers(u64::MAX).ahead(100);
    begin_all(&nodes, std::slice::from_mut(&mut items)).await;
    nodes.produced.until(|it| it.sent() >= 100).await;
    let closing = tokio::spawn(async move {
        nodes.service.close(Duration::from_millis(50)).await;
        nodes.produced
    });
    let mut number = 0;
    let error = loop {
        match next(&mut items).await {
            Some(Ok(item)) => {
                assert_eq!(item, number);
                number += 1;
            }
            end => break end.unwrap().unwrap_err(),
        }
    };
    assert_eq!(error.kind, CallErrorKind::Unknown, "{error}");
    assert!(number >= 100, "{number}");
    assert!(next(&mut items).await.is_none());
    let produced = in_time(PATIENCE, closing).await.unwrap();
    produced.until(|it| it.unwanted.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_wait_for_an_item_has_a_limit() {
    let nodes = nodes().await;
    let mut items = nodes.source.keep().timeout(Duration::from_millis(100));
    assert_eq!(next(&mut items).await.unwrap().unwrap(), 7);
    assert!(matches!(count(&mut items, 0).await, (0, Some(CallErrorKind::Timeout(_)))));
}
