//! A queue of jobs. It prints its address and each result, and ends when all jobs are done.
//!
//! ```console
//! $ cargo run --example pipeline_queue tcp://127.0.0.1:7030 20
//! tcp://127.0.0.1:7030/queue
//! $ cargo run --example pipeline_worker tcp://127.0.0.1:7030/queue anna
//! $ cargo run --example pipeline_worker tcp://127.0.0.1:7030/queue ben
//! ```
//!
//! A worker has a job for a limited time, its lease. If no result has come by then, the worker may
//! be dead, and the job is handed out again. Perhaps it was only slow: of two results of one job,
//! the first counts. So each job is done, and counts once, whatever becomes of the workers.

#![expect(clippy::print_stdout, reason = "the program talks to its user")]

mod interface;

use std::collections::{HashMap, VecDeque};
use std::error::Error;
use std::time::Duration;

use interface::{Done, Job, QueueInterface};
use wigwag::lifecycle::Alive;
use wigwag::{Actor, Interface, Node, NodeOptions, Responder, This};

/// How long a worker may have a job: much longer than a job takes.
const LEASE: Duration = Duration::from_secs(2);

/// Calls that may wait for a job; a call beyond them is answered with an error.
const WAITING_MAX: usize = 1_000;

/// The number of that error. Numbers of an application begin here.
const TOO_MANY_WORKERS: u16 = 0x8000;

// The actor has the calls of the trait, with the same names, arguments and replies.
const _: () = assert!(Queue::SCHEMA.hash == QueueInterface::SCHEMA.hash);

struct Queue {
    /// Jobs that no worker has.
    free: VecDeque<u32>,
    /// Jobs that a worker has, each with the number of its lease.
    leased: HashMap<u32, u64>,
    leases: u64,
    /// Calls of workers that wait for a job.
    waiting: VecDeque<Responder<Option<Job>>>,
}

#[wigwag::actor]
impl Queue {
    pub fn next(
        &mut self,
        this: &This<Self>,
        worker: String,
        done: Option<Done>,
        answer: Responder<Option<Job>>,
    ) {
        if let Some(done) = done {
            self.count(&worker, &done);
        }
        if self.waiting.len() == WAITING_MAX {
            return answer.fail(TOO_MANY_WORKERS, "1000 workers wait for a job already");
        }
        self.waiting.push_back(answer);
        self.hand_out(this);
    }

    /// Counts a result, unless its job was done before.
    fn count(&mut self, worker: &str, Done { number, steps }: &Done) {
        let was_leased = self.leased.remove(number).is_some();
        let was_free = self.free.iter().position(|free| free == number);
        was_free.map(|place| self.free.remove(place));
        if was_leased || was_free.is_some() {
            println!("job {number} was done by {worker}: {steps} steps");
        } else {
            println!("job {number} was done by {worker} too late");
        }
    }

    /// Gives jobs to the workers that wait, as far as there are jobs. Ends when all are done.
    fn hand_out(&mut self, this: &This<Self>) {
        if self.free.is_empty() && self.leased.is_empty() {
            self.waiting.drain(..).for_each(|answer| answer.send(None));
            this.handle().stop();
            return;
        }
        // Workers that have gone get no job.
        self.waiting.retain(Responder::is_wanted);
        while !self.free.is_empty()
            && let Some(answer) = self.waiting.pop_front()
            && let Some(number) = self.free.pop_front()
        {
            answer.send(Some(Job { number, start: u64::from(number) + 1 }));
            self.leases += 1;
            let (lease, me) = (self.leases, this.clone());
            self.leased.insert(number, lease);
            this.later(tokio::time::sleep(LEASE), move |queue: &mut Self, ()| {
                queue.end_lease(&me, number, lease);
            });
        }
    }

    /// Takes a job back, unless it was done, or handed out again, in the meantime.
    fn end_lease(&mut self, this: &This<Self>, number: u32, lease: u64) {
        if self.leased.get(&number) == Some(&lease) {
            println!("job {number} is handed out again");
            self.leased.remove(&number);
            self.free.push_front(number);
            self.hand_out(this);
        }
    }
}

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or("tcp://127.0.0.1:0".to_owned());
    let jobs = arguments.next().map_or(Ok(20), |jobs| jobs.parse::<u32>())?;

    let (free, leased, waiting) = ((0..jobs).collect(), HashMap::new(), VecDeque::new());
    let queue = Queue { free, leased, leases: 0, waiting }.spawn();
    // The session of a worker that died ends when its lease does. Until then the node would wait for
    // the worker at the end of `main`.
    let node = Node::with(NodeOptions::default().keep_sessions(LEASE));
    node.export("queue", &queue)?;
    let bound = node.listen(&address).await?;
    println!("{bound}/queue");

    queue.handle()?.ended().await;
    println!("all {jobs} jobs are done");
    Ok(())
}
