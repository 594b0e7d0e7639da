//! Actors whose handlers are slow, and asked from another node.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use wigwag::{Actor, ActorOptions, Node};
use wigwag_testkit::ledger::in_time;

/// No test comes near this limit; it only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// Longer than a turn may hold answers.
const WORK: Duration = Duration::from_millis(3);

/// Works for a while in each call, and then waits until it may begin the next one.
struct Press {
    permits: mpsc::Receiver<()>,
}

#[wigwag::actor]
impl Press {
    pub fn print(&mut self, page: u64) -> u64 {
        if page > 0 {
            self.permits.recv_timeout(PATIENCE).unwrap();
        }
        let begun = Instant::now();
        while begun.elapsed() < WORK {
            std::hint::spin_loop();
        }
        page
    }
}

/// All asks are sent together, and each call waits until the answer to the one before has arrived:
/// the answers of a turn that held them to its end would never come.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_of_a_slow_handler_does_not_wait_for_the_calls_behind_it() {
    let (permit, permits) = mpsc::channel();
    let press = Press { permits }.spawn_with(ActorOptions::default().own_thread());
    let (service, client) = (Node::new(), Node::new());
    service.export("press", &press).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let press = client.actor::<Press>(&format!("{bound}/press")).await.unwrap();
    let turn = wigwag::spawn(async move {
        let mut pipeline = press.pipeline(64).unwrap();
        for page in 0..40 {
            pipeline.push(press.print(page), ()).await.unwrap();
        }
        for page in 0..40 {
            let ((), printed) = in_time(PATIENCE, pipeline.answer()).await.unwrap();
            assert_eq!(printed.unwrap(), page);
            permit.send(()).unwrap();
        }
    });
    in_time(PATIENCE, turn).await.unwrap();
}
