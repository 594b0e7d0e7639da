//! Handlers whose futures end when their callers wait no longer.

use std::time::Duration;

use tokio::sync::{mpsc, watch};
use wigwag::{Actor, Node};
use wigwag_testkit::ledger::in_time;

/// Every wait ends almost at once; this only turns a hang into a failure.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a future of the clerk has ended: with its answer, or dropped before.
#[derive(Debug, PartialEq)]
enum Ended {
    Answered(u64),
    Dropped(u64),
}

struct Running {
    number: u64,
    ended: mpsc::UnboundedSender<Ended>,
    is_answered: bool,
}

impl Drop for Running {
    fn drop(&mut self) {
        let how = if self.is_answered { Ended::Answered } else { Ended::Dropped };
        // The test may be over.
        let _ = self.ended.send(how(self.number));
    }
}

struct Clerk {
    ended: mpsc::UnboundedSender<Ended>,
    /// True when the futures may end.
    open: watch::Receiver<bool>,
    begun: u64,
}

impl Clerk {
    fn run(&mut self, number: u64) -> impl Future<Output = u64> + Send + use<> {
        self.begun += 1;
        let running = Running { number, ended: self.ended.clone(), is_answered: false };
        let mut open = self.open.clone();
        async move {
            // The whole value moves, not a field of it.
            let mut running = running;
            let _ = open.wait_for(|open| *open).await;
            running.is_answered = true;
            running.number
        }
    }
}

#[wigwag::actor]
impl Clerk {
    #[wigwag::handler(side_by_side, cancellable, serial_by = key)]
    pub fn serve(&mut self, key: u64, number: u64) -> impl Future<Output = u64> {
        let _ = key;
        self.run(number)
    }

    #[wigwag::handler(side_by_side)]
    pub fn insist(&mut self, number: u64) -> impl Future<Output = u64> {
        self.run(number)
    }

    pub fn begun(&self) -> u64 {
        self.begun
    }
}

struct Office {
    clerk: ClerkRef,
    ended: mpsc::UnboundedReceiver<Ended>,
    open: watch::Sender<bool>,
    /// The caller's node and the clerk's, if these are two.
    nodes: Option<(Node, Node)>,
}

impl Office {
    async fn new(is_elsewhere: bool) -> Office {
        let ((ended_in, ended), (open, open_out)) =
            (mpsc::unbounded_channel(), watch::channel(false));
        let mut clerk = Clerk { ended: ended_in, open: open_out, begun: 0 }.spawn();
        let mut nodes = None;
        if is_elsewhere {
            let (here, there) = (Node::new(), Node::new());
            there.export("clerk", &clerk).unwrap();
            let bound = there.listen("tcp://127.0.0.1:0").await.unwrap();
            clerk = here.actor::<Clerk>(&format!("{bound}/clerk")).await.unwrap();
            nodes = Some((here, there));
        }
        Office { clerk, ended, open, nodes }
    }

    async fn next(&mut self) -> Ended {
        in_time(PATIENCE, self.ended.recv()).await.unwrap()
    }

    /// Calls that have begun; those before this call have, unless they wait for their key.
    async fn begun(&self) -> u64 {
        in_time(PATIENCE, self.clerk.begun().ask()).await.unwrap()
    }
}

#[tokio::test]
async fn a_future_is_dropped_when_its_caller_gives_up_and_others_run_on() {
    for is_elsewhere in [false, true] {
        let mut office = Office::new(is_elsewhere).await;
        let clerk = office.clerk.clone();
        let first = clerk.serve(7, 1).ask().sent().await.unwrap();
        let second = clerk.serve(7, 2).ask().sent().await.unwrap();
        let third = clerk.serve(8, 3).ask().sent().await.unwrap();
        drop(clerk.serve(9, 4).receipt().await.unwrap());
        clerk.serve(10, 5).tell().await.unwrap();
        let insisted = clerk.insist(6).ask().sent().await.unwrap();
        assert_eq!(office.begun().await, 5, "the second waits for its key");
        drop((first, insisted));
        assert_eq!(office.next().await, Ended::Dropped(1));
        assert_eq!(office.begun().await, 6, "the key is free");
        office.open.send(true).unwrap();
        let mut ended = Vec::new();
        while ended.len() < 5 {
            match office.next().await {
                Ended::Answered(number) => ended.push(number),
                dropped => panic!("{dropped:?}, elsewhere: {is_elsewhere}"),
            }
        }
        ended.sort_unstable();
        assert_eq!(ended, [2, 3, 4, 5, 6]);
        assert_eq!(in_time(PATIENCE, second).await.unwrap(), 2);
        assert_eq!(in_time(PATIENCE, third).await.unwrap(), 3);
    }
}

#[tokio::test]
async fn a_future_is_dropped_when_the_session_of_its_caller_ends() {
    let mut office = Office::new(true).await;
    let clerk = office.clerk.clone();
    let answer = clerk.serve(7, 1).ask().sent().await.unwrap();
    assert_eq!(office.begun().await, 1);
    let (here, _there) = office.nodes.take().unwrap();
    here.close(Duration::ZERO).await;
    assert_eq!(office.next().await, Ended::Dropped(1));
    assert!(in_time(PATIENCE, answer).await.is_err());
}
