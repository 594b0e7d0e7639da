//! Calls one after the other: plain, answered later, with a time limit, to a server that has ended,
//! to the caller itself.

use tokio::time::{Instant, timeout};
use wigwag::{Actor, CallErrorKind, Reason, This, lifecycle::Alive, timer::Timer};

use super::server::{apart, failure, is_gone, ms, server, soon};

/// gen_server_SUITE: call. Calls answered at once, answered later, and answered within a sufficient
/// limit.
#[tokio::test(start_paused = true)]
async fn a_call_is_answered_at_once_or_later() {
    let (server, _said) = server();
    assert_eq!(server.number(1).ask().await.unwrap(), 1);
    assert_eq!(server.delayed(2, 10).ask().await.unwrap(), 2);
    let begun = Instant::now();
    assert_eq!(server.delayed(3, 30).timeout(ms(60)).ask().await.unwrap(), 3);
    assert_eq!(begun.elapsed(), ms(30));
}

/// gen_server_SUITE: call. The limit belongs to the caller: it expires to the tick, the server
/// answers all the same, and the late answer is discarded.
#[tokio::test(start_paused = true)]
async fn a_late_answer_meets_nobody() {
    let (server, _said) = server();
    let begun = Instant::now();
    let kind = failure(server.delayed(1, 30).timeout(ms(10)).ask()).await;
    assert_eq!(kind, CallErrorKind::Timeout(ms(10)));
    assert_eq!(begun.elapsed(), ms(10));
    assert!(!server.is_wanted(1).ask().await.unwrap());
    for number in 2..6 {
        assert_eq!(server.delayed(number, 10).ask().await.unwrap(), number, "never that of 1");
    }
    assert!(server.visit(|server| server.owed.is_empty()).await.unwrap());
}

/// A server that expects a second call within a time limit.
#[derive(Default)]
struct Prompt {
    /// Present while the second call is in time.
    waits: Option<Timer>,
}

#[wigwag::actor]
impl Prompt {
    pub fn call_within(&mut self, this: &This<Self>, limit_ms: u64) -> bool {
        self.waits = this.after(ms(limit_ms), |me| me.too_late()).ok();
        true
    }

    pub fn next_call(&mut self) -> bool {
        self.waits.take().is_some_and(|timer| timer.cancel())
    }

    pub fn too_late(&mut self) {
        self.waits = None;
    }
}

/// gen_server_SUITE: call, multicall. Two calls within the limit, and two that are too far apart.
#[tokio::test(start_paused = true)]
async fn a_server_may_expect_the_next_call_in_time() {
    let server = Prompt::default().spawn();
    for (pause, in_time) in [(500, true), (1500, false), (999, true)] {
        assert!(server.call_within(1000).ask().await.unwrap());
        tokio::time::sleep(ms(pause)).await;
        assert_eq!(server.next_call().ask().await.unwrap(), in_time, "after {pause} ms");
    }
}

/// gen_server_SUITE: call, start. A call to a server that has ended fails at once in every form,
/// and returns the message.
#[tokio::test]
async fn a_call_to_a_dead_server_comes_back() {
    let (server, _said) = server();
    server.handle().unwrap().kill();
    is_gone(&server).await;
    let error = server.number(9).timeout(ms(60_000)).ask().await.unwrap_err();
    assert_eq!(error.error().kind, CallErrorKind::ActorStopped);
    let message = error.into_message().unwrap();
    assert!(server.call::<u64>(message).try_ask().is_err());
    assert!(server.number(1).ask().sent().await.is_err());
    assert!(server.note("late").tell().await.is_err());
    let mut asks = server.pipeline(4).unwrap();
    assert!(asks.push(server.number(1), "context").await.is_err_and(|it| it.context == "context"));
}

/// An actor that asks itself.
struct Narcissus;

#[wigwag::actor]
impl Narcissus {
    pub async fn ask_itself(
        &self,
        this: wigwag::Local<NarcissusRef>,
        limit_ms: Option<u64>,
    ) -> bool {
        let call = this.0.nothing();
        let asked = match limit_ms {
            Some(limit) => call.timeout(ms(limit)).ask().await,
            None => call.ask().await,
        };
        asked.is_err_and(|error| error.error().kind == CallErrorKind::CallCycle)
    }

    pub fn nothing(&self) {}
}

/// gen_server_SUITE: calling_self. Asking oneself is refused at once, with a time limit and
/// without.
#[tokio::test(start_paused = true)]
async fn asking_oneself_is_refused_at_once() {
    let server = Narcissus.spawn();
    let begun = Instant::now();
    for limit in [None, Some(60_000)] {
        assert!(server.ask_itself(wigwag::Local(server.clone()), limit).ask().await.unwrap());
    }
    assert_eq!(begun.elapsed(), ms(0));
    server.handle().unwrap().stop();
}

/// gen_server_SUITE: send_request. An ask under way is a value: a wait for it may expire and be
/// repeated; the answer is the same from a local server and from a remote one.
#[tokio::test]
async fn an_answer_may_be_waited_for_again() {
    let (local, _said) = server();
    let (_service, _client, there, _) = apart(&local).await;
    for server in [&local, &there] {
        let mut asked = soon(server.owe(1).ask().sent()).await.unwrap();
        assert_eq!(server.number(5).ask().await.unwrap(), 5, "it serves others meanwhile");
        assert!(timeout(ms(0), &mut asked).await.is_err());
        assert!(timeout(ms(5), &mut asked).await.is_err());
        server.give(1).tell().await.unwrap();
        assert_eq!(soon(&mut asked).await.unwrap(), 1);
    }
    let two = [local.number(1), local.number(2)].map(|call| call.try_ask().unwrap());
    for (asked, expected) in two.into_iter().zip([1, 2]) {
        assert_eq!(asked.await.unwrap(), expected);
    }
}

/// gen_server_SUITE: send_request. Asks under way end with an error when the server ends.
#[tokio::test]
async fn asks_under_way_end_with_their_server() {
    let (server, _said) = server();
    let asked = server.owe(1).ask().sent().await.unwrap();
    let stopping = server.stop(wigwag::Local(Reason::Shutdown)).ask().sent().await.unwrap();
    let behind = server.owe(2).ask().sent().await.unwrap();
    assert!(soon(stopping).await.unwrap(), "what it answered before it ended arrives");
    assert!(soon(asked).await.is_err());
    assert_eq!(soon(behind).await.unwrap_err().kind, CallErrorKind::ActorStopped);
    is_gone(&server).await;
}
