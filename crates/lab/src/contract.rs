//! The contract from a program's side: orders in the environment, READY, GO, one account.
//!
//! Nothing here is shared with the lab's own checks: the payloads are written a second time.

pub mod role;
pub(crate) mod schedule;
pub(crate) mod poller;
pub(crate) mod quote;
pub(crate) mod sp;
pub(crate) mod fan_out;
pub(crate) mod stamp;
pub(crate) mod blob;

use std::error::Error;
use std::io::{self, BufRead, Read, Write};
use std::process;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

/// The reason why a program ends without its account.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The orders of a program; a number that was not ordered is 0.
#[derive(Clone)]
pub(crate) struct Orders {
    pub(crate) port: u16,
    pub(crate) connections: usize,
    pub(crate) messages: u64,
    pub(crate) senders: u32,
    pub(crate) actors: usize,
    /// Draws that a slow actor makes from each payload.
    pub(crate) work: u32,
    pub(crate) amount: u64,
    pub(crate) seed: u32,
    pub(crate) window: usize,
    /// Of a block.
    pub(crate) bytes: usize,
    /// Messages a second.
    pub(crate) rate: u64,
    /// Microseconds that a device takes for a call.
    pub(crate) work_us: u64,
    /// Milliseconds that a caller waits.
    pub(crate) limit_ms: u64,
    pub(crate) cell: String,
    /// Bytes of a message.
    pub(crate) size: usize,
    pub(crate) transport: String,
    /// The file to listen at.
    pub(crate) socket: String,
    /// The files, in PEM, of a server's certificate and its key, and of the authority that a client
    /// trusts.
    pub(crate) certificate: String,
    pub(crate) key: String,
    pub(crate) authority: String,
    /// Messages that may wait for a peer.
    pub(crate) queue: usize,
    /// Sockets that receive.
    pub(crate) receivers: usize,
    /// Requests are `Ping` and replies `Pong`.
    pub(crate) fixed: bool,
    /// Whether it delays its end after the clock has stopped.
    pub(crate) lingers: bool,
    /// The time for which a client asks before its clock runs.
    pub(crate) warm_up: Duration,
    /// The time to wait for an answer: long enough for a stall of the server's runtime, and short
    /// enough for a quick run to end in time.
    pub(crate) answer_max: Duration,
}

impl Orders {
    pub(crate) fn read() -> Orders {
        let text = |name: &str| std::env::var(name).unwrap_or_default();
        let number = |name: &str| text(name).parse::<u64>().unwrap_or(0);
        Orders {
            port: number("PORT") as u16,
            connections: number("CONNECTIONS") as usize,
            messages: number("MESSAGES"),
            senders: (number("SENDERS") as u32).max(1),
            actors: (number("ACTORS") as usize).max(1),
            work: number("WORK") as u32,
            amount: number("AMOUNT"),
            seed: number("SEED") as u32,
            window: (number("WINDOW") as usize).max(1),
            bytes: number("BYTES") as usize,
            rate: number("RATE"),
            work_us: number("WORK_US"),
            limit_ms: number("LIMIT_MS"),
            cell: text("CELL"),
            size: number("SIZE") as usize,
            transport: text("TRANSPORT"),
            socket: text("SOCKET"),
            certificate: text("CERT"),
            key: text("KEY"),
            authority: text("CA"),
            queue: number("QUEUE") as usize,
            receivers: (number("RECEIVERS") as usize).max(1),
            fixed: text("PAYLOAD") == "fixed",
            lingers: number("LINGER") != 0,
            warm_up: Duration::from_millis(number("WARM_MS")),
            answer_max: match number("ANSWER_MS") {
                0 => Duration::from_secs(3),
                given => Duration::from_millis(given),
            },
        }
    }
}

/// Prints a line on standard output, at once.
pub(crate) fn print_line(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush())
}

/// Prints READY, then waits for GO.
pub(crate) fn ready_and_go() -> Result<(), Failure> {
    print_line("READY")?;
    wait_for_go()
}

/// Waits for GO.
pub(crate) fn wait_for_go() -> Result<(), Failure> {
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    match line.trim() {
        "GO" => Ok(()),
        other => Err(format!("{other:?} where GO was due").into()),
    }
}

/// Prints the account, then waits for the end of the input, until which the program's memory can be
/// read.
pub(crate) fn print_line_and_wait(line: &str) -> io::Result<()> {
    print_line(line)?;
    io::stdin().lock().read_to_end(&mut Vec::new())?;
    Ok(())
}

/// Prints READY with a port; from then on the process ends when its standard input does.
pub(crate) fn ready_until_input_ends(port: u16) -> io::Result<()> {
    exit_when_input_ends();
    print_line(&format!("READY {port}"))
}

/// From now on the process ends when its standard input does.
pub(crate) fn exit_when_input_ends() {
    thread::spawn(|| {
        // An error also means that the lab has gone.
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        process::exit(0);
    });
}

/// The payloads of a sender.
pub(crate) struct PayloadDraws(u32);

impl PayloadDraws {
    pub(crate) fn of(seed: u32, sender: u32) -> PayloadDraws {
        let x = seed ^ (sender + 1).wrapping_mul(2_654_435_761);
        PayloadDraws(if x == 0 { 1 } else { x })
    }

    #[inline]
    pub(crate) fn next(&mut self) -> u32 {
        self.0 = step(self.0);
        self.0
    }
}

/// Draws a number.
#[inline]
pub(crate) fn step(mut x: u32) -> u32 {
    x ^= x << 13;
    x ^= x >> 17;
    x ^= x << 5;
    x
}

/// The work of a slow actor on each payload.
#[inline]
pub(crate) fn work(draws: u32, payload: u32) -> u64 {
    u64::from((0..draws).fold(payload, |x, _| step(x)))
}

/// The counts that a receiver keeps of one sender.
#[derive(Clone, Copy, Default)]
pub(crate) struct Tally {
    count: u64,
    sum: u64,
    reordered: u64,
    next: u64,
}

impl Tally {
    #[inline]
    pub(crate) fn take(&mut self, number: u64, payload: u32) {
        self.count += 1;
        self.sum += u64::from(payload);
        self.reordered += u64::from(number != self.next);
        self.next = number + 1;
    }

    /// Count, sum and reordered, as actors tell each other.
    pub(crate) fn to_counts(self) -> Counts {
        (self.count, self.sum, self.reordered)
    }

    pub(crate) fn to_json(self) -> Value {
        counts_to_json(self.to_counts())
    }
}

/// The counts as JSON.
pub(crate) fn counts_to_json((count, sum, reordered): Counts) -> Value {
    json!({ "count": count, "sum": sum.to_string(), "reordered": reordered })
}

/// A tally for another actor: count, sum and reordered.
pub(crate) type Counts = (u64, u64, u64);

/// Sequences whose counts are listed in an account.
const LISTED_MAX: usize = 10_000;

/// The account of many sequences: a list of their counts, or of very many their sums.
pub(crate) fn sequences(all: &[Counts]) -> Value {
    if all.len() <= LISTED_MAX {
        return json!({ "senders": all.iter().copied().map(counts_to_json).collect::<Value>() });
    }
    let (mut sums, mut in_order, mut pairs) = ((0, 0, 0), 0_u64, 0_u64);
    for (at, (count, sum, reordered)) in (0_u64..).zip(all.iter().copied()) {
        sums = (sums.0 + count, sums.1 + sum, sums.2 + reordered);
        in_order += u64::from(count > 0 && reordered == 0);
        pairs = pairs.wrapping_add(at.wrapping_mul(sum));
    }
    let pairs = pairs.to_string();
    json!({ "senders": [counts_to_json(sums)], "in_order": in_order, "pairs": pairs })
}

/// The account of a receiver.
pub(crate) fn senders(tallies: &[Tally]) -> Value {
    tallies.iter().map(|tally| tally.to_json()).collect()
}
