//! The part of the lab's contract that all Rust participants share: orders, payloads, accounts,
//! start and end. It holds none of the work that is measured.
#![forbid(unsafe_code)]

mod threaded;
pub mod callers;
pub mod stamp;

use std::{
    env,
    io::{self, Read, Write},
    process,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Duration,
};

use signal_hook::{consts::SIGTERM, iterator::Signals};

/// The result of a participant. An error is printed, and the program exits with a code other than 0.
pub type Result<T> = std::result::Result<T, Box<dyn std::error::Error + Send + Sync>>;

/// Messages that wait in a channel whose bound the manual leaves to the user.
pub const CHANNEL_MESSAGES_MAX: usize = 1024;

/// The order `name` from the environment.
pub fn order<T>(name: &str) -> Result<T>
where
    T: std::str::FromStr<Err: std::fmt::Display>,
{
    let text = env::var(name).map_err(|error| format!("{name}: {error}"))?;
    text.parse().map_err(|error| format!("{name} is {text:?}: {error}").into())
}

/// Prints one line at once.
pub fn say(line: &str) -> Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    Ok(output.flush()?)
}

/// A client or counter is ready: returns when the lab writes `GO`.
pub fn ready_and_wait_for_go() -> Result<()> {
    say("READY")?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    if line.trim_end() == "GO" { Ok(()) } else { Err(format!("no GO but {line:?}").into()) }
}

/// Prints an account and waits for the end of the input, so that the lab can read the program's
/// memory. The time that the program needs to exit is not measured.
pub fn say_and_stay(line: &str) -> Result<()> {
    say(line)?;
    io::stdin().read_to_end(&mut Vec::new())?;
    process::exit(0)
}

/// A server is ready; it ends with SIGTERM or with its standard input.
pub fn ready_and_stop_with_the_lab(port: u16) -> Result<()> {
    let mut signals = Signals::new([SIGTERM])?;
    thread::spawn(move || {
        if signals.forever().next().is_some() {
            process::exit(0);
        }
    });
    thread::spawn(|| {
        let mut rest = Vec::new();
        let ended = io::stdin().read_to_end(&mut rest);
        process::exit(i32::from(ended.is_err()));
    });
    say(&format!("READY {port}"))
}

/// The numbers that a sender draws: xorshift32.
#[derive(Clone)]
pub struct Payloads(u32);

impl Payloads {
    /// Creates the payloads of sender number `sender`.
    pub fn new(seed: u32, sender: u32) -> Self {
        let state = seed ^ sender.wrapping_add(1).wrapping_mul(2_654_435_761);
        Self(if state == 0 { 1 } else { state })
    }
}

impl Iterator for Payloads {
    type Item = u32;

    #[inline]
    fn next(&mut self) -> Option<u32> {
        self.0 = step(self.0);
        Some(self.0)
    }
}

/// One draw.
#[inline]
pub fn step(mut x: u32) -> u32 {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    x
}

/// Does the work of a slow actor: `draws` steps of the generator, starting at `payload`.
#[inline]
pub fn work(draws: u32, payload: u32) -> u64 {
    u64::from((0..draws).fold(payload, |x, _| step(x)))
}

/// One actor's place in a ring, without the way to the next one.
#[derive(Clone)]
pub struct Place {
    key: u32,
    actors: u64,
    hops: u64,
    seen: Seen,
}

/// The outcome of one hop of a number round the ring.
pub enum Hop {
    /// The number goes on: its hops so far, and its present value.
    On(u64, u32),
    /// It has been round often enough.
    End(u32),
}

impl Place {
    /// All places of the ring that was ordered.
    pub fn all() -> Result<Vec<Place>> {
        let (actors, hops, seed): (u32, _, _) = (order("ACTORS")?, order("MESSAGES")?, order("SEED")?);
        let key = |actor| Payloads::new(seed, actor).next().unwrap_or_default();
        let actors_count = u64::from(actors);
        let place = |actor| Place { key: key(actor), actors: actors_count, hops, seen: Seen::new(1) };
        Ok((0..actors).map(place).collect())
    }

    /// A number comes by.
    #[inline]
    pub fn pass(&mut self, number: u64, value: u32) -> Hop {
        self.seen.accept(0, number / self.actors, value);
        let value = step(value ^ self.key);
        if number + 1 == self.hops { Hop::End(value) } else { Hop::On(number + 1, value) }
    }

    /// The account of the ring, when all have been given back.
    pub fn account(value: u32, places: impl IntoIterator<Item = Place>) -> String {
        let all = Seen::of_all(places.into_iter().map(|place| place.seen));
        format!("{{\"value\": {value}, {}}}", all.account())
    }
}

/// The report of one of very many actors.
pub struct Here {
    /// The number that the actor was started with.
    pub number: u64,
    /// How often it was told.
    pub told: u64,
    /// The payload that the actor received.
    pub payload: u32,
}

/// The roll of the very many actors that have reported.
#[derive(Clone, Default)]
pub struct Roll {
    alive: u64,
    sum: u64,
    pairs: u64,
    again: u64,
}

impl Roll {
    /// One more has; how many it are now.
    #[inline]
    pub fn enter(&mut self, here: Here) -> u64 {
        let payload = u64::from(here.payload);
        self.alive += 1;
        self.sum += payload;
        self.pairs = self.pairs.wrapping_add(here.number.wrapping_mul(payload));
        self.again += u64::from(here.told != 1);
        self.alive
    }

    /// The account of very many.
    pub fn account(&self) -> String {
        let Self { alive, sum, pairs, again } = self;
        format!(r#"{{"alive": {alive}, "sum": "{sum}", "pairs": "{pairs}", "again": {again}}}"#)
    }
}

/// A client with one ask at a time, each made from the answer before it.
pub struct Asker {
    payloads: Payloads,
    number: u64,
    payload: u32,
    answer: u64,
    wrong: u64,
    sum: u64,
}

impl Asker {
    /// Creates a client that has sent no ask.
    pub fn new(seed: u32) -> Self {
        let payloads = Payloads::new(seed, 0);
        Self { payloads, number: 0, payload: 0, answer: 0, wrong: 0, sum: 0 }
    }

    /// The next ask: its number and its payload.
    #[inline]
    pub fn ask(&mut self) -> (u64, u32) {
        self.payload = self.payloads.next().unwrap_or_default() ^ self.answer as u32;
        (self.number, self.payload)
    }

    /// Its answer.
    #[inline]
    pub fn hold(&mut self, answer: u64) {
        self.wrong += u64::from(answer != self.number + u64::from(self.payload));
        self.sum = self.sum.wrapping_add(answer);
        self.answer = answer;
        self.number += 1;
    }

    /// The account of asks; `seen` is what the answerer saw.
    pub fn account(&self, seen: &Seen) -> String {
        let (Self { number, wrong, sum, .. }, seen) = (self, seen.account());
        format!(r#"{{{seen}, "replies": {number}, "wrong": {wrong}, "sum": "{sum}"}}"#)
    }
}

/// The account of a receiver, sender by sender.
#[derive(Clone, Debug, Default)]
pub struct Seen(Vec<Sender>);

#[derive(Clone, Debug, Default)]
struct Sender {
    count: u64,
    sum: u64,
    reordered: u64,
    /// The number after the last one.
    next: u64,
}

impl Seen {
    /// Of `senders` senders, nothing yet.
    pub fn new(senders: usize) -> Self {
        Self(vec![Sender::default(); senders])
    }

    /// The messages that all of them have seen, one after the other.
    pub fn of_all(all: impl IntoIterator<Item = Seen>) -> Self {
        Self(all.into_iter().flat_map(|one| one.0).collect())
    }

    /// A message came; one of an unknown sender is not counted and so will be missed.
    #[inline]
    pub fn accept(&mut self, sender: u32, number: u64, payload: u32) {
        if let Some(seen) = self.0.get_mut(sender as usize) {
            seen.count += 1;
            seen.sum += u64::from(payload);
            seen.reordered += u64::from(number != seen.next);
            seen.next = number + 1;
        }
    }

    /// `"senders": […]` of an account.
    pub fn account(&self) -> String {
        let senders: Vec<String> = self.0.iter().map(Sender::account).collect();
        format!("\"senders\": [{}]", senders.join(", "))
    }
}

impl Sender {
    fn account(&self) -> String {
        let Self { count, sum, reordered, .. } = self;
        format!(r#"{{"count": {count}, "sum": "{sum}", "reordered": {reordered}}}"#)
    }
}

/// The connections of a pingpong server: they print its account when all are closed.
pub struct Connections {
    expected: u64,
    opened: AtomicU64,
    closed: AtomicU64,
    requests: AtomicU64,
}

impl Connections {
    /// Expects as many connections as the lab opens.
    pub fn new(expected: u64) -> Self {
        let zero = || AtomicU64::new(0);
        Self { expected, opened: zero(), closed: zero(), requests: zero() }
    }

    /// One was accepted.
    pub fn opened(&self) {
        self.opened.fetch_add(1, Ordering::SeqCst);
    }

    /// One was closed after so many requests.
    pub fn closed(&self, requests: u64) -> Result<()> {
        let requests = self.requests.fetch_add(requests, Ordering::SeqCst) + requests;
        let closed = self.closed.fetch_add(1, Ordering::SeqCst) + 1;
        if closed < self.expected || closed < self.opened.load(Ordering::SeqCst) {
            return Ok(());
        }
        say(&format!(r#"{{"requests": {requests}}}"#))
    }
}

/// Shares of the curve of round trips, in ten-thousandths.
const CURVE: [usize; 20] = [
    100, 500, 1_000, 2_500, 4_000, 5_000, 6_000, 7_500, 8_500, 9_000, 9_500, 9_750, 9_900, 9_950,
    9_970, 9_980, 9_990, 9_995, 9_998, 9_999,
];

/// How long round trips took.
#[derive(Default)]
pub struct RoundTrips(Vec<Duration>);

impl RoundTrips {
    /// One more was made.
    pub fn push(&mut self, time: Duration) {
        self.0.push(time);
    }

    /// `, "rtt_us": {…}` of an account; nothing if none was timed.
    fn account(mut self) -> String {
        self.0.sort_unstable();
        let Some(last) = self.0.len().checked_sub(1) else { return String::new() };
        let at = |percent: usize| self.0[last * percent / 100].as_secs_f64() * 1e6;
        let [p50, p90, p99, max] = [50, 90, 99, 100].map(at);
        let curve = self.curve();
        format!(
            r#", "rtt_us": {{"p50": {p50}, "p90": {p90}, "p99": {p99}, "max": {max}, "curve": [{curve}]}}"#
        )
    }

    /// Share and microseconds of each point, as far as ten round trips lie beyond it.
    fn curve(&self) -> String {
        let count = self.0.len();
        let borne = |share: &usize| count * (*share).min(10_000 - share) >= 100_000;
        let point = |share: usize| {
            // In whole numbers, so that it is the very trip that the percentiles name.
            let time = self.0[(count - 1) * share / 10_000].as_secs_f64() * 1e6;
            format!("[{}, {time}]", share as f64 / 1e4)
        };
        CURVE.into_iter().filter(borne).map(point).collect::<Vec<_>>().join(", ")
    }
}

/// The account of a client: each reply is compared with its own request.
#[derive(Default)]
pub struct Replies {
    count: u64,
    wrong: u64,
    sum: u64,
}

impl Replies {
    /// `answer` came for the request of `number` and `payload`.
    pub fn hold(&mut self, number: u64, payload: u32, answer: u64) {
        self.count += 1;
        self.wrong += u64::from(answer != number + u64::from(payload));
        self.sum += answer;
    }

    /// An answer whose parts have been compared came: its sum, and whether all of them fit.
    pub fn count(&mut self, sum: u64, fits: bool) {
        self.count += 1;
        self.wrong += u64::from(!fits);
        self.sum = self.sum.wrapping_add(sum);
    }

    /// Adds those of another caller.
    pub fn add(&mut self, other: &Replies) {
        self.count += other.count;
        self.wrong += other.wrong;
        self.sum = self.sum.wrapping_add(other.sum);
    }

    /// The account of an ask, with the times of those that were timed.
    pub fn account(&self, round_trips: RoundTrips) -> String {
        let Self { count, wrong, sum } = self;
        let times = round_trips.account();
        format!(r#"{{"replies": {count}, "wrong": {wrong}, "sum": "{sum}"{times}}}"#)
    }
}
