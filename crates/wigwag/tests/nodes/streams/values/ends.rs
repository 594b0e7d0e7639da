//! How streams end: once, and both ends learn why.

use std::task::Poll;

use wigwag::session::SessionChange;

use super::*;

/// The kind and the text of the end.
fn end(counted: Counted) -> (u64, CallErrorKind, String) {
    let (count, error) = counted;
    let (code, text) = error.expect("an error");
    (count, CallErrorKind::from_code(code), text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_end_of_the_sender_is_told_once_behind_the_items() {
    let nodes = nodes().await;
    for store in [&nodes.store, &nodes.here] {
        let (mut sender, rows) = Items::channel(16);
        let asked = store.count(rows).ask().sent().await.unwrap();
        send(&mut sender, 0, 10).await;
        sender.fail(5, "no more");
        let (count, kind, text) = end(in_time(PATIENCE, asked).await.unwrap());
        assert_eq!((count, kind), (10, CallErrorKind::Application(0x8005)));
        assert!(text.contains("no more"), "{text}");

        let (mut sender, rows) = Items::channel(16);
        let asked = store.count(rows).ask().sent().await.unwrap();
        send(&mut sender, 0, 3).await;
        drop(sender);
        let (count, kind, text) = end(in_time(PATIENCE, asked).await.unwrap());
        assert_eq!((count, kind), (3, CallErrorKind::Cancelled));
        assert!(text.contains("had not finished"), "{text}");
    }
}

/// A stream of another library that fails, or panics, at its third item.
struct Failing {
    at: u64,
    panics: bool,
}

impl futures_core::Stream for Failing {
    type Item = Result<u64, &'static str>;

    fn poll_next(
        mut self: std::pin::Pin<&mut Self>,
        _: &mut std::task::Context<'_>,
    ) -> Poll<Option<Result<u64, &'static str>>> {
        self.at += 1;
        match (self.at, self.panics) {
            (..3, _) => Poll::Ready(Some(Ok(self.at - 1))),
            (_, false) => Poll::Ready(Some(Err("the file is torn"))),
            (_, true) => panic!("on purpose"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_that_fails_or_panics_ends_with_that_and_its_reader_goes_on() {
    let nodes = nodes().await;
    for store in [&nodes.store, &nodes.here] {
        for panics in [false, true] {
            let rows = Items::from_fallible_stream(Failing { at: 0, panics });
            let (count, kind, text) =
                end(in_time(PATIENCE, store.count(rows).ask()).await.unwrap());
            let expected = match panics {
                false => (CallErrorKind::Application(0x8000), "the file is torn"),
                true => (CallErrorKind::Panicked, "has panicked"),
            };
            assert_eq!((count, kind), (2, expected.0));
            assert!(text.contains(expected.1), "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_that_leaves_is_told_to_the_sender_at_once() {
    let nodes = nodes().await;
    for store in [&nodes.store, &nodes.here] {
        let (mut sender, rows) = Items::channel(16);
        store.keep(rows).ask().await.unwrap();
        send(&mut sender, 0, 10).await;
        store.take(10).ask().await.unwrap();
        store.lose().ask().await.unwrap();
        assert_eq!(closed(&mut sender).await, CallErrorKind::Cancelled);
        assert_eq!(sender.try_send(9).unwrap_err().into_inner(), 9, "it is not lost");
    }
    // Nothing is left in the way of later ones.
    let (mut sender, rows) = Items::channel(16);
    let asked = nodes.store.count(rows).ask().sent().await.unwrap();
    send(&mut sender, 0, 1000).await;
    sender.finish();
    assert_eq!(in_time(PATIENCE, asked).await.unwrap(), (1000, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_the_actor_is_told_to_the_sender() {
    for is_remote in [true, false] {
        let nodes = nodes().await;
        let store = if is_remote { &nodes.store } else { &nodes.here };
        let (mut sender, rows) = Items::channel(16);
        store.panic_with(rows).ask().await.unwrap_err();
        assert_eq!(closed(&mut sender).await, CallErrorKind::Panicked);

        let nodes = self::nodes().await;
        let store = if is_remote { &nodes.store } else { &nodes.here };
        let (mut sender, rows) = Items::channel(16);
        store.stop_with(rows).tell().await.unwrap();
        assert_eq!(closed(&mut sender).await, CallErrorKind::ActorStopped);
    }
}

/// Another actor of the same name: one method is missing, and one takes another argument.
struct Other;

mod other {
    #[wigwag::actor]
    impl super::Other {
        pub fn with_number(&mut self, _rows: wigwag::Items<u64>, number: u64) -> u8 {
            number as u8
        }

        pub fn unknown(&mut self, _rows: wigwag::Items<u64>) {}
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_refused_ends_its_streams() {
    let nodes = nodes().await;
    let other = nodes.client.actor::<Other>(&nodes.address).await.unwrap();
    // Refused before it is sent: the stream comes back with the call.
    let (mut sender, rows) = Items::channel(16);
    let error = other.unknown(rows).ask().await.unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::NoSuchMethod);
    assert!(sender.is_wanted(), "the call may be sent to another actor");
    drop(error);
    assert_eq!(closed(&mut sender).await, CallErrorKind::Cancelled);
    // A number that does not fit, behind a stream that was read already.
    let (mut sender, rows) = Items::channel(16);
    let error = other.with_number(rows, 300).ask().await.unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::BadArguments, "{error}");
    assert_eq!(closed(&mut sender).await, CallErrorKind::Cancelled);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_is_not_handled_ends_its_streams_with_the_reason() {
    let nodes = nodes().await;
    // Cancelled before its turn.
    nodes.store.wait().tell().await.unwrap();
    let (mut sender, rows) = Items::channel(16);
    drop(nodes.store.count(rows).ask().sent().await.unwrap());
    drop(in_time(PATIENCE, nodes.client.dynamic(&nodes.address)).await.unwrap());
    nodes.go.notify_one();
    assert_eq!(closed(&mut sender).await, CallErrorKind::Cancelled);
    // In the mailbox of an actor that ends.
    nodes.store.wait().tell().await.unwrap();
    let (mut sender, rows) = Items::channel(16);
    nodes.store.keep(rows).tell().await.unwrap();
    drop(in_time(PATIENCE, nodes.client.dynamic(&nodes.address)).await.unwrap());
    nodes.here.handle().unwrap().kill();
    assert_eq!(closed(&mut sender).await, CallErrorKind::ActorStopped);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_end_of_a_session_ends_its_streams_behind_what_has_come() {
    let nodes = nodes().await;
    let (mut sender, rows) = Items::channel(16);
    nodes.store.keep(rows).ask().await.unwrap();
    send(&mut sender, 0, 10).await;
    in_time(PATIENCE, nodes.store.take(5).ask()).await.unwrap();
    nodes.client.close(PATIENCE).await;
    assert_eq!(closed(&mut sender).await, CallErrorKind::Unknown);
    let (read, is_over) = in_time(PATIENCE, nodes.here.finish().ask()).await.unwrap();
    assert!(read >= 5 && is_over, "{read}");
    nodes.service.close(PATIENCE).await;
}

/// The tasks of a runtime that ends are dropped, with streams that their readers have not opened.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_runtime_that_ends_before_its_streams_are_opened_breaks_no_rule() {
    let nodes = nodes().await;
    let mut events = nodes.service.session_events();
    nodes.here.wait().tell().await.unwrap();
    let address = nodes.address.clone();
    let sending = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let senders = runtime.block_on(async {
            let store = Node::new().actor::<Store>(&address).await.unwrap();
            let mut senders = Vec::new();
            for _ in 0..10 {
                let (sender, rows) = Items::channel(16);
                drop(store.count(rows).ask().sent().await.unwrap());
                senders.push(sender);
            }
            let session = store.as_ref().clone();
            (senders, session)
        });
        drop(runtime);
        drop(senders);
    });
    in_time(PATIENCE, sending).await.unwrap();
    let ended = async {
        loop {
            if let SessionChange::Ended { why, .. } = events.next().await.unwrap().what {
                return why;
            }
        }
    };
    nodes.go.notify_one();
    let why = in_time(PATIENCE, ended).await;
    assert!(!why.contains("rule"), "{why}");
}
