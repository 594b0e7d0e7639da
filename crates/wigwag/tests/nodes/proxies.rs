//! The asks of clients without a session, such as the callers of an HTTP gateway: an idle, quick actor
//! handles them on the thread of the client, all others from its queue, and nobody sees a difference.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::timeout;
use wigwag::access::Principal;
use wigwag::proxy::{ProxyActor, ProxyCall, ProxyReply};
use wigwag::{Actor, CallErrorKind, Node};

const PATIENCE: Duration = Duration::from_secs(60);
/// Attempts within which at least one ask must be handled at once.
const TRIES: u64 = 1000;

#[derive(Default)]
struct Clerk {
    noted: u64,
    bell: Arc<Notify>,
}

#[wigwag::actor]
impl Clerk {
    pub fn add(&self, a: u64, b: u64) -> u64 {
        a + b
    }

    pub fn note(&mut self) {
        self.noted += 1;
    }

    pub fn noted(&self) -> u64 {
        self.noted
    }

    pub fn fail(&mut self) -> u64 {
        panic!("on purpose");
    }

    pub async fn wait(&mut self, number: u64) -> u64 {
        self.bell.notified().await;
        number
    }

    #[wigwag::handler(side_by_side)]
    pub fn wait_beside(&mut self, number: u64) -> impl Future<Output = u64> + Send + 'static {
        let bell = self.bell.clone();
        async move {
            bell.notified().await;
            number
        }
    }
}

/// A node with one actor, and a client of it.
struct Office {
    node: Node,
    clerk: ProxyActor,
    bell: Arc<Notify>,
}

impl Office {
    fn open() -> Office {
        let (node, clerk) = (Node::new(), Clerk::default());
        let bell = clerk.bell.clone();
        node.export("clerk", &clerk.spawn()).unwrap();
        let proxy = node.proxy(Principal::Anonymous, "test").unwrap();
        Office { clerk: proxy.actor("clerk").unwrap(), node, bell }
    }

    fn call(&self, method: &str, arguments: Value) -> ProxyCall {
        self.clerk.method(method).unwrap().call_json(arguments).unwrap()
    }

    /// Asks, and waits.
    async fn ask(&self, method: &str, arguments: Value) -> Value {
        value(&self.call(method, arguments).ask(PATIENCE).await.unwrap())
    }

    /// The asks that the actor has handled.
    fn handled(&self) -> u64 {
        self.node.metrics().actors[0].remote_asks
    }

    /// Asks until the actor handles an ask at once, so that it does so with the next one too.
    async fn becomes_quick(&self) {
        for _ in 0..TRIES {
            if at_once(self.call("add", json!([1, 2])).ask(PATIENCE)).await.is_some() {
                return;
            }
            // An actor that was taken for slow is measured again by its executor task.
            tokio::task::yield_now().await;
        }
        panic!("none of {TRIES} asks was handled at once");
    }
}

fn value(reply: &ProxyReply) -> Value {
    serde_json::from_str(&reply.json().unwrap()).unwrap()
}

/// The outcome of a future that is polled once, if it is ready by then.
async fn at_once<T>(future: impl Future<Output = T>) -> Option<T> {
    let mut future = pin!(future);
    poll_fn(|context| match future.as_mut().poll(context) {
        Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
        Poll::Pending => Poll::Ready(None),
    })
    .await
}

/// Runs a test where its asks may be handled at once: in a task.
async fn in_task(test: impl Future<Output = ()> + Send + 'static) {
    timeout(PATIENCE, tokio::spawn(test)).await.expect("it ends").unwrap();
}

#[tokio::test]
async fn an_idle_quick_actor_handles_the_ask_of_a_client_at_once() {
    in_task(async {
        let office = Office::open();
        office.becomes_quick().await;
        let (mut at_once_count, before) = (0, office.handled());
        for number in 0..TRIES {
            let mut ask = pin!(office.call("add", json!([number, 1])).ask(PATIENCE));
            let reply = match at_once(ask.as_mut()).await {
                Some(reply) => {
                    at_once_count += 1;
                    reply
                }
                None => ask.await,
            };
            assert_eq!(value(&reply.unwrap()), json!(number + 1));
            assert_eq!(office.handled(), before + number + 1, "each is counted once");
        }
        assert!(at_once_count > 0, "none of {TRIES}");
    })
    .await;
}

#[tokio::test]
async fn tells_of_a_client_are_handled_before_its_later_ask() {
    in_task(async {
        let office = Office::open();
        for number in 0..TRIES {
            office.becomes_quick().await;
            office.call("note", json!([])).tell().await.unwrap();
            assert_eq!(office.ask("noted", json!([])).await, json!(number + 1));
        }
    })
    .await;
}

#[tokio::test]
async fn a_handler_that_waits_answers_the_ask_that_began_it_at_once() {
    in_task(async {
        let office = Office::open();
        for method in ["wait", "wait_beside"] {
            for number in 0..50 {
                office.becomes_quick().await;
                let before = office.handled();
                let mut ask = pin!(office.call(method, json!([number])).ask(PATIENCE));
                assert!(at_once(ask.as_mut()).await.is_none(), "nobody has rung");
                office.bell.notify_one();
                assert_eq!(value(&ask.await.unwrap()), json!(number));
                // The actor is counted behind its answer, and handles the next call behind that.
                assert_eq!(office.ask("noted", json!([])).await, json!(0));
                assert_eq!(office.handled(), before + 2, "{method}");
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_panic_is_the_error_of_the_ask_and_ends_the_actor() {
    in_task(async {
        for _ in 0..20 {
            let office = Office::open();
            office.becomes_quick().await;
            let failed = office.call("fail", json!([])).ask(PATIENCE).await.unwrap_err();
            assert_eq!(failed.kind, CallErrorKind::Panicked);
            let later = office.call("add", json!([1, 2])).ask(PATIENCE).await.unwrap_err();
            assert_eq!(later.kind, CallErrorKind::ActorStopped);
        }
    })
    .await;
}

#[tokio::test]
async fn an_ask_without_time_is_late_also_for_an_idle_actor() {
    in_task(async {
        let office = Office::open();
        for _ in 0..50 {
            office.becomes_quick().await;
            let late = office.call("add", json!([1, 2])).ask(Duration::ZERO).await.unwrap_err();
            assert_eq!(late.kind, CallErrorKind::DeadlinePassed);
        }
    })
    .await;
}

/// Clients on all threads find the actor idle and busy in turn.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_at_once_get_their_own_answers() {
    const CLIENTS: u64 = 16;
    const ASKS: u64 = 500;
    let office = Office::open();
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let proxy = office.node.proxy(Principal::Anonymous, "test").unwrap();
            let add = proxy.actor("clerk").unwrap().method("add").unwrap();
            tokio::spawn(async move {
                for number in 0..ASKS {
                    let call = add.call_json(json!([client << 32, number])).unwrap();
                    let sum = value(&call.ask(PATIENCE).await.unwrap());
                    assert_eq!(sum, json!((client << 32) + number));
                }
            })
        })
        .collect();
    for client in clients {
        timeout(PATIENCE, client).await.expect("it ends").unwrap();
    }
    assert_eq!(office.handled(), CLIENTS * ASKS);
}
