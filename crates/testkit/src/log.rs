//! The log lines of this process's nodes: the only place where a listener says why it rejected a
//! peer.

use std::fmt::{Debug, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
static NEWS: Notify = Notify::const_new();

struct Collector;

/// Installs the collector; called once in a process.
pub fn collect() {
    tracing::subscriber::set_global_default(Collector).expect("no other collector is installed");
}

/// Waits for a line that contains all of `words`.
pub async fn line_with(words: &[&str], limit: Duration) -> String {
    let found = async {
        loop {
            let news = NEWS.notified();
            let fits = |line: &&String| words.iter().all(|word| line.contains(word));
            if let Some(line) = lines().iter().find(fits).cloned() {
                return line;
            }
            news.await;
        }
    };
    let line = tokio::time::timeout(limit, found).await;
    line.unwrap_or_else(|_| panic!("no line with {words:?}"))
}

fn lines() -> MutexGuard<'static, Vec<String>> {
    LINES.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        let _ = write!(self.0, "{field}={value:?} ");
    }
}

impl Subscriber for Collector {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("wigwag")
    }

    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        lines().push(line.0);
        NEWS.notify_waiters();
    }

    fn enter(&self, _: &Id) {}

    fn exit(&self, _: &Id) {}
}
