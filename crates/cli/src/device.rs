//! `wigwag device`: forwards messages between two sockets.
//!
//! Messages come from the first address and go to the second. At each address the device listens or
//! dials as the command of that role would do.

use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use wigwag::sp::{Forwarded, Statistics};
use wigwag::{
    Address,
    sp::{Forwarder, raw},
    transport::{DialOptions, ListenOptions, NetError},
};
use wigwag_lab::numbers::grouped;

use crate::exit::{Code, Failed};
use crate::options::tls::TlsArguments;
use crate::options::units;
use crate::socket::{
    ConnectMode, ConnectPlan, Connectable, DIAL_WAIT, Endpoint, EventLog, Interrupt, Role,
    Verbosity,
};
use crate::{print, runtime};

/// The schema of the document that `--json` writes.
const SCHEMA: &str = "wigwag.device/1";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Device {
    /// Where messages come from: requesters, pushers or publishers
    first: String,
    /// Where messages go to; without it, a bus or star forwards among its own peers
    second: Option<String>,
    /// The protocols to join
    #[arg(long, value_enum)]
    pair: ProtocolPair,
    /// Listen at both addresses
    #[arg(long, visible_alias = "bind", conflicts_with = "dial")]
    listen: bool,
    /// Dial both addresses
    #[arg(long, visible_alias = "connect")]
    dial: bool,
    /// Time to wait for the peer to start listening
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    wait: Option<Duration>,
    /// Largest message, in bytes
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1MiB")]
    receive_limit: usize,
    /// Print a JSON document on standard output at the end
    #[arg(long)]
    json: bool,
    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Print every connection that opens or closes
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    tls: TlsArguments,
}

const EXAMPLES: &str = "Examples:
  wigwag device tcp://:7001 tcp://127.0.0.1:7011 --pair reqrep      clients dial 7001, the device dials the server
  wigwag device tcp://:7001 ipc:///run/work --pair reqrep --listen  servers dial the device, too
  wigwag device tcp://127.0.0.1:7003 tcp://:7013 --pair pubsub      publisher first, subscribers dial 7013
  wigwag device tcp://:7006 --pair bus                              every peer receives from every other";

/// The protocols that a device can join.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProtocolPair {
    Reqrep,
    Pushpull,
    Pubsub,
    Survey,
    Pair,
    Pair0,
    Bus,
    Star,
}

/// A raw socket of any role.
enum RawSocket {
    Req(raw::Req),
    Rep(raw::Rep),
    Push(raw::Push),
    Pull(raw::Pull),
    Pub(raw::Pub),
    Sub(raw::Sub),
    Survey(raw::Surveyor),
    Respond(raw::Respondent),
    Pair(raw::Pair),
    Pair0(raw::Pair0),
    Bus(raw::Bus),
    Star(raw::Star),
}

/// Evaluates one expression for the raw socket of any role.
macro_rules! each {
    ($any:expr, $socket:ident => $words:expr) => {
        match $any {
            RawSocket::Req($socket) => $words,
            RawSocket::Rep($socket) => $words,
            RawSocket::Push($socket) => $words,
            RawSocket::Pull($socket) => $words,
            RawSocket::Pub($socket) => $words,
            RawSocket::Sub($socket) => $words,
            RawSocket::Survey($socket) => $words,
            RawSocket::Respond($socket) => $words,
            RawSocket::Pair($socket) => $words,
            RawSocket::Pair0($socket) => $words,
            RawSocket::Bus($socket) => $words,
            RawSocket::Star($socket) => $words,
        }
    };
}

impl RawSocket {
    fn new(role: Role) -> RawSocket {
        match role {
            Role::Req => RawSocket::Req(raw::Req::new()),
            Role::Rep => RawSocket::Rep(raw::Rep::new()),
            Role::Push => RawSocket::Push(raw::Push::new()),
            Role::Pull => RawSocket::Pull(raw::Pull::new()),
            Role::Pub => RawSocket::Pub(raw::Pub::new()),
            Role::Sub => RawSocket::Sub(raw::Sub::new()),
            Role::Survey => RawSocket::Survey(raw::Surveyor::new()),
            Role::Respond => RawSocket::Respond(raw::Respondent::new()),
            Role::Pair => RawSocket::Pair(raw::Pair::new()),
            Role::Pair0 => RawSocket::Pair0(raw::Pair0::new()),
            Role::Bus => RawSocket::Bus(raw::Bus::new()),
            Role::Star => RawSocket::Star(raw::Star::new()),
        }
    }

    fn end(&self) -> raw::End {
        each!(self, socket => socket.into())
    }

    fn set_receive_limit(&self, bytes: usize) {
        each!(self, socket => socket.set_receive_limit(bytes));
    }

    fn statistics(&self) -> Statistics {
        each!(self, socket => socket.statistics())
    }

    async fn close(&self) {
        each!(self, socket => socket.close().await);
    }
}

impl Connectable for RawSocket {
    async fn dial(&self, address: &str, options: DialOptions) -> Result<(), NetError> {
        each!(self, socket => socket.dial_with(address, options).await.map(drop))
    }

    async fn listen(&self, address: &str, options: ListenOptions) -> Result<Address, NetError> {
        each!(self, socket => socket.listen_with(address, options).await.map(Address::from))
    }
}

impl ProtocolPair {
    /// The role of the device at the first address and at the second.
    fn roles(self) -> (Role, Role) {
        match self {
            ProtocolPair::Reqrep => (Role::Rep, Role::Req),
            ProtocolPair::Pushpull => (Role::Pull, Role::Push),
            ProtocolPair::Pubsub => (Role::Sub, Role::Pub),
            ProtocolPair::Survey => (Role::Respond, Role::Survey),
            ProtocolPair::Pair => (Role::Pair, Role::Pair),
            ProtocolPair::Pair0 => (Role::Pair0, Role::Pair0),
            ProtocolPair::Bus => (Role::Bus, Role::Bus),
            ProtocolPair::Star => (Role::Star, Role::Star),
        }
    }

    /// Whether each end listens or dials by default. If both roles are equal, the first end listens.
    fn modes(self) -> (ConnectMode, ConnectMode) {
        let (first, second) = self.roles();
        match first == second {
            true => (ConnectMode::Listen, ConnectMode::Dial),
            false => (first.default_mode(), second.default_mode()),
        }
    }
}

impl Device {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        let verbosity = match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        let log = EventLog::start(verbosity);
        runtime::run(|| self.join(log))
    }

    async fn join(self, log: EventLog) -> Result<Code, Failed> {
        let mut interrupt = Interrupt::new()?;
        let (first, second) = self.pair.roles();
        let mode = match (self.listen, self.dial) {
            (true, _) => (ConnectMode::Listen, ConnectMode::Listen),
            (_, true) => (ConnectMode::Dial, ConnectMode::Dial),
            _ => self.pair.modes(),
        };
        let front = RawSocket::new(first);
        let back = self.second.as_ref().map(|_| RawSocket::new(second));
        let joined = match &back {
            Some(back) => Forwarder::between(front.end(), back.end()),
            None => Forwarder::reflecting(front.end()),
        };
        let forwarder = joined.map_err(|error| {
            let at = self.first.as_str();
            let hint = "give two addresses, or bus or star";
            Failed::with_hint(Code::Usage, &error.to_string(), at, hint)
        })?;
        let work = async {
            self.open(&front, first, mode.0, &self.first, &log).await?;
            if let (Some(back), Some(address)) = (&back, &self.second) {
                self.open(back, second, mode.1, address, &log).await?;
            }
            forwarder.run().await;
            Ok(())
        };
        let ended: Option<Result<(), Failed>> = tokio::select! {
            ended = work => Some(ended),
            () = interrupt.recv() => None,
        };
        front.close().await;
        if let Some(back) = &back {
            back.close().await;
        }
        if let Some(Err(failed)) = ended {
            return Err(failed);
        }
        let mut ends = vec![(first, front.statistics())];
        ends.extend(back.as_ref().map(|back| (second, back.statistics())));
        let mut counts = forwarder.counts();
        // A message above the receive limit never reaches the forwarder.
        counts.dropped += ends.iter().map(|(_, statistics)| statistics.pipes_punished).sum::<u64>();
        if self.json {
            print::line(&self.document(counts, &ends, ended.is_none()).to_string());
        } else if !self.quiet {
            let peers: u64 = ends.iter().map(|(_, statistics)| statistics.pipes_opened).sum();
            print::error(&format!(
                "{} messages forwarded · {} dropped · {peers} peers",
                grouped(counts.forwarded),
                grouped(counts.dropped)
            ));
        }
        Ok(if ended.is_none() { Code::Interrupted } else { Code::Ok })
    }

    /// The summary as a document of `device-1.json`.
    fn document(&self, counts: Forwarded, ends: &[(Role, Statistics)], interrupted: bool) -> Value {
        let ends: Vec<Value> = ends
            .iter()
            .map(|(role, statistics)| {
                json!({
                    "protocol": role.number().to_string(),
                    "peers": statistics.pipes_opened,
                    "handshakes_failed": statistics.handshakes_failed,
                })
            })
            .collect();
        let pair = self.pair.to_possible_value();
        json!({
            "schema": SCHEMA,
            "kind": "summary",
            "pair": pair.as_ref().map(PossibleValue::get_name),
            "forwarded": counts.forwarded,
            "dropped": counts.dropped,
            "ends": ends,
            "interrupted": interrupted,
        })
    }

    async fn open(
        &self,
        socket: &RawSocket,
        role: Role,
        mode: ConnectMode,
        address: &str,
        log: &EventLog,
    ) -> Result<(), Failed> {
        socket.set_receive_limit(self.receive_limit);
        let endpoints = [Endpoint::new(mode, address)];
        let wait = self.wait.unwrap_or(DIAL_WAIT);
        let tls = &self.tls;
        ConnectPlan { role, endpoints: &endpoints, wait, text: "hello", tls }
            .open(socket, log)
            .await
    }
}
