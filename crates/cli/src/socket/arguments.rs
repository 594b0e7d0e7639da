//! The command lines of `wigwag req` and the other socket commands. `start.rs` turns them into
//! sessions.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use crate::options::tls::TlsArguments;
use crate::options::units;
use crate::socket::messages::format::Format;

/// Maximum number of `--exec` commands at once: each is a process with two pipes.
const JOBS_MAX: u64 = 256;

#[derive(Subcommand)]
pub(crate) enum SocketCommand {
    /// Send requests, and print the replies
    #[command(after_help = REQ, override_usage = "wigwag req [OPTIONS] URL... [TEXT]")]
    Req(AskArguments),
    /// Answer requests
    #[command(after_help = REP, override_usage = "wigwag rep [OPTIONS] URL... [TEXT]")]
    Rep(AnswerArguments),
    /// Send to every subscriber
    #[command(after_help = PUB, override_usage = "wigwag pub [OPTIONS] URL... [TEXT]")]
    Pub(SendArguments),
    /// Print messages that begin with a topic
    #[command(after_help = SUB, override_usage = "wigwag sub [OPTIONS] URL... [TOPIC]...")]
    Sub(ReceiveArguments),
    /// Send each message to one of the pullers
    #[command(after_help = PUSH, override_usage = "wigwag push [OPTIONS] URL... [TEXT]")]
    Push(SendArguments),
    /// Print pushed messages
    #[command(after_help = PULL, override_usage = "wigwag pull [OPTIONS] URL...")]
    Pull(ReceiveArguments),
    /// Ask all respondents, and print the answers that arrive in time
    #[command(after_help = SURVEY, override_usage = "wigwag survey [OPTIONS] URL... [TEXT]")]
    Survey(AskArguments),
    /// Answer surveys
    #[command(after_help = RESPOND, override_usage = "wigwag respond [OPTIONS] URL... [TEXT]")]
    Respond(AnswerArguments),
    /// Send to and receive from one peer
    #[command(after_help = PAIR, override_usage = "wigwag pair [OPTIONS] URL... [TEXT]")]
    Pair(PairArguments),
    /// Send to and receive from all connected peers
    #[command(after_help = BUS, override_usage = "wigwag bus [OPTIONS] URL... [TEXT]")]
    Bus(TalkArguments),
    /// Send to all peers, and forward received messages to the others
    #[command(after_help = STAR, override_usage = "wigwag star [OPTIONS] URL... [TEXT]")]
    Star(TalkArguments),
}

const REQ: &str = "Examples:
  wigwag req tcp://127.0.0.1:7001 hello                      one request, and its reply
  wigwag req tcp://127.0.0.1:7001 < requests.txt             one request per line
  wigwag req tcp://127.0.0.1:7001 ping --interval 1s -v      until Ctrl-C
  wigwag req tcp://127.0.0.1:7001 '{\"a\":2}' --json           the reply as a document";
const REP: &str = "Examples:
  wigwag rep tcp://:7001 --echo                 every request is its own reply
  wigwag rep tcp://:7001 --exec 'jq .a+.b'      a command answers; WIGWAG_SEQ and, with one
                                                peer, WIGWAG_PEER are in its environment
  wigwag rep tcp://:7001 OK --format line       a fixed reply, and requests are printed
A request whose command fails gets no reply, and the error is printed.";
const PUB: &str = "Examples:
  tail -f weather.log | wigwag pub tcp://:7003           one message per line
  wigwag pub tcp://:7003 'weather. rain' --interval 1s   one message every second
The publisher waits for its first subscriber, unless --wait is 0.";
const SUB: &str = "Examples:
  wigwag sub tcp://127.0.0.1:7003 weather. news.    two topics
  wigwag sub tcp://127.0.0.1:7003 | head -3         all topics, three messages";
const PUSH: &str = "Examples:
  wigwag push tcp://127.0.0.1:7002 < jobs.txt       one message per line
  wigwag push tcp://127.0.0.1:7002 --file job.bin   a file as one message";
const PULL: &str = "Examples:
  wigwag pull tcp://:7002                           print every message
  wigwag pull tcp://:7002 --exec ./work --jobs 4    a command per message, four at once
  wigwag pull --dial tcp://127.0.0.1:7002           if the pusher listens";
const SURVEY: &str = "Examples:
  wigwag survey tcp://127.0.0.1:7004 'who?' --deadline 200ms
  wigwag survey --listen tcp://:7004 'who?'         if the respondents dial";
const RESPOND: &str = "Examples:
  wigwag respond tcp://:7004 --exec hostname
  wigwag respond --dial tcp://127.0.0.1:7004 'me'   if the surveyor listens";
const PAIR: &str = "Examples:
  wigwag pair --listen tcp://:7005                  a chat: lines in, lines out
  wigwag pair tcp://127.0.0.1:7005
  wigwag pair --v0 tcp://127.0.0.1:7005 hi --count 0   with nanomsg; send and exit";
const BUS: &str = "Examples:
  wigwag bus --listen tcp://:7006
  wigwag bus tcp://127.0.0.1:7006 hi --count 1      send, and print the first message
  wigwag bus tcp://127.0.0.1:7006 --and-listen tcp://:7007";
const STAR: &str = "Examples:
  wigwag star --listen tcp://:7008
  wigwag star tcp://127.0.0.1:7008 hi --count 0     send and exit";

/// Arguments of all socket commands.
#[derive(Args)]
pub(crate) struct CommonArguments {
    /// Addresses (tcp://HOST:PORT, ipc://PATH), followed by the text to send or the topics
    #[arg(value_name = "URL", required_unless_present_any = ["and_listen", "and_dial"])]
    pub(super) words: Vec<String>,
    /// Listen at the addresses [default for rep, pull, pub and respond]; without a host, on every interface
    #[arg(long, visible_alias = "bind", conflicts_with = "dial")]
    pub(super) listen: bool,
    /// Dial the addresses [default for all others]; without a host, this machine
    #[arg(long, visible_alias = "connect")]
    pub(super) dial: bool,
    /// Listen at this address as well
    #[arg(long, value_name = "URL")]
    pub(super) and_listen: Vec<String>,
    /// Dial this address as well
    #[arg(long, value_name = "URL")]
    pub(super) and_dial: Vec<String>,
    /// Time to wait for a peer [default: 1s when dialing, no limit when listening; 0: do not wait]
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub(super) wait: Option<Duration>,
    /// Largest received message, in bytes
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1MiB")]
    pub(super) receive_limit: usize,
    /// Number of messages after which the command ends
    #[arg(long, value_name = "N")]
    pub(super) count: Option<u64>,
    /// Time limit for each send, reply, survey, receive or --exec command
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub(super) deadline: Option<Duration>,
    /// Print a JSON document for each message, and one on standard error at the end
    #[arg(long)]
    pub(super) json: bool,
    /// Print nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    pub(super) quiet: bool,
    /// Print every connection that opens or closes
    #[arg(short, long)]
    pub(super) verbose: bool,
    #[command(flatten)]
    pub(super) tls: TlsArguments,
}

/// Arguments for the messages to send.
#[derive(Args)]
pub(crate) struct OutgoingArguments {
    /// Send this text [default: each line of standard input]
    #[arg(long, value_name = "TEXT")]
    pub(super) data: Option<String>,
    /// Send this file as one message
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    pub(super) file: Option<PathBuf>,
    /// Send all of standard input as one message
    #[arg(long, conflicts_with_all = ["data", "file"])]
    pub(super) whole: bool,
    /// Time between two messages; a text or file is sent repeatedly
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    pub(super) interval: Option<Duration>,
}

/// Arguments for printing received messages.
#[derive(Args)]
pub(crate) struct IncomingArguments {
    /// Format of printed messages [default: line; rep and respond print nothing]
    #[arg(long, value_enum, conflicts_with = "json")]
    pub(super) format: Option<Format>,
}

#[derive(Args)]
pub(crate) struct AskArguments {
    #[command(flatten)]
    pub(super) common: CommonArguments,
    #[command(flatten)]
    pub(super) outgoing: OutgoingArguments,
    #[command(flatten)]
    pub(super) incoming: IncomingArguments,
}

#[derive(Args)]
pub(crate) struct AnswerArguments {
    #[command(flatten)]
    pub(super) common: CommonArguments,
    /// Answer with the output of this shell command, which reads the request as its input
    #[arg(long, value_name = "COMMAND")]
    pub(super) exec: Option<String>,
    /// Number of commands that may run at once
    #[arg(long, value_name = "N", requires = "exec", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=JOBS_MAX))]
    pub(super) jobs: u64,
    /// Keep the final line end of the command's output in the reply
    #[arg(long, requires = "exec")]
    pub(super) keep_line_end: bool,
    /// Answer with the request
    #[arg(long, conflicts_with = "exec")]
    pub(super) echo: bool,
    /// Answer with this text
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["exec", "echo"])]
    pub(super) data: Option<String>,
    /// Answer with this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["exec", "echo", "data"])]
    pub(super) file: Option<PathBuf>,
    #[command(flatten)]
    pub(super) incoming: IncomingArguments,
}

#[derive(Args)]
pub(crate) struct SendArguments {
    #[command(flatten)]
    pub(super) common: CommonArguments,
    #[command(flatten)]
    pub(super) outgoing: OutgoingArguments,
}

#[derive(Args)]
pub(crate) struct ReceiveArguments {
    #[command(flatten)]
    pub(super) common: CommonArguments,
    #[command(flatten)]
    pub(super) incoming: IncomingArguments,
    /// Run this shell command for each message instead of printing it
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["format", "json"])]
    pub(super) exec: Option<String>,
    /// Number of commands that may run at once; with more than one, each prints its output when it ends
    #[arg(long, value_name = "N", requires = "exec", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=JOBS_MAX))]
    pub(super) jobs: u64,
}

#[derive(Args)]
pub(crate) struct TalkArguments {
    #[command(flatten)]
    pub(super) common: CommonArguments,
    #[command(flatten)]
    pub(super) outgoing: OutgoingArguments,
    #[command(flatten)]
    pub(super) incoming: IncomingArguments,
    /// Send back every received message
    #[arg(long, conflicts_with_all = ["data", "file", "whole"])]
    pub(super) echo: bool,
}

#[derive(Args)]
pub(crate) struct PairArguments {
    #[command(flatten)]
    pub(super) talks: TalkArguments,
    /// Use pair version 0, the only version that nanomsg supports
    #[arg(long)]
    pub(super) v0: bool,
}
