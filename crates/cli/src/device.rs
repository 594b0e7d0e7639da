//! `wigwag device`: joins two sockets, so that what is not connected directly is.
//!
//! The first address is where messages come from, the second where they go to; each is listened at
//! or dialled as the command of that role would do.

use std::time::Duration;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use wigwag::socket::{Forwarded, Statistics};
use wigwag::{Address, Forwarder, NetError, raw};
use wigwag_lab::numbers::grouped;

use crate::exit::{Code, Failed};
use crate::socket::{Endpoint, How, Interrupt, Loudness, News, Place, Plan, Role, WAIT};
use crate::{calls, print, units};

/// The schema of the document that `--json` writes.
const SCHEMA: &str = "wigwag.device/1";

#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Device {
    /// Where messages come from: requests, what is pushed or published
    first: String,
    /// Where they go to; without it, a bus or star that passes on among its own peers
    second: Option<String>,
    /// What is joined
    #[arg(long, value_enum)]
    pair: Joined,
    /// Listen at both addresses
    #[arg(long, visible_alias = "bind", conflicts_with = "dial")]
    listen: bool,
    /// Dial both addresses
    #[arg(long, visible_alias = "connect")]
    dial: bool,
    /// Time for somebody to listen where we dial
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    wait: Option<Duration>,
    /// Bytes that a message may have
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1MiB")]
    receive_limit: usize,
    /// A JSON document on standard output at the end
    #[arg(long)]
    json: bool,
    /// Say nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Say who comes and goes
    #[arg(short, long)]
    verbose: bool,
}

const EXAMPLES: &str = "Examples:
  wigwag device tcp://:7001 tcp://127.0.0.1:7011 --pair reqrep     clients dial 7001, we dial the server
  wigwag device tcp://:7001 ipc:///run/work --pair reqrep --listen servers dial us, too
  wigwag device tcp://127.0.0.1:7003 tcp://:7013 --pair pubsub     publisher first, subscribers dial 7013
  wigwag device tcp://:7006 --pair bus                             everybody hears everybody";

/// Protocols that can be joined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Joined {
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
enum Raw {
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

/// The same words for a raw socket of each role.
macro_rules! each {
    ($any:expr, $socket:ident => $words:expr) => {
        match $any {
            Raw::Req($socket) => $words,
            Raw::Rep($socket) => $words,
            Raw::Push($socket) => $words,
            Raw::Pull($socket) => $words,
            Raw::Pub($socket) => $words,
            Raw::Sub($socket) => $words,
            Raw::Survey($socket) => $words,
            Raw::Respond($socket) => $words,
            Raw::Pair($socket) => $words,
            Raw::Pair0($socket) => $words,
            Raw::Bus($socket) => $words,
            Raw::Star($socket) => $words,
        }
    };
}

impl Raw {
    fn new(role: Role) -> Raw {
        match role {
            Role::Req => Raw::Req(raw::Req::new()),
            Role::Rep => Raw::Rep(raw::Rep::new()),
            Role::Push => Raw::Push(raw::Push::new()),
            Role::Pull => Raw::Pull(raw::Pull::new()),
            Role::Pub => Raw::Pub(raw::Pub::new()),
            Role::Sub => Raw::Sub(raw::Sub::new()),
            Role::Survey => Raw::Survey(raw::Surveyor::new()),
            Role::Respond => Raw::Respond(raw::Respondent::new()),
            Role::Pair => Raw::Pair(raw::Pair::new()),
            Role::Pair0 => Raw::Pair0(raw::Pair0::new()),
            Role::Bus => Raw::Bus(raw::Bus::new()),
            Role::Star => Raw::Star(raw::Star::new()),
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

impl Endpoint for Raw {
    async fn dial(&self, address: &str) -> Result<(), NetError> {
        each!(self, socket => socket.dial(address).await.map(drop))
    }

    async fn listen(&self, address: &str) -> Result<Address, NetError> {
        each!(self, socket => socket.listen(address).await.map(Address::from))
    }
}

impl Joined {
    /// What stands at the first address, and what at the second.
    fn roles(self) -> (Role, Role) {
        match self {
            Joined::Reqrep => (Role::Rep, Role::Req),
            Joined::Pushpull => (Role::Pull, Role::Push),
            Joined::Pubsub => (Role::Sub, Role::Pub),
            Joined::Survey => (Role::Respond, Role::Survey),
            Joined::Pair => (Role::Pair, Role::Pair),
            Joined::Pair0 => (Role::Pair0, Role::Pair0),
            Joined::Bus => (Role::Bus, Role::Bus),
            Joined::Star => (Role::Star, Role::Star),
        }
    }

    /// Who dials, by the rule of the roles; of two alike the first one listens.
    fn how(self) -> (How, How) {
        let (first, second) = self.roles();
        match first == second {
            true => (How::Listen, How::Dial),
            false => (first.how(), second.how()),
        }
    }
}

impl Device {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        let loudness = match (self.quiet, self.verbose) {
            (true, _) => Loudness::Quiet,
            (_, true) => Loudness::Verbose,
            _ => Loudness::Normal,
        };
        let news = News::start(loudness);
        calls::run(|| self.join(news))
    }

    async fn join(self, news: News) -> Result<Code, Failed> {
        let mut interrupt = Interrupt::new()?;
        let (first, second) = self.pair.roles();
        let how = match (self.listen, self.dial) {
            (true, _) => (How::Listen, How::Listen),
            (_, true) => (How::Dial, How::Dial),
            _ => self.pair.how(),
        };
        let front = Raw::new(first);
        let back = self.second.as_ref().map(|_| Raw::new(second));
        let joined = match &back {
            Some(back) => Forwarder::between(front.end(), back.end()),
            None => Forwarder::reflecting(front.end()),
        };
        let forwarder = joined.map_err(|error| {
            let at = self.first.as_str();
            Failed::told(Code::Usage, &error.to_string(), at, "give two addresses, or bus or star")
        })?;
        let work = async {
            self.open(&front, first, how.0, &self.first, &news).await?;
            if let (Some(back), Some(address)) = (&back, &self.second) {
                self.open(back, second, how.1, address, &news).await?;
            }
            forwarder.run().await;
            Ok(())
        };
        let ended: Option<Result<(), Failed>> = tokio::select! {
            ended = work => Some(ended),
            () = interrupt.comes() => None,
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
        // A message above the receive limit never came to the forwarder.
        counts.dropped += ends.iter().map(|(_, statistics)| statistics.pipes_punished).sum::<u64>();
        if self.json {
            print::line(&self.document(counts, &ends, ended.is_none()).to_string());
        } else if !self.quiet {
            let peers: u64 = ends.iter().map(|(_, statistics)| statistics.pipes_opened).sum();
            print::error(&format!(
                "{} messages passed on · {} dropped · {peers} peers",
                grouped(counts.forwarded),
                grouped(counts.dropped)
            ));
        }
        Ok(if ended.is_none() { Code::Interrupted } else { Code::Ok })
    }

    /// The end for a program: a document of `device-1.json`.
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
        socket: &Raw,
        role: Role,
        how: How,
        address: &str,
        news: &News,
    ) -> Result<(), Failed> {
        socket.set_receive_limit(self.receive_limit);
        let places = [Place::new(how, address)];
        let wait = self.wait.unwrap_or(WAIT);
        Plan { role, places: &places, wait, text: "hello" }.open(socket, news).await
    }
}
