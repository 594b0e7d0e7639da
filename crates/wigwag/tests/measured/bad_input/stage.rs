//! The node that is played against, and what a row of the table is.

use super::*;

/// The promise for a handshake, and for a reference.
pub(crate) const HANDSHAKE: Duration = Duration::from_secs(5);

/// The promise where nothing has to be waited for.
pub(crate) const AT_ONCE: Duration = Duration::from_secs(1);

/// A loaded machine may take so many times what is promised.
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

/// What somebody takes a counter for.
#[wigwag::actor]
pub(crate) trait OtherCounter {
    fn add(&mut self, amount: String) -> u64;
    fn subtract(&mut self, amount: u64) -> u64;
}

/// The same call, another reply.
#[wigwag::actor]
pub(crate) trait WordyCounter {
    fn add(&mut self, amount: u64) -> Vec<String>;
}

/// What an error is, without its words.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Kind {
    NobodyListens,
    Header(HeaderError),
    Framing,
    TimedOut,
    Closed,
    NotWigwag,
    /// We told the peer.
    Misbehaved(Code),
    /// The peer told us.
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

/// The node that is played against, the healthy client beside it.
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

    /// One ask of the healthy client, which is never refused and never late.
    pub(crate) async fn ask(&self) {
        let answer = self.healthy.add(1).timeout(AT_ONCE * GRACE).ask();
        answer.await.unwrap();
    }
}

/// What a row expects of an error.
#[derive(Clone, Copy)]
pub(crate) struct Expected {
    pub(crate) kind: Kind,
    pub(crate) fault: Fault,
    pub(crate) words: &'static str,
    pub(crate) mend: &'static str,
}

/// An error as a row sees it: where it is a value, all of it; on a listener's side only its text.
pub(crate) struct Seen {
    pub(crate) kind: Option<(Kind, Fault)>,
    pub(crate) text: String,
    /// Who must be named.
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
        let mend = format!("mend: {}", self.mend);
        assert!(text.contains(&mend), "{name}: no {mend:?} in\n{text}");
    }
}

pub(crate) type Play<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// A row: how it is played, and how long that may take.
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
    /// Plays the row with healthy asks before, during and after it.
    pub(crate) async fn play(&self, stage: &Stage) {
        stage.ask().await;
        let begun = Instant::now();
        let healthy = async {
            loop {
                stage.ask().await;
                // Not so many that a waiting row costs a processor.
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
