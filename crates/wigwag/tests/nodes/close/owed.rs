//! The answers that a node owes its peers when it is closed.

use std::sync::Arc;

use tokio::sync::Semaphore;
use wigwag::Responder;

use super::*;

/// Answers when the test permits it.
struct Clerk {
    permits: Arc<Semaphore>,
    kept: Vec<Responder<u64>>,
}

#[wigwag::actor]
impl Clerk {
    /// Is answered at once.
    pub fn ring(&mut self) {}

    #[wigwag::handler(side_by_side)]
    pub fn later(&mut self, number: u64) -> impl Future<Output = u64> {
        let permits = self.permits.clone();
        async move {
            permits.acquire().await.unwrap().forget();
            number
        }
    }

    #[wigwag::handler(side_by_side)]
    pub fn long(&mut self) -> impl Future<Output = Vec<u8>> {
        let permits = self.permits.clone();
        async move {
            permits.acquire().await.unwrap().forget();
            vec![7; 1 << 20]
        }
    }

    pub async fn serial(&mut self, number: u64) -> u64 {
        self.permits.acquire().await.unwrap().forget();
        number
    }

    pub fn keep(&mut self, responder: Responder<u64>) {
        self.kept.push(responder);
    }
}

/// A node with a clerk, a reference to that from another node, and the permits.
async fn clerk() -> (Node, ClerkRef, Node, Arc<Semaphore>) {
    let permits = Arc::new(Semaphore::new(0));
    let service = Node::new();
    let clerk = Clerk { permits: permits.clone(), kept: Vec::new() }.spawn();
    service.export("clerk", &clerk).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let client = Node::new();
    let there = client.actor::<Clerk>(&format!("{bound}/clerk")).await.unwrap();
    (service, there, client, permits)
}

/// Waits until the node of `there` has heard that its peer is closing.
async fn until_draining(there: &ClerkRef) {
    let refusal = async {
        loop {
            match there.ring().try_tell() {
                Err(refused) if refused.error.kind == CallErrorKind::Draining => return,
                _ => tokio::task::yield_now().await,
            }
        }
    };
    soon("the refusal of a new call", refusal).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn close_waits_for_the_answers_that_actors_are_working_on() {
    let (service, there, _client, permits) = clerk().await;
    let aside = there.later(1).ask().sent().await.unwrap();
    let long = there.long().ask().sent().await.unwrap();
    // When this is answered, the other asks have begun.
    there.ring().ask().await.unwrap();
    let serial = there.serial(2).ask().sent().await.unwrap();
    let closing = tokio::spawn(async move { (service.close(PATIENCE).await, service) });
    until_draining(&there).await;
    assert!(!closing.is_finished(), "nothing is answered yet");
    permits.add_permits(3);
    assert_eq!(soon("an answer aside", aside).await.unwrap(), 1);
    assert_eq!(soon("a long answer", long).await.unwrap().len(), 1 << 20);
    assert_eq!(soon("a serial answer", serial).await.unwrap(), 2);
    let (report, _service) = soon("the close", closing).await.unwrap();
    assert!(report.is_clean(), "{report:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn answers_that_are_not_given_in_time_are_reported() {
    let (service, there, _client, _permits) = clerk().await;
    let kept = there.keep().ask().sent().await.unwrap();
    there.ring().ask().await.unwrap();
    let begun = Instant::now();
    let report = service.close(DEADLINE).await;
    assert!(begun.elapsed() >= DEADLINE && begun.elapsed() < 5 * DEADLINE, "{:?}", begun.elapsed());
    assert_eq!((report.answers_owed, report.is_clean()), (1, false), "{report:?}");
    let error = soon("the ask", kept).await.unwrap_err();
    assert_eq!(error.kind, CallErrorKind::Unknown);
}

#[tokio::test]
async fn the_longest_time_to_close_is_no_panic() {
    let (service, there, client, _permits) = clerk().await;
    there.ring().ask().await.unwrap();
    assert!(soon("the client", client.close(Duration::MAX)).await.is_clean());
    assert!(soon("the service", service.close(Duration::MAX)).await.is_clean());
}
