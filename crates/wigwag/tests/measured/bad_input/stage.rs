//! The node under test, and the type of a row of the table.

use super::*;

/// The promised bound on a handshake, and on the lookup of a reference.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(5);

/// The promised bound for an operation that waits for nothing.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(1);

/// On a loaded machine an operation may take this many times its bound.
pub(crate) const GRACE: u32 = 5;

#[derive(Default)]
pub(crate) struct Counter {
    pub(crate) total: u64,
}

#[wigwag::actor]
impl Counter {
    pub fn add(&mut self, amount: u64) -> u64 {
        self.total += amount;
        self.total
    }

    pub async fn never(&mut self) {
        pending::<()>().await;
    }
}

/// A wrong interface for the counter: other arguments and one unknown method.
#[wigwag::actor]
pub(crate) trait OtherCounter {
    fn add(&mut self, amount: String) -> u64;
    fn subtract(&mut self, amount: u64) -> u64;
}

/// A wrong interface for the counter: another reply type.
#[wigwag::actor]
pub(crate) trait WordyCounter {
    fn add(&mut self, amount: u64) -> Vec<String>;
}

/// The kind of an error, without its text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    NobodyListens,
    Header(HeaderError),
    Framing,
    TimedOut,
    Closed,
    NotWigwag,
    /// The node under test sent the code to the peer.
    Misbehaved(Code),
    /// The peer sent the code to the node under test.
    Told(Code),
    Call(CallErrorKind),
    Other,
}

pub(crate) fn kind_of(error: &NodeError) -> Kind {
    match error {
        NodeError::Net(error) => match &error.kind {
            NetErrorKind::NobodyListens => Kind::NobodyListens,
            NetErrorKind::Header(error) => Kind::Header(*error),
            NetErrorKind::Framing(_) => Kind::Framing,
            NetErrorKind::TimedOut(_) => Kind::TimedOut,
            NetErrorKind::Closed { .. } => Kind::Closed,
            _ => Kind::Other,
        },
        NodeError::Session { error, .. } => match error {
            LinkError::NotWigwag => Kind::NotWigwag,
            LinkError::Misbehaved { code, .. } => Kind::Misbehaved(*code),
            LinkError::ClosedByPeer { code, .. } => Kind::Told(*code),
            _ => Kind::Other,
        },
        NodeError::Call(error) => Kind::Call(error.kind),
        _ => Kind::Other,
    }
}

/// The node under test, and the healthy client beside it.
pub(crate) struct Stage {
    pub(crate) node: Node,
    pub(crate) address: String,
    pub(crate) healthy: CounterRef,
    pub(crate) _client: Node,
}

impl Stage {
    pub(crate) async fn new() -> Stage {
        let node = Node::new();
        node.export("counter", &Counter::default().spawn()).unwrap();
        node.export("stuck", &Counter::default().spawn()).unwrap();
        let address = node.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
        let client = Node::new();
        let there = format!("{address}/counter");
        let healthy = client.actor::<Counter>(&there).await.unwrap();
        Stage { node, address, healthy, _client: client }
    }

    /// Makes one ask of the healthy client, which is never refused and never late.
    pub(crate) async fn ask(&self) {
        let answer = self.healthy.add(1).timeout(AT_ONCE * GRACE).ask();
        answer.await.unwrap();
    }
}

/// The error that a row expects.
#[derive(Clone, Copy)]
pub(crate) struct Expected {
    pub(crate) kind: Kind,
    pub(crate) fault: Fault,
    pub(crate) words: &'static str,
    pub(crate) hint: &'static str,
}

/// An error as a row sees it: kind and text where it is a value, only the text on a listener's
/// side.
pub(crate) struct Seen {
    pub(crate) kind: Option<(Kind, Fault)>,
    pub(crate) text: String,
    /// The peer that the text must name.
    pub(crate) peer: String,
}

impl Expected {
    pub(crate) fn check(&self, name: &str, seen: &Seen) {
        let text = &seen.text;
        if let Some(kind) = seen.kind {
            assert_eq!(kind, (self.kind, self.fault), "{name}: {text}");
        }
        for words in [self.words, &seen.peer] {
            assert!(text.contains(words), "{name}: no {words:?} in\n{text}");
        }
        // A log line has the hint in a field of its own.
        let label = if seen.kind.is_some() { "hint: " } else { "hint=" };
        for words in [label, self.hint] {
            assert!(text.contains(words), "{name}: no {words:?} in\n{text}");
        }
    }
}

pub(crate) type Play<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A row: its procedure, and the bound on its duration.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) promise: Duration,
    pub(crate) play: Box<dyn for<'a> Fn(&'a Stage) -> Play<'a> + Send + Sync>,
}

pub(crate) fn row(
    name: impl Into<String>,
    promise: Duration,
    play: impl for<'a> Fn(&'a Stage) -> Play<'a> + Send + Sync + 'static,
) -> Row {
    Row { name: name.into(), promise, play: Box::new(play) }
}

impl Row {
    /// Runs the row, with healthy asks before, during and after it.
    pub(crate) async fn play(&self, stage: &Stage) {
        stage.ask().await;
        let begun = Instant::now();
        let healthy = async {
            loop {
                stage.ask().await;
                // The pause limits the asks, so that a waiting row does not keep a processor busy.
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let played = async {
            tokio::select! {
                biased;
                () = (self.play)(stage) => {}
                () = healthy => {}
            }
        };
        let limit = self.promise * GRACE;
        let ended = timeout(limit, played).await;
        assert!(ended.is_ok(), "{}: not over within {limit:?}", self.name);
        stage.ask().await;
        tracing::debug!(row = self.name, took = ?begun.elapsed(), "played");
    }
}
