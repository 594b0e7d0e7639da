//! Collections of labelled requests to several servers: answers taken in order of arrival, given up
//! together, or polled now and then.

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};
use wigwag::{CallError, CallErrorKind, Local, Reason};

use super::server::{ServerRef, failure, ms, server, soon};

type Outcome = (&'static str, Result<u64, CallErrorKind>);

/// Requests under way. Dropping it gives up the requests without an answer.
#[derive(Default)]
struct Requests(JoinSet<Outcome>);

impl Requests {
    fn add(&mut self, server: &ServerRef, label: &'static str, delay_ms: u64) {
        let server = server.clone();
        let number = delay_ms;
        self.0.spawn(async move {
            let reply = server.delayed(number, delay_ms).ask().await;
            (label, reply.map_err(|error| error.error().kind))
        });
    }

    /// Adds a request that its server does not answer because it ends.
    fn add_last(&mut self, server: &ServerRef, label: &'static str) {
        let server = server.clone();
        self.0.spawn(async move {
            (label, Err(failure(server.stop_silently(Local(Reason::Shutdown)).ask()).await))
        });
    }

    async fn next(&mut self) -> Option<Outcome> {
        soon(self.0.join_next()).await.map(Result::unwrap)
    }
}

fn three() -> [ServerRef; 3] {
    [server().0, server().0, server().0]
}

/// gen_server_SUITE: send_request_receive_reqid_collection, send_request_wait_reqid_collection.
/// Answers arrive in the order in which they are given, each with its label; a request outside the
/// collection may be awaited at any time.
#[tokio::test(start_paused = true)]
async fn answers_are_taken_as_they_come() {
    let [first, second, third] = three();
    let beside = first.number(7).ask().sent().await.unwrap();
    let mut requests = Requests::default();
    requests.add(&first, "first", 400);
    requests.add(&second, "second", 1);
    requests.add(&third, "third", 200);
    assert_eq!(requests.0.len(), 3);
    for expected in [("second", Ok(1)), ("third", Ok(200)), ("first", Ok(400))] {
        assert_eq!(requests.next().await, Some(expected));
    }
    assert_eq!(requests.next().await, None);
    assert_eq!(beside.await.unwrap(), 7);
}

/// gen_server_SUITE: send_request_receive_reqid_collection. Requests without an answer by a
/// deadline are given up, and the servers see that nobody waits for them.
#[tokio::test(start_paused = true)]
async fn requests_may_be_given_up_together() {
    let [first, second, third] = three();
    let mut requests = Requests::default();
    requests.add(&first, "first", 1000);
    requests.add(&second, "second", 1);
    requests.add(&third, "third", 500);
    let deadline = Instant::now() + ms(100);
    let one = timeout_at(deadline, requests.next()).await.unwrap();
    assert_eq!(one, Some(("second", Ok(1))));
    assert!(first.is_wanted(1000).ask().await.unwrap());
    assert!(timeout_at(deadline, requests.next()).await.is_err());
    requests.0.shutdown().await;
    assert!(!first.is_wanted(1000).ask().await.unwrap());
    assert!(!third.is_wanted(500).ask().await.unwrap());
}

/// gen_server_SUITE: send_request_wait_reqid_collection. A wait that expires gives up no request:
/// the answers arrive later.
#[tokio::test(start_paused = true)]
async fn waiting_in_vain_gives_up_nothing() {
    let [first, second, third] = three();
    let mut requests = Requests::default();
    requests.add(&first, "first", 1000);
    requests.add(&second, "second", 1);
    requests.add(&third, "third", 500);
    let deadline = Instant::now() + ms(100);
    assert!(timeout_at(deadline, requests.next()).await.is_ok());
    assert!(timeout_at(deadline, requests.next()).await.is_err());
    assert_eq!(requests.0.len(), 2);
    assert_eq!(requests.next().await, Some(("third", Ok(500))));
    assert_eq!(requests.next().await, Some(("first", Ok(1000))));
}

/// gen_server_SUITE: send_request_check_reqid_collection. Polling takes the answers that have
/// arrived and does not wait.
#[tokio::test(start_paused = true)]
async fn looking_waits_for_nothing() {
    let [first, second, _] = three();
    let mut requests = Requests::default();
    requests.add(&first, "first", 400);
    requests.add(&second, "second", 100);
    let mut seen = Vec::new();
    for at in [99, 101, 399, 401] {
        tokio::time::sleep_until(Instant::now() + ms(1)).await;
        let begun = Instant::now();
        let _ = requests.0.try_join_next().map(|outcome| seen.push(outcome.unwrap()));
        assert_eq!(begun.elapsed(), ms(0), "looking at {at}");
        tokio::time::sleep(ms(150)).await;
    }
    while let Some(outcome) = requests.0.try_join_next() {
        seen.push(outcome.unwrap());
    }
    assert_eq!(seen, [("second", Ok(100)), ("first", Ok(400))]);
    assert!(requests.0.try_join_next().is_none() && requests.0.is_empty());
}

/// gen_server_SUITE: the error part of all three collections. A server that ends without an answer
/// causes an error with the request's label, and affects no other request.
#[tokio::test(start_paused = true)]
async fn a_request_that_fails_keeps_its_label_and_harms_no_other() {
    let [first, second, third] = three();
    let mut requests = Requests::default();
    requests.add(&first, "first", 400);
    requests.add_last(&second, "second");
    requests.add(&third, "third", 200);
    let failed = ("second", Err(CallErrorKind::ReplyDropped));
    for expected in [failed, ("third", Ok(200)), ("first", Ok(400))] {
        assert_eq!(requests.next().await, Some(expected));
    }
}

/// gen_server_SUITE: send_request_receive_reqid_collection, for many requests of one server. A
/// pipeline is a collection in the order of the asks: the context given with each ask comes back
/// with its answer, and a failed ask keeps its place.
#[tokio::test(start_paused = true)]
async fn a_pipeline_is_a_collection_in_the_order_of_its_asks() {
    let (server, _said) = server();
    let mut requests = server.pipeline(4).unwrap();
    for (label, delay) in [("first", 400), ("second", 1), ("third", 200)] {
        requests.push(server.delayed(delay, delay), label).await.unwrap();
    }
    assert_eq!(requests.len(), 3);
    assert!(requests.try_answer().is_none());
    assert!(timeout_at(Instant::now() + ms(100), requests.answer()).await.is_err());
    requests.push(server.stop_silently(Local(Reason::Normal)), "last").await.unwrap();
    let full = requests.try_push(server.number(0), "too many").unwrap_err();
    assert_eq!((full.refused.error.kind, full.context), (CallErrorKind::Full, "too many"));
    let mut answers = Vec::new();
    while let Some((label, reply)) = soon(requests.answer()).await {
        answers.push((label, reply.map_err(|error: CallError| error.kind)));
    }
    // Answers that the server had not given yet are lost with it.
    let ended = |(_, reply): &(&str, Result<u64, CallErrorKind>)| {
        matches!(reply, Err(CallErrorKind::ActorStopped | CallErrorKind::ReplyDropped))
    };
    assert_eq!(answers[1], ("second", Ok(1)));
    assert!([0, 2, 3].into_iter().all(|at| ended(&answers[at])), "{answers:?}");
    assert!(answers.iter().map(|(label, _)| *label).eq(["first", "second", "third", "last"]));
}
