//! The target process: a node and SP sockets, each at a TCP and an IPC address.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use wigwag::sp::{Pair, Pull, Rep, Sub};
use wigwag::{Actor, Node, NodeOptions};
use wigwag_testkit::child;

/// How long the node keeps sessions whose connection is cut: hostile peers cut theirs all the time.
const KEPT: Duration = Duration::from_secs(1);

static PANICS: AtomicU64 = AtomicU64::new(0);

/// The addresses of the node and of each socket, for hostile and honest peers alike.
#[derive(Clone)]
pub(crate) struct Addresses(Vec<(String, String)>);

impl Addresses {
    /// Parses `name=address` pairs with blanks between.
    pub(crate) fn parse(said: &str) -> Addresses {
        let pairs = said.split_whitespace().map(|pair| pair.split_once('=').unwrap());
        Addresses(pairs.map(|(name, at)| (name.to_owned(), at.to_owned())).collect())
    }

    pub(crate) fn all(&self) -> &[(String, String)] {
        &self.0
    }

    /// The TCP address of the node or of a socket.
    pub(crate) fn tcp(&self, wanted: &str) -> &str {
        let found = self.0.iter().find(|(name, at)| name == wanted && at.starts_with("tcp:"));
        &found.unwrap().1
    }
}

/// The target's own counts.
#[derive(Debug, wigwag::Message)]
pub(crate) struct Seen {
    pub(crate) panics: u64,
    pub(crate) sessions: u64,
    pub(crate) pulled: u64,
    pub(crate) subscribed: u64,
}

/// An actor that honest peers ask.
pub(crate) struct Desk {
    node: Option<Node>,
    total: u64,
    pulled: Arc<AtomicU64>,
    subscribed: Arc<AtomicU64>,
}

#[wigwag::actor]
impl Desk {
    pub fn add(&mut self, amount: u64) -> u64 {
        self.total += amount;
        self.total
    }

    pub fn seen(&self) -> Seen {
        Seen {
            panics: PANICS.load(Ordering::Relaxed),
            sessions: self.node.as_ref().map_or(0, |node| node.statistics().len() as u64),
            pulled: self.pulled.load(Ordering::Relaxed),
            subscribed: self.subscribed.load(Ordering::Relaxed),
        }
    }
}

/// Serves until the parent closes the pipe. Messages that carry `key` are honest.
pub(crate) async fn serve(key: &str) {
    std::panic::set_hook(Box::new(|panic| {
        PANICS.fetch_add(1, Ordering::Relaxed);
        eprintln!("{panic}");
    }));
    let node = Node::with(NodeOptions::default().keep_sessions(KEPT));
    let (pulled, subscribed) = (Arc::<AtomicU64>::default(), Arc::<AtomicU64>::default());
    let desk =
        |node| Desk { node, total: 0, pulled: pulled.clone(), subscribed: subscribed.clone() };
    let honest = desk(Some(node.clone())).spawn();
    node.export(key, &honest).unwrap();
    // The name that the recorded session attaches to.
    node.export("counter", &desk(None).spawn()).unwrap();
    let (rep, pair, pull, sub) = (Rep::new(), Pair::new(), Pull::new(), Sub::new());
    sub.subscribe("").unwrap();
    let mut said = Vec::new();
    macro_rules! listens {
        ($($name:ident)*) => {$(
            let path = std::env::temp_dir()
                .join(format!("wigwag-noise-{}-{}.sock", std::process::id(), stringify!($name)));
            for address in ["tcp://127.0.0.1:0".to_owned(), format!("ipc://{}", path.display())] {
                let bound = $name.listen(&address).await.unwrap();
                said.push(format!("{}={}", stringify!($name), bound.to_string()));
            }
        )*};
    }
    listens!(node rep pair pull sub);
    tokio::spawn(async move {
        while let Ok(message) = rep.recv().await {
            // The asker may be gone.
            let _ = rep.send(message).await;
        }
    });
    tokio::spawn(async move {
        while let Ok(message) = pair.recv().await {
            let _ = pair.send(message).await;
        }
    });
    let (is_pulled, is_heard) = (key.to_owned(), key.to_owned());
    tokio::spawn(async move {
        while let Ok(message) = pull.recv().await {
            pulled
                .fetch_add(u64::from(message.starts_with(is_pulled.as_bytes())), Ordering::Relaxed);
        }
    });
    tokio::spawn(async move {
        while let Ok(message) = sub.recv().await {
            subscribed
                .fetch_add(u64::from(message.starts_with(is_heard.as_bytes())), Ordering::Relaxed);
        }
    });
    child::say(&said.join(" "));
    tokio::task::spawn_blocking(child::wait_for_parent).await.unwrap();
}
