//! Shows that the raw limit is a limit: its tells of 1 KiB reach at least 70 % of what `iperf3`
//! reaches with writes of 64 KiB, both in turn, in two processes each, in one run.
//!
//! ```sh
//! cargo run --release -p wigwag-lab --example raw_against_iperf3
//! ```
//!
//! It ends with 1 when the share is smaller, 3 when `iperf3` is missing, 2 when something broke.
#![allow(clippy::print_stdout, reason = "an example that prints its findings")]

use std::{
    env,
    error::Error,
    io::{self, BufRead, BufReader},
    net::{TcpListener, TcpStream},
    process::{Child, Command, ExitCode, Stdio},
};

use serde_json::Value;
use wigwag_lab::{
    raw,
    statistics::{SplitMix64, Spread},
};

/// Bytes of a raw message.
const MESSAGE_BYTES: usize = 1_024;
/// Rounds of each, after one that warms up and finds how many messages make a second.
const ROUNDS: usize = 5;
/// The share of iperf3's rate that raw must reach.
const SHARE_MIN: f64 = 0.70;
/// Decides who comes first in each round.
const SEED: u64 = 1;

fn main() -> ExitCode {
    let outcome = match env::args().nth(1).as_deref() {
        Some("serve") => serve().map(|()| ExitCode::SUCCESS).map_err(Into::into),
        _ if !has_iperf3() => {
            eprintln!("iperf3 is not installed; to mend it: apt-get install iperf3");
            return ExitCode::from(3);
        }
        _ => compare(),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("no figure: {error}");
        ExitCode::from(2)
    })
}

fn compare() -> Result<ExitCode, Box<dyn Error>> {
    let warm_up = raw_round(200_000)?;
    let count = (warm_up / gigabits(1)) as u64;
    iperf3_round()?;

    let (mut raw, mut iperf3, mut order) = (Vec::new(), Vec::new(), SplitMix64::new(SEED));
    for round in 1..=ROUNDS {
        let mut cells = [true, false];
        order.shuffle(&mut cells);
        for is_raw in cells {
            if is_raw {
                raw.push(raw_round(count)?);
            } else {
                iperf3.push(iperf3_round()?);
            }
        }
        println!(
            "round {round}: raw {:5.2}, iperf3 {:5.2} Gbit/s",
            raw[round - 1],
            iperf3[round - 1]
        );
    }
    let ratio = Spread::of_ratios(&raw, &iperf3).ok_or("a round without a figure")?;
    for (name, rounds) in [("raw, 1 KiB messages", raw), ("iperf3 -l 64K", iperf3)] {
        let Spread { median, min, max } = Spread::of(&rounds).ok_or("a round without a figure")?;
        println!("{name:20} {median:5.2} Gbit/s ({min:.2} to {max:.2})");
    }
    let Spread { median, min, max } = ratio;
    println!(
        "{:20} {median:5.2} ({min:.2} to {max:.2}), at least {SHARE_MIN:.2} wanted",
        "raw / iperf3"
    );
    Ok(if median >= SHARE_MIN { ExitCode::SUCCESS } else { ExitCode::from(1) })
}

fn gigabits(messages: u64) -> f64 {
    (messages * MESSAGE_BYTES as u64 * 8) as f64 / 1e9
}

/// The service process: says its port, receives one run, ends.
fn serve() -> io::Result<()> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    raw::serve_tell(&listener.accept()?.0, MESSAGE_BYTES)
}

/// Gbit/s of `count` raw messages to a fresh service process.
fn raw_round(count: u64) -> Result<f64, Box<dyn Error>> {
    let mut service = Service::start(Command::new(env::current_exe()?).arg("serve"))?;
    let port: u16 = service.line()?.trim().parse()?;
    let moved = raw::send_tell(&TcpStream::connect(("127.0.0.1", port))?, MESSAGE_BYTES, count)?;
    if !moved.verified.is_clean() {
        return Err(format!("void: {:?}", moved.verified).into());
    }
    Ok(gigabits(count) / moved.elapsed.as_secs_f64())
}

/// Gbit/s that iperf3 says its receiver received within a second.
fn iperf3_round() -> Result<f64, Box<dyn Error>> {
    // The port is free when we look, and almost surely still when iperf3 takes it.
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port().to_string();
    let mut service =
        Service::start(Command::new("iperf3").args(["-s", "-1", "--forceflush", "-p", &port]))?;
    while !service.line()?.contains("listening") {}
    let client = Command::new("iperf3")
        .args(["-c", "127.0.0.1", "-l", "64K", "-t", "1", "-J", "-p", &port])
        .output()?;
    let report: Value = serde_json::from_slice(&client.stdout)?;
    let rate = report["end"]["sum_received"]["bits_per_second"].as_f64();
    rate.map(|rate| rate / 1e9).ok_or_else(|| format!("iperf3: {}", report["error"]).into())
}

fn has_iperf3() -> bool {
    let quiet = Command::new("iperf3").arg("--version").stdout(Stdio::null()).status();
    quiet.is_ok_and(|status| status.success())
}

/// A process that serves one round and says on its first lines that it is ready.
struct Service {
    process: Child,
    lines: BufReader<std::process::ChildStdout>,
}

impl Service {
    fn start(command: &mut Command) -> Result<Self, Box<dyn Error>> {
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
        let lines = BufReader::new(process.stdout.take().ok_or("a pipe was asked for")?);
        Ok(Self { process, lines })
    }

    fn line(&mut self) -> Result<String, Box<dyn Error>> {
        let mut line = String::new();
        match self.lines.read_line(&mut line)? {
            0 => Err("a service ended before it was ready".into()),
            _ => Ok(line),
        }
    }
}

/// A service ends by itself after its round; after a failed one it is ended here.
impl Drop for Service {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
