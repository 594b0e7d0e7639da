//! The futures that a supervised actor awaits beside its calls end with the life that awaits them.

use std::sync::mpsc;
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;
use wigwag::supervise::{Child, Strategy, Supervisor, SupervisorRef};
use wigwag::{Actor, Local, This, lifecycle::Alive};

use wigwag_testkit::ledger::in_time;

const LIMIT: Duration = Duration::from_secs(60);

#[derive(Debug, PartialEq, Eq)]
enum Said {
    /// A future of this number was dropped.
    Dropped(u32),
    /// A closure of this number ran with a state that had seen so many.
    Ran(u32, u32),
}

/// Says when it is dropped.
struct Guard(u32, UnboundedSender<Said>);

impl Drop for Guard {
    fn drop(&mut self) {
        let _ = self.1.send(Said::Dropped(self.0));
    }
}

struct Waiter {
    ran: u32,
    says: UnboundedSender<Said>,
}

#[wigwag::actor]
impl Waiter {
    /// Waits for `gate`, and then says so.
    pub fn wait(&self, this: &This<Self>, number: u32, gate: Local<oneshot::Receiver<()>>) {
        let guard = Guard(number, self.says.clone());
        let wait = async move {
            let _guard = guard;
            let _ = gate.0.await;
        };
        this.later(wait, move |me, ()| {
            me.ran += 1;
            let _ = me.says.send(Said::Ran(number, me.ran));
        });
    }

    /// Says that it has begun, and panics once the test allows it; meanwhile the actor takes no
    /// orders.
    pub fn panic(&self, begun: Local<oneshot::Sender<()>>, may: Local<mpsc::Receiver<()>>) {
        let _ = begun.0.send(());
        let _ = may.0.recv();
        panic!("on purpose");
    }

    pub fn nothing(&self) {}
}

async fn start() -> (SupervisorRef, WaiterRef, UnboundedReceiver<Said>) {
    let (says, heard) = unbounded_channel();
    let child = Child::new("waiter", move || Waiter { ran: 0, says: says.clone() });
    let tree = Supervisor::new(Strategy::OneForOne).child(child).intensity(5, LIMIT);
    let tree = tree.start().await.unwrap();
    let waiter = tree.child::<Waiter>("waiter").await.unwrap().unwrap();
    (tree, waiter, heard)
}

async fn end(tree: SupervisorRef) {
    let tree = tree.handle().unwrap();
    tree.stop();
    tree.ended().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_future_of_an_earlier_life_is_gone_before_the_next_one_begins() {
    let (tree, waiter, mut heard) = start().await;
    for round in 0..3 {
        let (_open, gate) = oneshot::channel();
        waiter.wait(round, Local(gate)).tell().await.unwrap();
        waiter.panic(Local(oneshot::channel().0), Local(mpsc::channel().1)).tell().await.unwrap();
        waiter.nothing().ask().await.unwrap();
        assert_eq!(heard.try_recv(), Ok(Said::Dropped(round)));
    }
    let (open, gate) = oneshot::channel();
    waiter.wait(9, Local(gate)).tell().await.unwrap();
    open.send(()).unwrap();
    assert_eq!(in_time(LIMIT, heard.recv()).await, Some(Said::Dropped(9)));
    assert_eq!(in_time(LIMIT, heard.recv()).await, Some(Said::Ran(9, 1)));
    end(tree).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_closure_whose_future_ended_before_a_restart_does_not_run_with_the_next_state() {
    let (tree, waiter, mut heard) = start().await;
    let (open, gate) = oneshot::channel();
    waiter.wait(1, Local(gate)).ask().await.unwrap();
    let (allow, may) = mpsc::channel();
    let (begins, begun) = oneshot::channel();
    waiter.panic(Local(begins), Local(may)).tell().await.unwrap();
    in_time(LIMIT, begun).await.unwrap();
    // The handler that is about to panic keeps the order for the closure waiting.
    open.send(()).unwrap();
    assert_eq!(in_time(LIMIT, heard.recv()).await, Some(Said::Dropped(1)));
    allow.send(()).unwrap();
    waiter.nothing().ask().await.unwrap();

    let (open, gate) = oneshot::channel();
    waiter.wait(2, Local(gate)).tell().await.unwrap();
    open.send(()).unwrap();
    assert_eq!(in_time(LIMIT, heard.recv()).await, Some(Said::Dropped(2)));
    assert_eq!(in_time(LIMIT, heard.recv()).await, Some(Said::Ran(2, 1)));
    end(tree).await;
}
