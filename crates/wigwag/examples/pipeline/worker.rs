//! A worker: takes jobs from a queue and does them, one after the other, until none is left.
//!
//! `cargo run --example pipeline_worker tcp://127.0.0.1:7030/queue anna`; see `queue.rs`. A third
//! argument is the time that each job takes, in milliseconds; end a worker that has a long one, and
//! see another worker get its job.

#![expect(clippy::print_stdout, reason = "the program talks to its user")]

mod interface;

use std::error::Error;
use std::time::Duration;

use interface::{Done, Job, QueueInterface};
use wigwag::Node;

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(name)) = (arguments.next(), arguments.next()) else {
        return Err("usage: pipeline_worker ADDRESS NAME [MILLISECONDS]".into());
    };
    let pause = Duration::from_millis(arguments.next().map_or(Ok(100), |pause| pause.parse())?);

    let node = Node::new();
    let queue = node.actor::<QueueInterface>(&address).await?;
    let mut done = None;
    // The next job may be free only when another worker has died, so this ask has no limit.
    while let Some(job) = queue.next(name.clone(), done).without_limit().ask().await? {
        println!("{name} has job {}", job.number);
        done = Some(work(&job, pause).await);
    }
    println!("no job is left");
    Ok(())
}

/// Does a job. The pause stands for a longer calculation.
async fn work(job: &Job, pause: Duration) -> Done {
    let (mut at, mut steps) = (job.start, 0);
    while at != 1 {
        at = if at.is_multiple_of(2) { at / 2 } else { 3 * at + 1 };
        steps += 1;
    }
    tokio::time::sleep(pause).await;
    Done { number: job.number, steps }
}
