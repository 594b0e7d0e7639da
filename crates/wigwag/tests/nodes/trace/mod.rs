//! Trace context: a call carries it over sessions that both nodes have switched it on for.

mod wire;

use std::future::Future;
use std::time::Duration;

use wigwag::trace::{self, TraceContext};
use wigwag::{Actor, Node, NodeOptions, This, Yield};

/// A context of the recommendation.
const HEADER: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

fn context() -> TraceContext {
    HEADER.parse().unwrap()
}

/// Says which context it sees, in handlers of every kind.
#[derive(Default)]
struct Witness {
    seen: Vec<Option<u64>>,
    next: Option<WitnessRef>,
}

#[wigwag::actor]
impl Witness {
    /// Keeps the id of the span that has made the call.
    pub fn note(&mut self, this: &This<Self>) {
        self.seen.push(this.trace_context().map(|context| context.parent_id()));
    }

    pub fn seen(&mut self) -> Vec<Option<u64>> {
        std::mem::take(&mut self.seen)
    }

    pub fn plain(&mut self, this: &This<Self>, _number: u64) -> Option<u64> {
        this.trace_context().map(|context| context.parent_id())
    }

    pub async fn waits(&mut self, this: &This<Self>) -> Option<u64> {
        tokio::task::yield_now().await;
        this.trace_context().map(|context| context.parent_id())
    }

    #[wigwag::handler(side_by_side)]
    pub fn beside(&mut self) -> impl Future<Output = (Option<u64>, Option<u64>)> {
        let seen = || trace::current().map(|context| context.parent_id());
        let first = seen();
        async move {
            tokio::task::yield_now().await;
            (first, seen())
        }
    }

    pub async fn items(&mut self, this: &This<Self>, mut items: Yield<Option<u64>>) {
        let seen = this.trace_context().map(|context| context.parent_id());
        let _ = items.send(seen).await;
    }

    pub fn lead_to(&mut self, next: WitnessRef) {
        self.next = Some(next);
    }

    /// Tells and asks the next one. The second ask is one of another span.
    pub async fn pass_on(&mut self) -> (Option<u64>, Option<u64>) {
        let Some(next) = &self.next else { return (None, None) };
        next.note().tell().await.unwrap();
        let first = next.plain(1).ask().await.unwrap();
        let Some(context) = trace::current() else { return (first, None) };
        let second = trace::within(context.child(9), async { next.plain(2).ask().await });
        (first, second.await.unwrap())
    }
}

struct Stage {
    service: Node,
    here: WitnessRef,
    there: WitnessRef,
    _client: Node,
    bound: String,
}

impl Stage {
    async fn new(options: [NodeOptions; 2]) -> Stage {
        let [service, client] = options.map(Node::with);
        let here = Witness::default().spawn();
        service.export("witness", &here).unwrap();
        let bound = service.listen("tcp://127.0.0.1:0").await.unwrap().to_string();
        let there = client.actor::<Witness>(&format!("{bound}/witness")).await.unwrap();
        Stage { service, here, there, _client: client, bound }
    }
}

fn on() -> NodeOptions {
    NodeOptions::default().trace_context(true)
}

const SPAN: Option<u64> = Some(0x00f067aa0ba902b7);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn handlers_of_every_kind_see_the_context_of_their_call_and_of_no_other() {
    let stage = Stage::new([on(), on()]).await;
    let there = &stage.there;
    for (expected, has_context) in [(SPAN, true), (None, false), (SPAN, true)] {
        let calls = async {
            assert_eq!(there.plain(1).ask().await.unwrap(), expected);
            let limit = Duration::from_secs(60);
            assert_eq!(there.plain(1).timeout(limit).ask().await.unwrap(), expected);
            assert_eq!(there.waits().ask().await.unwrap(), expected);
            assert_eq!(there.beside().ask().await.unwrap(), (expected, expected));
            let mut items = there.items();
            assert_eq!(items.next().await.unwrap().unwrap(), expected);
            let mut pipeline = there.pipeline(8).unwrap();
            for number in 0..8 {
                pipeline.push(there.plain(number), ()).await.unwrap();
            }
            while let Some(((), seen)) = pipeline.answer().await {
                assert_eq!(seen.unwrap(), expected);
            }
            there.note().receipt().await.unwrap().await;
            there.note().tell().await.unwrap();
        };
        match has_context {
            true => trace::within(context(), calls).await,
            false => calls.await,
        }
        assert_eq!(there.seen().ask().await.unwrap(), [expected; 2]);
    }
}

/// Short tells join the frame before them, unless a context begins or ends between them.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tells_of_one_turn_have_the_contexts_that_they_were_sent_with() {
    let stage = Stage::new([on(), on()]).await;
    let there = &stage.there;
    there.note().try_tell().unwrap();
    trace::with(context(), || there.note().try_tell()).unwrap();
    there.note().try_tell().unwrap();
    assert_eq!(there.seen().ask().await.unwrap(), [None, SPAN, None]);
    let expected = [vec![None; 20], vec![SPAN; 3], vec![Some(9)], vec![SPAN], vec![None; 20]];
    for is_turn in [true, false] {
        let turn = turn(stage.there.clone());
        match is_turn {
            true => wigwag::spawn(turn).await.unwrap(),
            false => tokio::spawn(turn).await.unwrap(),
        }
        assert_eq!(there.seen().ask().await.unwrap(), expected.concat());
    }
}

async fn turn(there: WitnessRef) {
    let tell = async |times: usize| {
        for _ in 0..times {
            there.note().tell().await.unwrap();
        }
    };
    tell(20).await;
    let traced = async {
        tell(3).await;
        trace::within(context().child(9), tell(1)).await;
        tell(1).await;
    };
    trace::within(context(), traced).await;
    tell(20).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_passes_the_context_on_to_other_processes_and_not_to_actors_of_its_own() {
    let (first, second) = (Stage::new([on(), on()]).await, Stage::new([on(), on()]).await);
    first.here.lead_to(second.there.clone()).tell().await.unwrap();
    let passed = trace::within(context(), async { first.there.pass_on().ask().await });
    assert_eq!(passed.await.unwrap(), (SPAN, Some(9)));
    assert_eq!(second.here.seen().ask().await.unwrap(), [SPAN]);
    assert_eq!(first.there.pass_on().ask().await.unwrap(), (None, None));
    assert_eq!(second.here.seen().ask().await.unwrap(), [None]);
    // An idle actor of the process runs on the thread of the handler.
    first.here.lead_to(second.here.clone()).tell().await.unwrap();
    let passed = trace::within(context(), async { first.there.pass_on().ask().await });
    assert_eq!(passed.await.unwrap(), (None, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unless_both_nodes_have_switched_it_on_calls_carry_no_context() {
    for options in [[on(), NodeOptions::default()], [NodeOptions::default(), on()]] {
        let stage = Stage::new(options).await;
        let asked = trace::within(context(), async { stage.there.plain(1).ask().await });
        assert_eq!(asked.await.unwrap(), None);
    }
}

/// A call that is longer than a frame comes in parts, behind the same extras.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_call_carries_its_context() {
    struct Long;

    #[wigwag::actor]
    impl Long {
        pub fn length(&self, this: &This<Self>, text: String) -> (usize, Option<u64>) {
            (text.len(), this.trace_context().map(|context| context.parent_id()))
        }
    }

    let stage = Stage::new([on(), on()]).await;
    stage.service.export("long", &Long.spawn()).unwrap();
    let client = Node::with(on());
    let long = client.actor::<Long>(&format!("{}/long", stage.bound)).await.unwrap();
    let text = "x".repeat(300_000);
    let asked = trace::within(context(), async { long.length(text.clone()).ask().await });
    assert_eq!(asked.await.unwrap(), (text.len(), SPAN));
    assert_eq!(long.length(text.clone()).ask().await.unwrap(), (text.len(), None));
}
