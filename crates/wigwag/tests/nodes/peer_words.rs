//! The words of a peer in the errors of calls.

use std::time::Duration;

use wigwag::{Actor, CallError, CallErrorKind, Node, Responder, Yield};
use wigwag_testkit::ledger::in_time;

/// Every wait ends almost at once; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

const WORDS: &str = "\u{1B}[2Jno\r\npaint\u{9B}";
const SHOWN: &str = " [2Jno  paint ";

struct Painter;

#[wigwag::actor]
impl Painter {
    pub fn paint(&self, answer: Responder<()>) {
        answer.fail(7, WORDS);
    }

    pub async fn strokes(&mut self, mut strokes: Yield<u64>) {
        let _ = strokes.send(1).await;
        strokes.fail(7, WORDS);
    }
}

/// A terminal would obey control characters, and a line end would forge a line of a log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn control_characters_of_a_peer_do_not_reach_the_errors_of_calls() {
    let (service, client) = (Node::new(), Node::new());
    service.export("painter", &Painter.spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let painter = client.actor::<Painter>(&format!("{bound}/painter")).await.unwrap();
    let is_shown = |error: CallError, by: &str| {
        assert_eq!(error.kind, CallErrorKind::Application(0x8007), "{by}");
        assert_eq!(error.detail.as_deref(), Some(SHOWN), "{by}");
        assert!(!error.to_string().contains(char::is_control), "{by}: {error:?}");
    };
    let asked = async || in_time(PATIENCE, painter.paint().ask()).await.unwrap_err().into_error();
    is_shown(asked().await, "an ask");
    let mut pipeline = painter.pipeline(2).unwrap();
    pipeline.push(painter.paint(), 1).await.unwrap();
    is_shown(in_time(PATIENCE, pipeline.answer()).await.unwrap().1.unwrap_err(), "a pipeline");
    let mut strokes = painter.strokes();
    assert_eq!(in_time(PATIENCE, strokes.next()).await.unwrap().unwrap(), 1);
    is_shown(in_time(PATIENCE, strokes.next()).await.unwrap().unwrap_err(), "a stream");
}
