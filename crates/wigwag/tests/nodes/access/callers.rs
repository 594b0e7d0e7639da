//! Handlers that ask who calls.

use std::time::Duration;

use wigwag::access::{Caller, Principal};
use wigwag::sp::Req;
use wigwag::{Actor, Node, NodeOptions, Responder, This};

use super::{holder, key};

/// Answers with the caller, in each way in which a handler can run.
#[derive(Default)]
struct Mirror {
    stashed: bool,
}

fn shown(caller: Option<Caller>) -> String {
    caller.map_or("none".to_owned(), |caller| caller.principal.to_string())
}

#[wigwag::actor]
impl Mirror {
    pub fn plain(&self, this: &This<Self>) -> String {
        shown(this.caller())
    }

    /// Before and after a wait.
    pub async fn waiting(&mut self, this: &This<Self>) -> [String; 2] {
        let before = shown(this.caller());
        tokio::time::sleep(Duration::from_millis(1)).await;
        [before, shown(this.caller())]
    }

    #[wigwag::handler(side_by_side)]
    pub fn beside(&mut self, this: &This<Self>) -> impl Future<Output = [String; 2]> {
        let before = shown(this.caller());
        async {
            tokio::time::sleep(Duration::from_millis(1)).await;
            let this = This::<Mirror>::current().unwrap();
            [before, shown(this.caller())]
        }
    }

    pub fn stashed(&mut self, this: &This<Self>, answer: Responder<String>) {
        if self.stashed {
            return answer.send(shown(this.caller()));
        }
        self.stashed = true;
        this.stash(answer, |me| me.stashed()).ok().unwrap();
    }

    pub fn unstash(&self, this: &This<Self>) {
        this.unstash_all();
    }

    /// Asks another mirror, in this process, which may run on the same thread at once.
    pub async fn handed_on(&mut self, this: &This<Self>) -> [String; 2] {
        let other = Mirror::default().spawn();
        // Once it is known to be quick, it runs on this thread, within this handler.
        for _ in 0..1000 {
            assert_eq!(other.plain().ask().await.unwrap(), "none");
        }
        ["none".to_owned(), shown(this.caller())]
    }
}

async fn mirror() -> (Node, String, MirrorRef) {
    let keys = ["a", "b"].map(|name| format!("{name}:{}", "07".repeat(32)).parse().unwrap());
    let node = Node::with(NodeOptions::default().accept_keys(keys).insecure(true));
    let mirror = Mirror::default().spawn();
    node.export("mirror", &mirror).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    (node, bound.to_string(), mirror)
}

fn known(name: &str) -> Node {
    holder(&format!("{name}:{}", "07".repeat(32)).parse().unwrap())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_knows_its_caller_however_it_runs() {
    let (_node, address, local) = mirror().await;
    let [a, b] = ["a", "b"].map(known);
    let of = async |node: &Node| node.actor::<Mirror>(&format!("{address}/mirror")).await.unwrap();
    let (a, b) = (of(&a).await, of(&b).await);
    // Many at once, so that calls of both wait in the mailbox together.
    let many = (0..50).map(|_| async {
        let asked = (a.waiting().ask(), b.beside().ask(), local.waiting().ask(), b.plain().ask());
        let (a, b, local, plain) = tokio::join!(asked.0, asked.1, asked.2, asked.3);
        assert_eq!(a.unwrap(), ["key:a", "key:a"]);
        assert_eq!(b.unwrap(), ["key:b", "key:b"]);
        assert_eq!(local.unwrap(), ["none", "none"]);
        assert_eq!(plain.unwrap(), "key:b");
    });
    futures_all(many).await;
    let stashed = a.stashed();
    let (stashed, ()) = tokio::join!(stashed.ask(), async {
        b.plain().ask().await.unwrap();
        local.unstash().ask().await.unwrap();
    });
    assert_eq!(stashed.unwrap(), "key:a", "although another one has had it handled");
    assert_eq!(a.handed_on().ask().await.unwrap(), ["none", "key:a"]);
}

async fn futures_all(all: impl Iterator<Item = impl Future<Output = ()>>) {
    let mut all: Vec<_> = all.map(Box::pin).collect();
    std::future::poll_fn(|context| {
        all.retain_mut(|one| one.as_mut().poll(context).is_pending());
        if all.is_empty() { std::task::Poll::Ready(()) } else { std::task::Poll::Pending }
    })
    .await;
}

#[tokio::test]
async fn a_caller_has_the_address_and_the_name_of_its_node() {
    let (node, address, _local) = mirror().await;
    let named = Node::with(NodeOptions::default().name("teller").shared_key(key("x")));
    assert!(named.actor::<Mirror>(&format!("{address}/mirror")).await.is_err(), "an unknown key");
    let named = Node::with(NodeOptions::default().name("teller"));
    let seen = named.actor::<Mirror>(&format!("{address}/mirror")).await.unwrap();
    assert_eq!(seen.plain().ask().await.unwrap(), "anonymous");
    let statistics = node.statistics();
    assert_eq!(statistics[0].name.as_deref(), Some("teller"));
    assert_eq!(statistics[0].principal, Principal::Anonymous);
    let req = Req::new();
    req.dial(&address).await.unwrap();
    assert_eq!(req.ask(r#"["mirror","plain"]"#).await.unwrap(), r#"["ok","anonymous"]"#);
}
