//! Spans around calls: each handler runs in a span of its own, whatever its kind and wherever the
//! call comes from.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::sync::{Mutex, MutexGuard};

use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};
use wigwag::{Actor, ActorOptions, Node, Responder, This, lifecycle::Alive};

thread_local! {
    static ENTERED: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// The names of the spans, in the order in which they were created.
static SPANS: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn spans() -> MutexGuard<'static, Vec<String>> {
    SPANS.lock().unwrap()
}

/// Collects the spans of calls, and tracks the span that the current thread is in.
struct Keeper;

#[derive(Default)]
struct Fields(HashMap<&'static str, String>);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.insert(field.name(), format!("{value:?}").replace('"', ""));
    }
}

impl Subscriber for Keeper {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_span() && metadata.name() == "call"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let mut fields = Fields::default();
        span.record(&mut fields);
        let fields = fields.0;
        let mut spans = spans();
        spans.push(format!("{}.{} #{}", fields["actor"], fields["method"], fields["number"]));
        Id::from_u64(spans.len() as u64)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}

    fn record_follows_from(&self, _: &Id, _: &Id) {}

    fn event(&self, _: &Event<'_>) {}

    fn enter(&self, span: &Id) {
        ENTERED.with(|entered| entered.borrow_mut().push(span.into_u64()));
    }

    fn exit(&self, span: &Id) {
        let left = ENTERED.with(|entered| entered.borrow_mut().pop());
        assert_eq!(left, Some(span.into_u64()));
    }
}

/// The span that the current thread is in.
fn entered() -> String {
    let last = ENTERED.with(|entered| entered.borrow().clone());
    assert!(last.len() <= 1, "one call at a time");
    last.first().map_or_else(String::new, |at| spans()[*at as usize - 1].clone())
}

#[derive(Default)]
struct Traced {
    is_open: bool,
}

#[wigwag::actor]
impl Traced {
    pub fn plain(&self, number: u64) -> String {
        let _ = number;
        entered()
    }

    pub async fn waits(&mut self) -> String {
        let before = entered();
        tokio::task::yield_now().await;
        assert_eq!(entered(), before);
        before
    }

    #[wigwag::handler(side_by_side)]
    pub fn beside(&mut self) -> impl Future<Output = String> {
        let first = entered();
        async move {
            tokio::task::yield_now().await;
            assert_eq!(entered(), first);
            first
        }
    }

    pub fn again(&mut self, this: &This<Self>, answer: Responder<String>) {
        if !self.is_open {
            return this.stash(answer, |me| me.again()).unwrap();
        }
        answer.send(entered());
    }

    pub fn open(&mut self, this: &This<Self>) {
        self.is_open = true;
        this.unstash_all();
    }
}

#[tokio::test]
async fn each_call_runs_in_a_span_of_its_own_if_the_options_say_so() {
    // Set for this thread alone, on which this whole test runs: other tests create spans too.
    let _kept = tracing::subscriber::set_default(Keeper);
    let traced = Traced::default().spawn_with(ActorOptions::default().spans(true));
    let number = traced.handle().unwrap().number();
    let named = |method: &str| format!("Traced.{method} #{number}");
    let node = Node::new();
    node.export("traced", &traced).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::new();
    let there = client.actor::<Traced>(&format!("{bound}/traced")).await.unwrap();
    for traced in [&traced, &there] {
        let again = traced.again().ask().sent().await.unwrap();
        let many: Vec<_> = (0..10).map(|number| traced.plain(number).try_ask().unwrap()).collect();
        for one in many {
            assert_eq!(one.await.unwrap(), named("plain"));
        }
        assert_eq!(traced.waits().ask().await.unwrap(), named("waits"));
        assert_eq!(traced.beside().ask().await.unwrap(), named("beside"));
        traced.open().ask().await.unwrap();
        assert_eq!(again.await.unwrap(), named("again"));
    }
    let urgent = traced.plain(0).urgent().ask().await.unwrap();
    assert_eq!(urgent, named("plain"));
    let plain = named("plain");
    assert_eq!(spans().iter().filter(|span| **span == plain).count(), 21);
    let before = spans().len();
    let silent = Traced::default().spawn();
    assert_eq!(silent.plain(1).ask().await.unwrap(), "");
    assert_eq!(silent.waits().ask().await.unwrap(), "");
    assert_eq!(silent.beside().ask().await.unwrap(), "");
    assert_eq!(spans().len(), before, "off, there is none");
}
