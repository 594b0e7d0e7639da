//! What is measured in one round of the remote workload, cell by cell.
//!
//! Each cell repeats its unit of work until [`CELL_MIN`] has passed, verifies every message, and
//! reads what both processes have cost.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Handle, Runtime};
use wigwag::{Actor, ActorOptions, Node};

use crate::actors::{Counter, CounterRef, Sum, SumRef, verdict};
use crate::asking::Asking;
use crate::digest::{Moved, SentDigest, Verified};
use crate::raw;
use crate::service::{Service, raw_stream};
use crate::statistics::SplitMix64;
use crate::usage::Usage;

/// Anything that ends a run without a figure.
pub type Failure = Box<dyn Error + Send + Sync>;

/// A cell goes on for at least so long.
pub const CELL_MIN: Duration = Duration::from_millis(500);
/// What every tell adds.
pub const AMOUNT: u64 = 100;
/// Tells of one unit of work.
pub const TELLS: u64 = 3_000_000;
/// Tells of one unit of the naive loop on a thread.
pub const THREAD_TELLS: u64 = 1_000_000;
/// Asks of one unit of work.
pub const ASKS: u64 = 500_000;
/// Asks in flight at once.
pub const IN_FLIGHT: usize = 32_768;
/// Asks one at a time.
pub const ROUND_TRIPS: u64 = 2_000;
/// Messages of one unit of the local cells.
pub const LOCAL_TELLS: u64 = 2_000_000;
/// Calls that the local mailbox and the channel beside it hold.
pub const CAPACITY: usize = 1024;

/// What one cell came to in one round.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    /// What became of the messages.
    pub verified: Verified,
    /// The time they took.
    pub elapsed: Duration,
    /// Processor time of both processes.
    pub cpu: Duration,
    /// Bytes that went over the connection, both ways; 0 where nobody counts.
    pub bytes: [u64; 2],
    /// Single round trips in nanoseconds, where they were taken.
    pub laps: Vec<u64>,
}

impl Measured {
    /// Messages a second.
    pub fn rate(&self) -> f64 {
        self.verified.received as f64 / self.elapsed.as_secs_f64()
    }

    /// Nanoseconds of processor time for each message.
    pub fn cpu_ns(&self) -> f64 {
        self.cpu.as_nanos() as f64 / self.verified.received.max(1) as f64
    }

    fn add(&mut self, moved: Moved) {
        self.elapsed += moved.elapsed;
        self.verified = self.verified + moved.verified;
    }
}

/// The driving side of a run.
pub struct Driver {
    service: Service,
    node: Node,
    counter: CounterRef,
    sum: SumRef,
    local: CounterRef,
    /// Two workers, as a program has them: the sender's and the actor's.
    workers: Option<Runtime>,
    /// Raised by Ctrl-C: the cell that runs ends after its unit of work.
    pub stop: Arc<AtomicBool>,
    random: SplitMix64,
}

impl Driver {
    /// Connects to a service.
    pub async fn new(service: Service, stop: Arc<AtomicBool>) -> Result<Driver, Failure> {
        let node = Node::new();
        let counter = node.actor::<Counter>(&format!("{}/counter", service.places.node)).await?;
        let sum = node.actor::<Sum>(&format!("{}/sum", service.places.node)).await?;
        let options = ActorOptions::default().mailbox_calls(CAPACITY);
        let workers = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
        let local = {
            let _workers = workers.enter();
            Counter::default().spawn_with(options)
        };
        let random = SplitMix64::new(0x5EED);
        let workers = Some(workers);
        Ok(Driver { service, node, counter, sum, local, workers, stop, random })
    }

    /// The driving node.
    pub fn node(&self) -> &Node {
        &self.node
    }

    fn workers(&self) -> Handle {
        self.workers.as_ref().map_or_else(Handle::current, |workers| workers.handle().clone())
    }

    fn cpu(&self) -> Result<Duration, Failure> {
        Ok(Usage::of_self()?.cpu + Usage::of_process(self.service.pid())?.cpu)
    }

    fn bytes(&self) -> [u64; 2] {
        let links = self.node.statistics();
        [
            links.iter().map(|link| link.session.bytes_sent).sum(),
            links.iter().map(|link| link.session.bytes_received).sum(),
        ]
    }

    /// Repeats `unit` until the cell's time is over, with everything around it read.
    async fn cell<F>(&mut self, mut unit: F) -> Result<Measured, Failure>
    where
        F: AsyncFnMut(&mut Driver, &mut Vec<u64>) -> Result<Moved, Failure>,
    {
        let mut measured = Measured::default();
        let (cpu, bytes) = (self.cpu()?, self.bytes());
        let mut laps = Vec::new();
        while measured.elapsed < CELL_MIN {
            let moved = unit(self, &mut laps).await?;
            measured.add(moved);
            if !moved.verified.is_clean() || self.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        measured.laps = laps;
        measured.cpu = self.cpu()? - cpu;
        let after = self.bytes();
        measured.bytes = [after[0] - bytes[0], after[1] - bytes[1]];
        Ok(measured)
    }

    /// Count(100) from two sender tasks.
    pub async fn tell(&mut self) -> Result<Measured, Failure> {
        self.cell(async |driver, _| {
            let begun = Instant::now();
            let senders: Vec<_> = (0..2)
                .map(|sender| {
                    let counter = driver.counter.clone();
                    wigwag::spawn(async move {
                        let mut sent = SentDigest::default();
                        for _ in 0..TELLS / 2 {
                            let number = sent.stamp(AMOUNT);
                            let told = counter.count(AMOUNT, sender, number).try_tell();
                            if let Err(refused) = told {
                                // No room now: wait for it.
                                counter.call::<()>(refused.message).tell().await?;
                            }
                        }
                        Ok::<SentDigest, Failure>(sent)
                    })
                })
                .collect();
            let mut sent = Vec::new();
            for sender in senders {
                sent.push(sender.await??);
            }
            settle(&driver.counter, &sent, begun).await
        })
        .await
    }

    /// Count(100) from a plain thread's naive loop.
    pub async fn tell_from_thread(&mut self) -> Result<Measured, Failure> {
        self.cell(async |driver, _| {
            let begun = Instant::now();
            let counter = driver.counter.clone();
            let (done, ended) = tokio::sync::oneshot::channel();
            std::thread::spawn(move || {
                let mut sent = SentDigest::default();
                let mut told = Ok(());
                for _ in 0..THREAD_TELLS {
                    let number = sent.stamp(AMOUNT);
                    told = counter.count(AMOUNT, 0, number).blocking_tell();
                    if told.is_err() {
                        break;
                    }
                }
                // Nobody listens any more only when the run was given up.
                let _ = done.send(told.map(|()| sent));
            });
            let sent = ended.await??;
            settle(&driver.counter, &[sent], begun).await
        })
        .await
    }

    /// Sums of two full-width numbers, many in flight, each held against its own request.
    pub async fn ask(&mut self) -> Result<Measured, Failure> {
        let seed = self.random.draw();
        self.cell(async |driver, _| {
            let asking = Asking::new(&driver.sum, ASKS, IN_FLIGHT, seed)?;
            wigwag::spawn(asking.run()).await?
        })
        .await
    }

    /// Asks one at a time.
    pub async fn round_trip(&mut self) -> Result<Measured, Failure> {
        let seed = self.random.draw();
        let mut taken = false;
        self.cell(async |driver, laps| {
            let sum = driver.sum.clone();
            let first = !std::mem::replace(&mut taken, true);
            let (moved, lap) = wigwag::spawn(async move {
                let (mut random, mut wrong) = (SplitMix64::new(seed), 0);
                let mut laps = Vec::with_capacity(ROUND_TRIPS as usize);
                let begun = Instant::now();
                for _ in 0..ROUND_TRIPS {
                    let (a, b) = (random.draw() as i64, random.draw() as i64);
                    let lap = Instant::now();
                    let reply = sum.add(a, b).ask().await?;
                    laps.push(lap.elapsed().as_nanos() as u64);
                    wrong += u64::from(reply != a.wrapping_add(b));
                }
                let words = [ROUND_TRIPS, ROUND_TRIPS, 0, 0, 0, wrong];
                let moved = Moved::since(begun, Verified::from_words(words));
                Ok::<_, Failure>((moved, laps))
            })
            .await??;
            // One unit's laps are the round's; a second unit only fills the time.
            if first {
                laps.extend(lap);
            }
            Ok(moved)
        })
        .await
    }

    /// The limit of tells of `size` bytes.
    pub async fn raw_tell(&mut self, size: usize) -> Result<Measured, Failure> {
        self.cell(async |driver, _| {
            let stream = raw_stream(&driver.service.places.raw, b'T', [size, 0])?;
            Ok(raw::send_tell(&stream, size, TELLS)?)
        })
        .await
    }

    /// The limit of asks of those sizes, so many of them, `window` in flight.
    pub async fn raw_ask(
        &mut self,
        sizes: [usize; 2],
        count: u64,
        window: u64,
    ) -> Result<Measured, Failure> {
        self.cell(async |driver, laps| {
            let stream = raw_stream(&driver.service.places.raw, b'A', sizes)?;
            let (moved, taken) = raw::send_ask(&stream, sizes, count, window)?;
            if laps.is_empty() && window == 1 {
                laps.extend(taken);
            }
            Ok(moved)
        })
        .await
    }

    /// Count(100) from one sender task to an actor of this process.
    pub async fn local_tell(&mut self) -> Result<Measured, Failure> {
        self.cell(async |driver, _| {
            let begun = Instant::now();
            let counter = driver.local.clone();
            let workers = driver.workers();
            let _workers = workers.enter();
            let sender = wigwag::spawn(async move {
                let mut sent = SentDigest::default();
                for _ in 0..LOCAL_TELLS {
                    let number = sent.stamp(AMOUNT);
                    counter.count(AMOUNT, 0, number).tell().await?;
                }
                Ok::<SentDigest, Failure>(sent)
            });
            let sent = sender.await??;
            settle(&driver.local, &[sent], begun).await
        })
        .await
    }

    /// The same through a bounded channel of the same capacity.
    pub async fn local_channel(&mut self) -> Result<Measured, Failure> {
        self.cell(async |driver, _| {
            let counting = crate::channel::kanal_counter(CAPACITY, LOCAL_TELLS, AMOUNT);
            Ok(driver.workers().spawn(counting).await??)
        })
        .await
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // A runtime must not be waited for inside another one.
        if let Some(workers) = self.workers.take() {
            workers.shutdown_background();
        }
    }
}

/// Asks the counter what it has, which is the end of the run's time.
async fn settle(
    counter: &CounterRef,
    sent: &[SentDigest],
    begun: Instant,
) -> Result<Moved, Failure> {
    let expected = sent.iter().map(|sent| sent.count * AMOUNT).sum();
    let known = sent.iter().map(|sent| (sent.count, sent.content)).collect();
    let found = counter.verify_and_reset(known).timeout(Duration::from_secs(30)).ask().await?;
    Ok(Moved::since(begun, verdict(found, expected)))
}
