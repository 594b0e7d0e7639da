//! The reports about calls that the other end does not understand, and the sums of outcomes.

use std::time::Duration;

use wigwag::{
    Actor, AskError, CallErrorKind, DeliveryStatus, Node, NodeOptions,
    dead_letters::{DeadLetterEvent, Loss, dead_letters, losses},
    lifecycle::Alive,
    session::{Delivery, SessionChange, SessionEvents},
};
use wigwag_link::Identity;
use wigwag_link::features;
use wigwag_link::frame::{Frame, kind};
use wigwag_testkit::ledger::in_time;
use wigwag_testkit::raw;

/// Every wait ends almost at once; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// The listener's version of the interface.
#[derive(Default)]
pub(crate) struct Account {
    total: u64,
}

#[wigwag::actor]
impl Account {
    pub fn add(&mut self, amount: u32) {
        self.total += u64::from(amount);
    }

    pub fn total(&self) -> u64 {
        self.total
    }

    /// Panics.
    pub fn fail(&mut self) {
        panic!("a test wants it")
    }

    /// Never answers.
    pub async fn never(&mut self) -> u64 {
        std::future::pending().await
    }
}

/// The dialer's version: the amount is wider.
#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
pub(crate) trait WideAccount {
    fn add(&mut self, amount: u64);
    fn total(&self) -> u64;
    fn fail(&mut self);
    fn never(&mut self) -> u64;
}

struct Stage {
    client: Node,
    service: Node,
    there: String,
    /// The number of the actor.
    number: u64,
    events: SessionEvents,
}

impl Stage {
    async fn new() -> Stage {
        let (service, client) = (Node::new(), Node::with(NodeOptions::default()));
        let account = Account::default().spawn();
        service.export("account", &account).unwrap();
        let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
        let (events, number) = (client.session_events(), account.handle().unwrap().number());
        Stage { client, service, there: format!("{bound}/account"), number, events }
    }

    /// The tells of the next event about rejected ones.
    async fn rejected(&mut self) -> u64 {
        in_time(PATIENCE, async {
            loop {
                let event = self.events.next().await.unwrap();
                assert!(self.there.starts_with(&*event.peer), "{event:?}");
                if let SessionChange::Rejected { target, method, tells, reason, detail } =
                    event.what
                {
                    assert_eq!((&*target, &*method), (&*self.there, "add"));
                    assert_eq!(reason, CallErrorKind::BadArguments);
                    assert!(detail.starts_with("add: "), "{detail}");
                    break tells;
                }
            }
        })
        .await
    }

    /// Ends the session and returns what its event says of the account.
    async fn end(mut self) -> [u64; 4] {
        self.service.close(Duration::ZERO).await;
        self.ended().await
    }

    async fn ended(&mut self) -> [u64; 4] {
        in_time(PATIENCE, async {
            loop {
                let event = self.events.next().await.unwrap();
                if let SessionChange::Ended { deliveries, .. } = event.what {
                    break sums(&deliveries);
                }
            }
        })
        .await
    }
}

/// Delivered, rejected, unknown and not delivered calls.
fn sums(deliveries: &[Delivery]) -> [u64; 4] {
    deliveries.iter().fold([0; 4], |[a, b, c, d], it| {
        [a + it.delivered, b + it.rejected, c + it.unknown, d + it.not_delivered]
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tell_that_was_not_understood_is_rejected_with_its_reason_and_counted() {
    const TOO_WIDE: u64 = 1 << 40;
    const MANY: u64 = 1000;
    let mut stage = Stage::new().await;
    let (before, mut letters) = (losses(), dead_letters());
    let account = stage.client.actor::<WideAccountInterface>(&stage.there).await.unwrap();
    for amount in [1, TOO_WIDE, 2] {
        account.add(amount).tell().await.unwrap();
    }
    assert_eq!(stage.rejected().await, 1);
    let (mut received, mut sent) = (0, 0);
    while received + sent < 2 {
        match in_time(PATIENCE, letters.next()).await {
            DeadLetterEvent::Letter(letter) if letter.number == stage.number => {
                assert_eq!((letter.loss, letter.tells), (Loss::NotUnderstood, 1));
                assert_eq!((&*letter.actor, &*letter.method), ("Account", "add"));
                received += 1;
            }
            DeadLetterEvent::Letter(letter) if letter.actor == stage.there => {
                assert_eq!((letter.loss, &*letter.method), (Loss::Rejected, "add"));
                sent += letter.tells;
            }
            _ => {}
        }
    }
    assert_eq!((received, sent), (1, 1));
    let after = losses();
    assert!(after.not_understood > before.not_understood && after.rejected > before.rejected);
    // The receipt of such a message says the same.
    let receipt = account.add(TOO_WIDE).receipt().await.unwrap();
    let rejected = DeliveryStatus::Rejected(CallErrorKind::BadArguments);
    assert_eq!(in_time(PATIENCE, receipt).await, rejected);
    wigwag::spawn({
        let account = account.clone();
        async move {
            for _ in 0..MANY {
                account.add(TOO_WIDE).tell().await.unwrap();
            }
        }
    })
    .await
    .unwrap();
    let (mut told, mut events) = (0, 0);
    while told < MANY {
        told += stage.rejected().await;
        events += 1;
    }
    assert!(events <= MANY / 4, "{events} reports of {MANY} tells");
    assert_eq!(account.total().ask().await.unwrap(), 3);
    assert_eq!(stage.client.statistics()[0].session.tells_undeliverable, 0);
    assert_eq!(stage.service.statistics()[0].session.tells_undeliverable, 1 + MANY);
    // Two tells and an ask were handled; a tell, a receipt and MANY tells were rejected.
    assert_eq!(stage.end().await, [3, 2 + MANY, 0, 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_description_that_a_node_asks_for_is_no_call() {
    let stage = Stage::new().await;
    let _account = stage.client.actor::<WideAccountInterface>(&stage.there).await.unwrap();
    let _dynamic = stage.client.dynamic(&stage.there).await.unwrap();
    assert_eq!(stage.end().await, [0; 4]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answered_ask_was_delivered_and_an_open_one_is_unknown() {
    for pipelined in [false, true] {
        let stage = Stage::new().await;
        let account = stage.client.actor::<Account>(&stage.there).await.unwrap();
        account.add(1).tell().await.unwrap();
        for _ in 0..3 {
            assert_eq!(account.total().ask().await.unwrap(), 1);
        }
        let mut asks = account.pipeline(64).unwrap();
        if pipelined {
            for number in 0..5 {
                asks.push(account.total(), number).await.unwrap();
            }
            for _ in 0..5 {
                asks.answer().await.unwrap().1.unwrap();
            }
            asks.push(account.never(), 5).await.unwrap();
        } else {
            drop(asks);
            // Its caller goes away; the ask stays open, because it is not cancelled.
            drop(account.never().receipt().await.unwrap());
        }
        let delivered = if pipelined { 9 } else { 4 };
        // The peer's process dies: what it has handled is known from its answers.
        let ended = stage.end().await;
        assert_eq!(ended, [delivered, 0, 1, 0], "pipelined: {pipelined}");
    }
}

/// A peer of an earlier release counts calls, and reports nothing of those it has not understood.
#[tokio::test]
async fn a_peer_without_the_feature_is_sent_no_reports() {
    let node = Node::new();
    node.export("account", &Account::default().spawn()).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    for offered in [features::RESUME, features::RESUME | features::OUTCOMES] {
        let mut peer = raw::Raw::dial(&bound.to_string()).await;
        peer.open(Identity { offered, ..raw::identity() }).await;
        peer.attach(0, "account").await;
        let wrong = Frame::Tell { channel: 0, method: 1, arguments: &[0x91, 0xC0] };
        let unknown = Frame::Tell { channel: 0, method: 99, arguments: &[0x90] };
        peer.tell(&[wrong, unknown, wrong]).await;
        // Answered in turn, behind the tells.
        let arguments = &[0x90];
        peer.tell(&[Frame::Ask { channel: 0, slot: 0, generation: 0, method: 2, arguments }]).await;
        peer.tell(&[Frame::Ping { id: 1, next_ms: 1000 }]).await;
        let (mut seen, mut is_answered, mut is_credited) = (Vec::new(), false, false);
        while !(is_answered && is_credited) {
            let one = in_time(PATIENCE, peer.frame()).await.unwrap();
            is_answered |= one.kind == kind::REPLY;
            match one.frame() {
                Frame::Credit { handled, .. } => is_credited |= handled == 4,
                Frame::Rejected { channel, method, tells, code, .. } => {
                    seen.push((channel, method, tells, code.0));
                }
                Frame::Outcomes { tells, rejected, .. } => assert_eq!(tells, rejected),
                _ => {}
            }
        }
        let is_on = offered & features::OUTCOMES != 0;
        let reported = [(0, 1, 2, 0x0202), (0, 99, 1, 0x0201)];
        assert_eq!(seen, if is_on { reported.to_vec() } else { Vec::new() });
    }
}

/// The limit as a node that accepts the least names it.
const LIMIT: &str = "accepts 65536: `NodeOptions::message_bytes_max`";

struct Echo {
    calls: u64,
}

#[wigwag::actor]
impl Echo {
    pub fn repeat(&mut self, text: String, times: u32) -> String {
        self.calls += 1;
        text.repeat(times as usize)
    }

    pub fn calls(&self) -> u64 {
        self.calls
    }
}

/// Refused before it is sent, or answered after it was handled: the caller learns both sizes, and
/// which of the two it was.
#[tokio::test]
async fn a_call_or_a_reply_that_is_too_large_fails_with_its_size_and_the_limit() {
    let node = || Node::with(NodeOptions::default().message_bytes_max(0));
    let (service, client) = (node(), node());
    service.export("echo", &Echo { calls: 0 }.spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let echo = client.actor::<Echo>(&format!("{bound}/echo")).await.unwrap();
    let calls = async |echo: EchoRef| {
        let call = echo.repeat("x".repeat(70_000), 1).ask().await.unwrap_err();
        assert!(matches!(call, AskError::Refused(_)), "{call}");
        let error = call.into_error();
        assert_eq!(error.kind, CallErrorKind::TooLarge);
        let detail = error.detail.unwrap();
        assert!(detail.contains("call has 700") && detail.contains(LIMIT), "{detail}");
        let reply = echo.repeat("x".repeat(700), 100).ask().await.unwrap_err();
        assert!(matches!(reply, AskError::Failed(_)), "{reply}");
        let error = reply.into_error();
        assert_eq!(error.kind, CallErrorKind::TooLarge);
        let detail = error.detail.unwrap();
        assert!(detail.contains("reply has 700") && detail.contains(LIMIT), "{detail}");
        let receipt = echo.repeat("x".repeat(700), 100).receipt().await.unwrap();
        assert_eq!(receipt.await, DeliveryStatus::Delivered, "it was handled");
        echo.calls().ask().await.unwrap()
    };
    // Outside a turn, and in one, where calls are encoded in another buffer.
    assert_eq!(in_time(PATIENCE, calls(echo.clone())).await, 2);
    assert_eq!(in_time(PATIENCE, wigwag::spawn(calls(echo))).await.unwrap(), 4);
}
