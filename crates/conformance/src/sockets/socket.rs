//! The promises of every socket, whatever its protocol, shown with push and pull.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use tokio::sync::Notify;
use wigwag_net::NetErrorKind;
use wigwag_net::socket::{Pull, Push, SocketErrorKind};
use wigwag_wire::{Fault, FramingError, HeaderError};

use crate::{TestEnv, eventually};

/// Dialing an address without a listener fails: the error contains the address, and the socket is
/// unchanged.
pub async fn dialling_without_a_listener_fails_without_side_effects(env: &TestEnv) {
    let (address, _kept) = env.unused_address();
    let push = Push::new();
    let refused = push.dial(&address).await.expect_err("nobody is there");
    assert!(matches!(refused.kind, NetErrorKind::NobodyListens));
    assert_eq!(refused.fault(), Fault::Network);
    assert!(refused.to_string().contains(&address), "{refused}");
    assert_eq!(push.statistics().dials_failed, 0, "nobody dials again");
    let nobody = push.try_send("x").expect_err("nobody is connected");
    assert!(matches!(nobody.error.kind, SocketErrorKind::NoPeer { .. }));
}

/// A push socket dials a push socket: both ends report the wrong partner.
pub async fn the_wrong_partner_is_named(env: &TestEnv) {
    let listening = Push::new();
    let address = listening.listen(&env.address()).await.expect("listens");
    let dialling = Push::new();
    let refused = dialling.dial(&address.to_string()).await;
    let refused = refused.expect_err("push does not talk to push");
    assert!(matches!(refused.kind, NetErrorKind::Header(HeaderError::WrongProtocol { .. })));
    assert!(refused.to_string().contains("PUSH"), "{refused}");
    eventually(|| listening.statistics().handshakes_failed > 0).await;
    listening.set_send_timeout(Some(Duration::from_millis(1)));
    let error = listening.send("x").await.expect_err("nobody").error;
    assert!(error.to_string().contains("PUSH socket"), "{error}");
}

/// A message over the limit closes the pipe, and the end with the limit reports the error. Messages
/// before it are not lost.
pub async fn a_message_over_the_limit_ends_the_connection(env: &TestEnv) {
    const LIMIT: usize = 1000;
    let pull = Pull::new();
    pull.set_receive_limit(LIMIT);
    let address = pull.listen(&env.address()).await.expect("listens");
    let push = Push::new();
    push.dial(&address.to_string()).await.expect("dials");
    push.send(vec![1; LIMIT]).await.expect("sent");
    push.send(vec![2; LIMIT + 1]).await.expect("sent");
    assert_eq!(pull.recv().await.expect("at the limit"), vec![1; LIMIT]);
    eventually(|| pull.statistics().pipes_punished == 1).await;
    // The pusher redials by itself, and smaller messages pass.
    eventually(|| push.statistics().pipes_opened == 2).await;
    push.send(vec![3; LIMIT]).await.expect("sent");
    assert_eq!(pull.recv().await.expect("again"), vec![3; LIMIT]);
    let named = FramingError::TooLong { length: LIMIT as u64 + 1, limit: LIMIT };
    assert!(named.to_string().contains("1001"));
}

/// Calls that wait when the socket is closed end at once, and so do later ones.
pub async fn closing_ends_the_calls_that_wait(env: &TestEnv) {
    let pull = Arc::new(Pull::new());
    pull.listen(&env.address()).await.expect("listens");
    let waiting: Vec<_> = (0..3)
        .map(|_| {
            let pull = pull.clone();
            tokio::spawn(async move { pull.recv().await })
        })
        .collect();
    tokio::task::yield_now().await;
    pull.close().await;
    for call in waiting {
        let ended = call.await.expect("no panic").expect_err("closed");
        assert!(matches!(ended.kind, SocketErrorKind::Closed));
    }
    let later = pull.recv().await.expect_err("closed");
    assert!(matches!(later.kind, SocketErrorKind::Closed));
    assert!(pull.listen(&env.address()).await.is_err());
}

/// After a close another socket can listen at the same address.
pub async fn closing_frees_the_address(env: &TestEnv) {
    let first = Pull::new();
    let address = first.listen(&env.address()).await.expect("listens");
    let push = Push::new();
    push.dial(&address.to_string()).await.expect("dials");
    push.send("to the first").await.expect("sent");
    assert_eq!(first.recv().await.expect("a message"), "to the first");
    for _ in 0..3 {
        let next = Pull::new();
        let taken = next.listen(&address.to_string()).await;
        let taken = taken.expect_err("it is taken");
        assert!(matches!(taken.kind, NetErrorKind::InUse), "{taken}");
    }
    first.close().await;
    let second = Pull::new();
    second.listen(&address.to_string()).await.expect("free again");
    eventually(|| push.statistics().pipes_opened == 2).await;
    push.send("to the second").await.expect("sent");
    assert_eq!(second.recv().await.expect("a message"), "to the second");
}

/// The error of a call that times out says whether there was no peer or the peer was silent.
pub async fn a_timeout_says_what_was_missing(env: &TestEnv) {
    let short = Some(Duration::from_millis(20));
    let push = Push::new();
    push.set_send_timeout(short);
    let nobody = push.send("x").await.expect_err("nobody is connected");
    assert_eq!(nobody.message, "x");
    assert!(matches!(nobody.error.kind, SocketErrorKind::NoPeer { .. }));
    let pull = Pull::new();
    pull.set_receive_timeout(short);
    let address = pull.listen(&env.address()).await.expect("listens");
    push.dial(&address.to_string()).await.expect("dials");
    push.send("x").await.expect("a peer is there now");
    assert_eq!(pull.recv().await.expect("a message"), "x");
    let silent = pull.recv().await.expect_err("nothing comes");
    assert!(matches!(silent.kind, SocketErrorKind::TimedOut(_)), "{silent}");
    assert_eq!(silent.fault(), Fault::Peer);
}

/// Calls of recv are begun and dropped repeatedly; no message is lost.
pub async fn a_dropped_recv_loses_nothing(env: &TestEnv) {
    let pull = Pull::new();
    let address = pull.listen(&env.address()).await.expect("listens");
    let push = Push::new();
    push.dial(&address.to_string()).await.expect("dials");
    for number in 0..200_u8 {
        {
            let mut begun = pin!(pull.recv());
            poll_fn(|context| {
                assert!(begun.as_mut().poll(context).is_pending());
                Poll::Ready(())
            })
            .await;
            push.send(vec![number]).await.expect("sent");
            if number % 2 == 0 {
                // Half of them are woken before they are dropped.
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(pull.recv().await.expect("a message"), vec![number]);
    }
}

/// Notified when a call is woken: awaiting the call itself would look at it in any case.
#[derive(Default)]
struct Woken(Notify);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.notify_one();
    }
}

/// The first of two waiting senders is woken and dropped: the second one sends.
pub async fn a_dropped_send_passes_its_turn_on(env: &TestEnv) {
    let push = Push::new();
    let mut first = Box::pin(push.send("given up"));
    let mut second = Box::pin(push.send("kept"));
    let woken = Arc::new(Woken::default());
    let waker = Waker::from(woken.clone());
    poll_fn(|context| {
        assert!(first.as_mut().poll(context).is_pending());
        assert!(second.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        Poll::Ready(())
    })
    .await;
    let pull = Pull::new();
    let address = pull.listen(&env.address()).await.expect("listens");
    push.dial(&address.to_string()).await.expect("dials");
    // The first was woken by the new peer and does nothing with it.
    drop(first);
    woken.0.notified().await;
    second.await.expect("sent");
    assert_eq!(pull.recv().await.expect("a message"), "kept");
}
