//! `wigwag bench`: measures how fast a peer answers or receives messages, and verifies every one.
//!
//! Any SP peer that echoes requests, or answers all of them with the same reply, can be measured.
//! The verdict comes first: a run in which a message is lost, duplicated, reordered or changed
//! reports no numbers.

mod requester;
mod control;
mod payload;
mod pusher;
mod report;
mod seconds;
mod serve;

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use tokio::sync::watch;
use wigwag::Bytes;

use crate::exit::{Code, Failed};
use crate::options::tls::TlsArguments;
use crate::options::units;
use crate::socket::{
    ConnectMode, ConnectPlan, Connectable, Endpoint, EventLog, Interrupt, Role, Socket, Verbosity,
};
use crate::{print, runtime};
use report::{Gate, Report};

/// Sockets of one run: each is a connection at both ends.
const CLIENTS_MAX: usize = 256;

/// Bytes of the largest message: 64 times the default receive limit of a socket.
const SIZE_MAX: usize = 64 << 20;

/// Duration of a run without `--duration` or `--count`.
const DURATION: Duration = Duration::from_secs(5);

/// Default number of clients of a throughput run: enough to keep a peer busy while each client
/// waits for its reply.
const THROUGHPUT_CLIENTS: usize = 8;

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Bench {
    #[command(subcommand)]
    command: BenchCommand,
}

const EXAMPLES: &str = "Examples:
  wigwag bench serve tcp://127.0.0.1:7001                     the peer, in a second terminal
  wigwag bench latency tcp://127.0.0.1:7001 --fail-if 'p99>5ms'
  wigwag bench throughput tcp://127.0.0.1:7001 --size 1k --count 1000000
  wigwag bench latency tcp://127.0.0.1:7002 --expect pong     against nngcat --rep --data pong";

#[derive(Subcommand)]
enum BenchCommand {
    /// Measure the round-trip time of requests sent one after the other
    #[command(after_help = EXAMPLES)]
    Latency(Latency),
    /// Measure the rate of many clients at once, pushing to `bench serve` or asking any rep
    #[command(after_help = EXAMPLES)]
    Throughput(Throughput),
    /// Serve as the other side: echo requests, and verify pushed messages
    #[command(after_help = EXAMPLES)]
    Serve(Serve),
}

#[derive(Args)]
struct RunArguments {
    /// Where the peer listens
    url: String,
    /// Bytes of a message
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "64")]
    size: usize,
    /// Number of messages, over all clients
    #[arg(long, value_name = "N", conflicts_with = "duration")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    count: Option<u64>,
    /// Duration of the measurement [default: 5s]
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    duration: Option<Duration>,
    /// The expected reply to every request [default: the request itself]
    #[arg(long, value_name = "TEXT")]
    expect: Option<String>,
    /// Time limit for one message
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "5s")]
    deadline: Duration,
    /// Time to wait for the peer to start listening
    #[arg(long, value_name = "TIME", value_parser = units::time, default_value = "1s")]
    wait: Duration,
    /// Print one JSON document instead of text
    #[arg(long)]
    json: bool,
    /// Exit with code 7 if this condition holds, such as p99>5ms or rate<1000
    #[arg(long, value_name = "CONDITION")]
    fail_if: Vec<Gate>,
    #[command(flatten)]
    tls: TlsArguments,
}

#[derive(Args)]
struct Latency {
    #[command(flatten)]
    run: RunArguments,
    /// Number of clients, each with its own socket and one request in flight
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clients)]
    clients: usize,
    /// Measure a pair socket that echoes
    #[arg(long, conflicts_with = "clients")]
    pair: bool,
    /// Measure a pair socket of version 0 that echoes
    #[arg(long, conflicts_with_all = ["clients", "pair"])]
    pair_v0: bool,
}

#[derive(Args)]
struct Throughput {
    #[command(flatten)]
    run: RunArguments,
    /// Number of clients, each with its own socket
    #[arg(long, value_name = "N", default_value_t = THROUGHPUT_CLIENTS, value_parser = clients)]
    clients: usize,
}

#[derive(Args)]
struct Serve {
    /// Where to listen
    url: String,
    /// Largest request, in bytes
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1MiB")]
    receive_limit: usize,
    #[command(flatten)]
    tls: TlsArguments,
}

impl Bench {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        match self.command {
            BenchCommand::Latency(latency) => runtime::run(|| latency.run()),
            BenchCommand::Throughput(throughput) => runtime::run(|| throughput.run()),
            BenchCommand::Serve(serve) => runtime::run(|| serve.run()),
        }
    }
}

impl Latency {
    async fn run(self) -> Result<Code, Failed> {
        let (role, mode) = match (self.pair, self.pair_v0) {
            (true, _) => (Role::Pair, "pair"),
            (_, true) => (Role::Pair0, "pair"),
            _ => (Role::Req, "req"),
        };
        self.run.validate()?;
        let log = EventLog::start(Verbosity::Normal);
        let sockets = self.run.connect(role, &self.run.url, self.clients, &log).await?;
        let report = self.run.ask("latency", mode, sockets).await?;
        self.run.print_report(&report)
    }
}

impl Throughput {
    async fn run(self) -> Result<Code, Failed> {
        let run = &self.run;
        run.validate()?;
        let log = EventLog::start(Verbosity::Normal);
        let mut control = run.connect(Role::Req, &run.url, 1, &log).await?;
        let target = match (&run.expect, control.first()) {
            (None, Some(control)) => {
                pusher::target(control, &run.url, self.clients, run.size, run.deadline).await?
            }
            _ => None,
        };
        let report = match (target, control.pop()) {
            (Some(target), Some(control)) => {
                let at = &target.address;
                let sockets = run.connect(Role::Push, at, self.clients, &log).await?;
                run.push(&control, &target, sockets).await?
            }
            (_, control) => {
                // The control connection takes no part in this kind of run.
                drop(control);
                let sockets = run.connect(Role::Req, &run.url, self.clients, &log).await?;
                run.ask("throughput", "req", sockets).await?
            }
        };
        run.print_report(&report)
    }
}

impl RunArguments {
    fn validate(&self) -> Result<(), Failed> {
        let least = if self.expect.is_some() { 0 } else { payload::STAMP_BYTES };
        let longest = Duration::from_secs(seconds::SECONDS_MAX as u64);
        let wrong = if !(least..=SIZE_MAX).contains(&self.size) {
            format!("a message of {} bytes cannot be verified", self.size)
        } else if self.duration.is_some_and(|duration| duration > longest || duration.is_zero()) {
            "a run of that length cannot be recorded".to_owned()
        } else {
            return Ok(());
        };
        let hint = format!(
            "use --size from {least} to {SIZE_MAX}, and --duration up to {} s",
            longest.as_secs()
        );
        Err(Failed::with_hint(Code::Usage, &wrong, &self.url, &hint))
    }

    /// Opens `count` sockets of the role `role` and connects each to `url`.
    async fn connect(
        &self,
        role: Role,
        url: &str,
        count: usize,
        log: &EventLog,
    ) -> Result<Vec<Socket>, Failed> {
        let endpoints = [Endpoint::new(ConnectMode::Dial, url)];
        let (wait, tls) = (self.wait, &self.tls);
        let plan = ConnectPlan { role, endpoints: &endpoints, wait, text: "hello", tls };
        let mut sockets = Vec::new();
        for _ in 0..count {
            let socket = Socket::new(role);
            // A reply is as long as its request, plus the SP backtrace in front of it.
            socket.set_receive_limit(self.size.max(1 << 20) + 1_024);
            plan.open(&socket, log).await?;
            sockets.push(socket);
        }
        Ok(sockets)
    }

    fn end_time(&self, begun: Instant) -> Option<Instant> {
        match self.count {
            Some(_) => None,
            None => Some(begun + self.duration.unwrap_or(DURATION)),
        }
    }

    async fn ask(
        &self,
        kind: &'static str,
        mode: &'static str,
        sockets: Vec<Socket>,
    ) -> Result<Report, Failed> {
        let (begun, clients) = (Instant::now(), sockets.len());
        let plan = requester::RequestPlan {
            size: self.size,
            expect: self.expect.clone().map(Bytes::from),
            deadline: self.deadline,
            until: self.end_time(begun),
            seed: seed(),
            begun,
        };
        let (stop, stopped) = watch::channel(false);
        let work = requester::ask_all(sockets, self.count, &plan, &stopped);
        let (asked, interrupted) = interruptible(work, &stop).await?;
        Ok(Report {
            kind,
            mode,
            at: self.url.clone(),
            clients,
            size: self.size.max(payload::STAMP_BYTES),
            verified: asked.verified,
            elapsed: begun.elapsed(),
            seconds: asked.seconds,
            times: asked.times.percentiles(),
            reply_bytes: asked.reply_bytes,
            interrupted,
            trouble: asked.trouble,
        })
    }

    async fn push(
        &self,
        control: &Socket,
        target: &pusher::PushTarget,
        sockets: Vec<Socket>,
    ) -> Result<Report, Failed> {
        let (begun, clients) = (Instant::now(), sockets.len());
        let (until, seed) = (self.end_time(begun), seed());
        let plan = pusher::PushPlan {
            size: self.size,
            count: self.count,
            until,
            deadline: self.deadline,
            seed,
        };
        let (stop, stopped) = watch::channel(false);
        let work = pusher::push_all(control, target, sockets, plan, &stopped);
        let (pushed, interrupted) = interruptible(work, &stop).await?;
        let pushed = pushed?;
        Ok(Report {
            kind: "throughput",
            mode: "push",
            at: self.url.clone(),
            clients,
            size: self.size,
            verified: pushed.verified,
            elapsed: begun.elapsed(),
            seconds: pushed.seconds,
            times: None,
            reply_bytes: 0,
            interrupted,
            trouble: None,
        })
    }

    fn print_report(&self, report: &Report) -> Result<Code, Failed> {
        match self.json {
            true => print::line(&report.document().to_string()),
            false => print::line(&report.lines()),
        }
        let (code, why) = report.code(&self.fail_if);
        for why in why {
            print::error(&format!("failed: {why}"));
        }
        if matches!(code, Code::VerificationFailed | Code::NoAnswer) {
            let what = report.trouble.as_deref().unwrap_or("not every message came back right");
            let hint = "it must echo (wigwag rep URL --echo, wigwag bench serve URL), or say what \
                        it answers with --expect TEXT";
            Failed::with_hint(code, what, &self.url, hint).print();
        }
        Ok(code)
    }
}

impl Serve {
    async fn run(self) -> Result<Code, Failed> {
        let log = EventLog::start(Verbosity::Normal);
        let mut interrupt = Interrupt::new()?;
        let socket = Socket::new(Role::Rep);
        socket.set_receive_limit(self.receive_limit);
        let address = Endpoint::new(ConnectMode::Listen, &self.url).address;
        let options = self.tls.listen_options(&address)?;
        let bound = socket.listen(&address, options.clone()).await?;
        log.print(&format!("listening  {bound}  for wigwag bench latency or throughput"));
        tokio::select! {
            ended = serve::serve(&socket, &bound, options) => ended?,
            () = interrupt.recv() => {}
        }
        socket.close().await;
        Ok(Code::Interrupted)
    }
}

/// Runs `work` to its end and says whether Ctrl-C interrupted it. Ctrl-C sets `stop`, which makes
/// `work` end early.
async fn interruptible<T>(
    work: impl Future<Output = T>,
    stop: &watch::Sender<bool>,
) -> Result<(T, bool), Failed> {
    let mut interrupt = Interrupt::new()?;
    tokio::pin!(work);
    tokio::select! {
        done = &mut work => return Ok((done, false)),
        () = interrupt.recv() => {}
    }
    stop.send_replace(true);
    Ok((work.await, true))
}

/// A seed that differs in each run, so that no peer can predict the messages.
fn seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |now| now.as_nanos() as u64)
}

fn clients(text: &str) -> Result<usize, String> {
    let number = text.parse().ok().filter(|number| (1..=CLIENTS_MAX).contains(number));
    number.ok_or_else(|| format!("expected a number from 1 to {CLIENTS_MAX}"))
}
