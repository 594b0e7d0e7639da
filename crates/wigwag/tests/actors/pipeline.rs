//! Pipelines of asks, to a local actor and through each transport.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::time::Duration;

use wigwag::{Actor, CallErrorKind, Node, Pipeline};

struct Echo;

#[wigwag::actor]
impl Echo {
    /// Returns the double at once.
    pub fn double(&self, number: u64) -> u64 {
        2 * number
    }

    /// Returns the double later.
    pub async fn slow(&self, number: u64) -> u64 {
        tokio::task::yield_now().await;
        2 * number
    }

    /// Returns a text of `length` bytes.
    pub fn text(&self, length: u64) -> String {
        "x".repeat(length as usize)
    }

    /// Panics.
    pub fn panic(&self, _number: u64) -> u64 {
        panic!("on purpose")
    }

    /// Never answers.
    pub async fn hang(&self, _number: u64) -> u64 {
        std::future::pending().await
    }
}

/// A reference to an actor in another node, with both nodes.
async fn remote(address: &str) -> (Node, Node, EchoRef) {
    let (service, client) = (Node::new(), Node::new());
    service.export("echo", &Echo.spawn()).unwrap();
    let bound = service.listen(address).await.unwrap();
    let echo = client.actor::<Echo>(&format!("{bound}/echo")).await.unwrap();
    (service, client, echo)
}

/// Makes `count` asks, quick and slow ones mixed, with at most `most` under way, and compares each
/// answer with its own ask.
async fn asks(echo: &EchoRef, count: u64, most: usize) {
    let mut doubles = echo.pipeline(most).unwrap();
    let mut taken = 0;
    for number in 0..=count {
        while doubles.is_full() || (number == count && !doubles.is_empty()) {
            let (asked, reply) = doubles.answer().await.unwrap();
            assert_eq!((asked, reply.unwrap()), (taken, 2 * taken));
            taken += 1;
        }
        if number < count {
            let call = if number % 97 == 3 { echo.slow(number) } else { echo.double(number) };
            doubles.push(call, number).await.unwrap();
        }
    }
    assert_eq!((taken, doubles.answer().await.is_none()), (count, true));
}

async fn everything(echo: &EchoRef) {
    asks(echo, 20_000, 1_000).await;
    asks(echo, 5_000, 1).await;
    let inside = echo.clone();
    wigwag::spawn(async move { asks(&inside, 20_000, 3_000).await }).await.unwrap();
    lengths(echo).await;
}

/// Short and long answers arrive in the order of their asks.
async fn lengths(echo: &EchoRef) {
    let mut texts: Pipeline<Echo, String, u64> = echo.pipeline(500).unwrap();
    for length in (0..200).chain([30_000]).chain(0..200) {
        texts.push(echo.text(length), length).await.unwrap();
    }
    while let Some((length, reply)) = texts.answer().await {
        assert_eq!(reply.unwrap().len() as u64, length);
    }
}

#[tokio::test]
async fn asks_of_an_actor_here() {
    everything(&Echo.spawn()).await;
}

#[tokio::test]
async fn asks_over_tcp() {
    let (_service, _client, echo) = remote("tcp://127.0.0.1:0").await;
    everything(&echo).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn asks_over_tcp_on_two_workers() {
    let (_service, _client, echo) = remote("tcp://127.0.0.1:0").await;
    let other = echo.clone();
    let beside = tokio::spawn(async move { everything(&other).await });
    everything(&echo).await;
    beside.await.unwrap();
}

#[tokio::test]
async fn asks_over_inproc() {
    let (_service, _client, echo) = remote("inproc://pipeline").await;
    everything(&echo).await;
}

#[test]
fn a_thread_outside_a_runtime_has_pipelines_too() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (_service, _client, echo) = runtime.block_on(remote("tcp://127.0.0.1:0"));
    wigwag::block_on(asks(&echo, 3_000, 100));
}

#[tokio::test]
async fn a_message_without_room_comes_back_with_its_companion() {
    let (_service, _client, echo) = remote("tcp://127.0.0.1:0").await;
    for echo in [echo, Echo.spawn()] {
        let mut doubles = echo.pipeline(2).unwrap();
        doubles.push(echo.double(1), "one").await.unwrap();
        doubles.push(echo.double(2), "two").await.unwrap();
        let unsent = doubles.push(echo.double(3), "three").await.unwrap_err();
        assert_eq!((unsent.refused.error.kind, unsent.context), (CallErrorKind::Full, "three"));
        assert!(matches!(unsent.refused.message, EchoMessage::Double { number: 3 }));
        let (first, reply) = doubles.answer().await.unwrap();
        assert_eq!((first, reply.unwrap()), ("one", 2));
        doubles.push(echo.call(unsent.refused.message), "three").await.unwrap();
        assert_eq!(doubles.len(), 2);
        let stranger = Echo.spawn();
        let unsent = doubles.try_push(stranger.double(4), "four").unwrap_err();
        assert_eq!(unsent.refused.error.kind, CallErrorKind::NoSuchActor);
    }
}

#[tokio::test]
async fn a_stopped_actor_answers_what_it_has_not_handled_with_errors() {
    let (_service, _client, echo) = remote("tcp://127.0.0.1:0").await;
    for echo in [echo, Echo.spawn()] {
        let mut asks = echo.pipeline(10).unwrap();
        asks.push(echo.double(1), 1).await.unwrap();
        asks.push(echo.panic(2), 2).await.unwrap();
        asks.push(echo.double(3), 3).await.unwrap();
        assert_eq!(asks.answer().await.unwrap().1.unwrap(), 2);
        let kinds: Vec<_> = [asks.answer().await, asks.answer().await]
            .map(|it| it.unwrap().1.unwrap_err().kind)
            .into();
        assert_eq!(kinds, [CallErrorKind::Panicked, CallErrorKind::ActorStopped]);
        assert!(asks.is_empty());
    }
}

#[tokio::test]
async fn the_end_of_a_session_ends_every_ask() {
    let (service, _client, echo) = remote("tcp://127.0.0.1:0").await;
    let mut asks = echo.pipeline(100).unwrap();
    for number in 0..50 {
        asks.push(echo.hang(number), number).await.unwrap();
    }
    let ending = tokio::spawn(async move { service.close(Duration::from_millis(1)).await });
    for number in 0..50 {
        let (asked, reply) = asks.answer().await.unwrap();
        assert_eq!(asked, number);
        let kind = reply.unwrap_err().kind;
        assert!(
            matches!(kind, CallErrorKind::Unknown | CallErrorKind::ActorStopped),
            "{kind:?} for {number}"
        );
    }
    assert!(asks.answer().await.is_none());
    ending.await.unwrap();
    let unsent = asks.push(echo.double(1), 1).await.unwrap_err();
    assert_eq!(unsent.refused.error.kind, CallErrorKind::NotDelivered);
}

#[tokio::test]
async fn a_dropped_pipeline_gives_its_places_back_when_the_last_answer_has_come() {
    let (_service, _client, echo) = remote("tcp://127.0.0.1:0").await;
    for round in 0..20 {
        // Two such pipelines do not fit a session, so each needs the places of the one before.
        let mut asks: Pipeline<Echo, u64, ()> = echo.pipeline(40_000).unwrap();
        assert!(asks.capacity() >= 32_000, "round {round}: {}", asks.capacity());
        for number in 0..5_000 {
            asks.push(echo.double(number), ()).await.unwrap();
        }
        drop(asks);
        // This ask is answered after all of those.
        assert_eq!(echo.double(1).ask().await.unwrap(), 2);
    }
}

#[tokio::test]
async fn pipelines_that_find_no_places_are_refused_and_single_asks_go_on() {
    let (_service, _client, echo) = remote("tcp://127.0.0.1:0").await;
    let mut pipelines: Vec<Pipeline<Echo, u64, ()>> = Vec::new();
    let refused = loop {
        match echo.pipeline(4_096) {
            Ok(pipeline) => pipelines.push(pipeline),
            Err(error) => break error,
        }
    };
    assert_eq!(refused.kind, CallErrorKind::Overloaded);
    let places: usize = pipelines.iter().map(Pipeline::capacity).sum();
    assert!(places > 60_000, "{places}");
    assert_eq!(echo.double(4).ask().await.unwrap(), 8);
    pipelines.pop();
    assert!(echo.pipeline::<u64, ()>(64).is_ok());
}

/// The turn that began the pipeline still buffers asks when another thread continues it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pipeline_that_changes_its_thread_within_a_turn_mixes_nothing_up() {
    let (_service, _client, echo) = remote("tcp://127.0.0.1:0").await;
    for _ in 0..50 {
        let echo = echo.clone();
        let turn = wigwag::spawn(async move {
            let mut doubles = echo.pipeline(1000).unwrap();
            for number in 0..10_u64 {
                doubles.try_push(echo.double(number), number).unwrap();
            }
            let other = std::thread::spawn(move || {
                for number in 10..20_u64 {
                    wigwag::block_on(doubles.push(echo.double(number), number)).unwrap();
                }
                doubles
            });
            // The turn blocks here instead of awaiting, so it lasts until the other thread has
            // asked.
            other.join().unwrap()
        });
        let mut doubles = turn.await.unwrap();
        for number in 0..20 {
            let (asked, reply) = doubles.answer().await.unwrap();
            assert_eq!((asked, reply.unwrap()), (number, 2 * number));
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_there_is_taken_without_waiting() {
    let (_service, _client, there) = remote("inproc://try-answer").await;
    for echo in [Echo.spawn(), there] {
        let mut doubles = echo.pipeline(10).unwrap();
        assert!(doubles.try_answer().is_none());
        doubles.push(echo.double(4), 'a').await.unwrap();
        doubles.push(echo.double(5), 'b').await.unwrap();
        let mut taken = Vec::new();
        while taken.len() < 2 {
            match doubles.try_answer() {
                Some((given, reply)) => taken.push((given, reply.unwrap())),
                None => tokio::task::yield_now().await,
            }
        }
        assert_eq!(taken, [('a', 8), ('b', 10)]);
    }
}

/// Takes `count` answers, a few at a time; returns them with their contexts.
async fn taken(
    pipeline: &mut Pipeline<Echo, u64, u64>,
    count: usize,
) -> Vec<(u64, Result<u64, CallErrorKind>)> {
    let mut all = Vec::new();
    while all.len() < count {
        let before = all.len();
        let most = (count - before).min(7);
        let said = pipeline.take_ready(most, |given, reply| {
            all.push((given, reply.map_err(|error| error.kind)));
        });
        assert_eq!(said, all.len() - before);
        assert!(said <= most);
        if said == 0 {
            tokio::task::yield_now().await;
        }
    }
    all
}

#[tokio::test]
async fn arrived_answers_are_taken_a_few_at_once() {
    let (_service, _client, there) = remote("inproc://take-ready").await;
    for echo in [Echo.spawn(), there] {
        let mut doubles = echo.pipeline(100).unwrap();
        assert_eq!(doubles.take_ready(9, |_, _| unreachable!("nothing was asked")), 0);
        for number in 0..60 {
            let call = if number % 9 == 4 { echo.slow(number) } else { echo.double(number) };
            doubles.push(call, number).await.unwrap();
        }
        doubles.push(echo.panic(60), 60).await.unwrap();
        let first = taken(&mut doubles, 60).await;
        assert!(first.iter().zip(0..).all(|(got, number)| *got == (number, Ok(2 * number))));
        assert_eq!(taken(&mut doubles, 1).await, [(60, Err(CallErrorKind::Panicked))]);
        assert_eq!(doubles.take_ready(1, |_, _| unreachable!("all were taken")), 0);
        assert!(doubles.is_empty());
    }
}

#[tokio::test]
async fn a_panic_over_an_answer_loses_no_other() {
    let (_service, _client, there) = remote("inproc://take-panic").await;
    for echo in [Echo.spawn(), there] {
        let mut doubles = echo.pipeline(100).unwrap();
        for number in 0..40 {
            doubles.push(echo.double(number), number).await.unwrap();
        }
        let mut next = taken(&mut doubles, 5).await.len() as u64;
        while next == 5 {
            let taking = std::panic::AssertUnwindSafe(|| {
                doubles.take_ready(9, |given, _| {
                    next = given + 1;
                    assert!(given != 5, "on purpose");
                })
            });
            assert!(std::panic::catch_unwind(taking).is_err() || next == 5);
            tokio::task::yield_now().await;
        }
        assert_eq!((next, doubles.len()), (6, 34));
        let rest = taken(&mut doubles, 34).await;
        assert!(rest.iter().zip(6..).all(|(got, number)| *got == (number, Ok(2 * number))));
    }
}

/// Holds for both ways of taking answers; the answers before and behind it are unaffected.
#[tokio::test]
async fn an_answer_of_another_type_is_an_error_in_its_place() {
    let (_service, _client, there) = remote("inproc://take-another").await;
    for (echo, at_once) in [(Echo.spawn(), true), (there.clone(), true), (there, false)] {
        let mut texts = echo.pipeline::<String, u64>(10).unwrap();
        let other = echo.double(7).into_message();
        texts.push(echo.text(2), 2).await.unwrap();
        texts.push(echo.call(other), 0).await.unwrap();
        texts.push(echo.text(3), 3).await.unwrap();
        let mut all = Vec::new();
        while !texts.is_empty() {
            if at_once {
                texts.take_ready(9, |given, reply| {
                    all.push((given, reply.map_err(|error| error.kind)));
                });
                tokio::task::yield_now().await;
            } else {
                let (given, reply) = texts.answer().await.unwrap();
                all.push((given, reply.map_err(|error| error.kind)));
            }
        }
        let expected =
            [(2, Ok("xx".into())), (0, Err(CallErrorKind::BadReply)), (3, Ok("xxx".into()))];
        assert_eq!(all, expected);
    }
}
