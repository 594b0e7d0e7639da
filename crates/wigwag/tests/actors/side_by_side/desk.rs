//! An actor whose calls wait at a gate, and the test's end of it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Barrier, Semaphore};
use tokio::time::timeout;
use wigwag::{ActorOptions, CallErrorKind, Life, Local, Reason, This};

/// Counts its live instances.
#[derive(Clone)]
struct Witness(Arc<AtomicUsize>);

impl Witness {
    fn of(counts: &Arc<AtomicUsize>) -> Witness {
        counts.fetch_add(1, Ordering::SeqCst);
        Witness(counts.clone())
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Lets its calls wait at a gate, and reports the begin and the end of each.
pub(crate) struct Desk {
    gate: Arc<Semaphore>,
    says: UnboundedSender<String>,
    alive: Arc<AtomicUsize>,
    notes: Vec<u64>,
}

/// The test's end of a desk.
pub(crate) struct Outside {
    pub(crate) gate: Arc<Semaphore>,
    pub(crate) heard: UnboundedReceiver<String>,
    pub(crate) alive: Arc<AtomicUsize>,
}

impl Outside {
    /// The next `count` reports, sorted.
    pub(crate) async fn hears(&mut self, count: usize) -> Vec<String> {
        let mut all = Vec::new();
        for _ in 0..count {
            all.push(within(self.heard.recv()).await.unwrap());
        }
        all.sort();
        all
    }

    pub(crate) fn hears_nothing(&mut self) {
        assert!(self.heard.try_recv().is_err());
    }
}

#[wigwag::actor(life)]
impl Desk {
    #[wigwag::handler(side_by_side)]
    pub fn wait(&mut self, number: u64) -> impl Future<Output = u64> {
        self.at_gate(number)
    }

    #[wigwag::handler(side_by_side, serial_by = key)]
    pub fn in_order(&mut self, key: &str, number: u64) -> impl Future<Output = u64> {
        assert!(!key.is_empty());
        self.at_gate(number)
    }

    #[wigwag::handler(serial_by = name, side_by_side)]
    pub fn in_order_too(&mut self, number: u64, name: String) -> impl Future<Output = u64> {
        assert!(!name.is_empty());
        self.at_gate(number)
    }

    #[wigwag::handler(side_by_side)]
    pub fn meet(&self, barrier: Local<Arc<Barrier>>) -> impl Future<Output = ()> + Send + use<> {
        async move {
            barrier.wait().await;
        }
    }

    /// Waits at the gate, then visits the state.
    #[wigwag::handler(side_by_side)]
    pub fn note(&mut self, this: &This<Self>, number: u64) -> impl Future<Output = u64> {
        let (this, wait) = (this.clone(), self.at_gate(number));
        async move {
            let number = wait.await;
            let noted = this.visit(move |desk| {
                desk.notes.push(number);
                desk.notes.len() as u64
            });
            noted.await.unwrap()
        }
    }

    #[wigwag::handler(side_by_side)]
    pub fn panic_first(&mut self) -> impl Future<Output = ()> {
        if self.notes.is_empty() {
            panic!("on purpose");
        }
        async {}
    }

    #[wigwag::handler(side_by_side)]
    pub fn panic_later(&mut self, this: &This<Self>) -> impl Future<Output = ()> {
        let (wait, this) = (self.at_gate(0), this.clone());
        async move {
            wait.await;
            let _kept = this;
            panic!("on purpose");
        }
    }

    pub fn itself(&self, this: &This<Self>) -> Local<This<Desk>> {
        Local(this.clone())
    }

    pub fn notes(&self) -> Vec<u64> {
        self.notes.clone()
    }

    /// Waits for a call of another key, or of its own key, which is a circle.
    #[wigwag::handler(side_by_side, serial_by = key)]
    pub fn asks_itself(
        &self,
        this: &This<Self>,
        key: String,
        other: String,
    ) -> impl Future<Output = bool> + Send + use<> {
        assert!(!key.is_empty());
        let this = this.reference();
        async move {
            match this.in_order(&other, 1).ask().await {
                Ok(number) => number == 1,
                Err(error) => {
                    assert_eq!(error.error().kind, CallErrorKind::CallCycle);
                    false
                }
            }
        }
    }

    /// Holds the actor while it waits.
    pub async fn alone(&mut self, number: u64) -> u64 {
        self.at_gate(number).await
    }

    pub async fn visit_itself(&mut self, this: &This<Self>) -> bool {
        let refused = this.visit(|desk| desk.notes.clear()).await;
        refused.unwrap_err().kind == CallErrorKind::CallCycle
    }
}

impl Desk {
    pub(crate) fn new() -> (Desk, Outside) {
        let (gate, alive) = (Arc::new(Semaphore::new(0)), Arc::new(AtomicUsize::new(0)));
        let (says, heard) = unbounded_channel();
        let desk = Desk { gate: gate.clone(), says, alive: alive.clone(), notes: Vec::new() };
        (desk, Outside { gate, heard, alive })
    }

    fn at_gate(&mut self, number: u64) -> impl Future<Output = u64> + Send + use<> {
        let (gate, says, witness) =
            (self.gate.clone(), self.says.clone(), Witness::of(&self.alive));
        let _ = says.send(format!("{number} begins"));
        async move {
            gate.acquire().await.unwrap().forget();
            let _ = says.send(format!("{number} ends"));
            drop(witness);
            number
        }
    }
}

impl Life for Desk {
    async fn stopped(&mut self, _: &This<Desk>, reason: &Reason) {
        let alive = self.alive.load(Ordering::SeqCst);
        let _ = self.says.send(format!("stopped with {alive}: {reason}"));
    }
}

pub(crate) async fn within<T>(work: impl Future<Output = T>) -> T {
    timeout(Duration::from_secs(60), work).await.unwrap()
}

pub(crate) fn of(most: usize) -> ActorOptions {
    ActorOptions::default().side_by_side(most)
}
