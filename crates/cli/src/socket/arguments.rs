//! What may be typed behind `wigwag req` and the others, and the session that comes of it.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use wigwag::Bytes;

use super::any::Socket;
use super::connect::{Plan, WAIT};
use super::exec::Exec;
use super::format::Format;
use super::input::{Input, whole};
use super::news::{Loudness, News};
use super::place::{How, Place, split};
use super::role::Role;
use super::session::{Pace, Session, Settings, Show, Stop};
use super::work::{self, Answer};
use crate::exit::{Code, Failed};
use crate::{calls, units};

/// How long a reply may take, unless something else is asked for: as `wigwag ask` has it.
const REPLY_TIME: Duration = Duration::from_secs(5);

/// How long answers to a survey count; the same in nanomsg, NNG and mangos.
const SURVEY_TIME: Duration = Duration::from_secs(1);

/// Commands of `--exec` that may run at once: each is a process with two pipes.
const JOBS_MAX: u64 = 256;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Ask, and print the replies
    #[command(after_help = REQ, override_usage = "wigwag req [OPTIONS] URL... [TEXT]")]
    Req(Asks),
    /// Answer requests
    #[command(after_help = REP, override_usage = "wigwag rep [OPTIONS] URL... [TEXT]")]
    Rep(Answers),
    /// Send to every subscriber
    #[command(after_help = PUB, override_usage = "wigwag pub [OPTIONS] URL... [TEXT]")]
    Pub(Sends),
    /// Print what begins with a topic
    #[command(after_help = SUB, override_usage = "wigwag sub [OPTIONS] URL... [TOPIC]...")]
    Sub(Receives),
    /// Send each message to one of the pullers
    #[command(after_help = PUSH, override_usage = "wigwag push [OPTIONS] URL... [TEXT]")]
    Push(Sends),
    /// Print what is pushed
    #[command(after_help = PULL, override_usage = "wigwag pull [OPTIONS] URL...")]
    Pull(Receives),
    /// Ask everybody, and print the answers that come in time
    #[command(after_help = SURVEY, override_usage = "wigwag survey [OPTIONS] URL... [TEXT]")]
    Survey(Asks),
    /// Answer surveys
    #[command(after_help = RESPOND, override_usage = "wigwag respond [OPTIONS] URL... [TEXT]")]
    Respond(Answers),
    /// Talk to one peer
    #[command(after_help = PAIR, override_usage = "wigwag pair [OPTIONS] URL... [TEXT]")]
    Pair(Pairs),
    /// Talk to all who are connected
    #[command(after_help = BUS, override_usage = "wigwag bus [OPTIONS] URL... [TEXT]")]
    Bus(Talks),
    /// Talk to all, and pass on what comes
    #[command(after_help = STAR, override_usage = "wigwag star [OPTIONS] URL... [TEXT]")]
    Star(Talks),
}

const REQ: &str = "Examples:
  wigwag req tcp://127.0.0.1:7001 hello                      one request, and its reply
  wigwag req tcp://127.0.0.1:7001 < requests.txt             one for each line
  wigwag req tcp://127.0.0.1:7001 ping --interval 1s -v      until Ctrl-C
  wigwag req tcp://127.0.0.1:7001 '{\"a\":2}' --json           the reply as a document";
const REP: &str = "Examples:
  wigwag rep tcp://:7001 --echo                 every request is its own reply
  wigwag rep tcp://:7001 --exec 'jq .a+.b'      a command answers; WIGWAG_SEQ and, with one
                                                peer, WIGWAG_PEER are in its environment
  wigwag rep tcp://:7001 OK --format line       always the same, and requests are printed
A request whose command fails gets no reply, and the command says so.";
const PUB: &str = "Examples:
  tail -f weather.log | wigwag pub tcp://:7003           a message for each line
  wigwag pub tcp://:7003 'weather. rain' --interval 1s   the same one, every second
It waits for the first subscriber; --wait 0 does not.";
const SUB: &str = "Examples:
  wigwag sub tcp://127.0.0.1:7003 weather. news.    two topics
  wigwag sub tcp://127.0.0.1:7003 | head -3         everything, three times";
const PUSH: &str = "Examples:
  wigwag push tcp://127.0.0.1:7002 < jobs.txt       a message for each line
  wigwag push tcp://127.0.0.1:7002 --file job.bin   a file as one message";
const PULL: &str = "Examples:
  wigwag pull tcp://:7002                           print what comes
  wigwag pull tcp://:7002 --exec ./work --jobs 4    a command for each, four at once
  wigwag pull --dial tcp://127.0.0.1:7002           where the pusher listens";
const SURVEY: &str = "Examples:
  wigwag survey tcp://127.0.0.1:7004 'who?' --deadline 200ms
  wigwag survey --listen tcp://:7004 'who?'         where the respondents dial";
const RESPOND: &str = "Examples:
  wigwag respond tcp://:7004 --exec hostname
  wigwag respond --dial tcp://127.0.0.1:7004 'me'   where the surveyor listens";
const PAIR: &str = "Examples:
  wigwag pair --listen tcp://:7005                  a chat: lines in, lines out
  wigwag pair tcp://127.0.0.1:7005
  wigwag pair --v0 tcp://127.0.0.1:7005 hi --count 0   with nanomsg; say it and go";
const BUS: &str = "Examples:
  wigwag bus --listen tcp://:7006
  wigwag bus tcp://127.0.0.1:7006 hi --count 1      say it, and print the first message
  wigwag bus tcp://127.0.0.1:7006 --and-listen tcp://:7007";
const STAR: &str = "Examples:
  wigwag star --listen tcp://:7008
  wigwag star tcp://127.0.0.1:7008 hi --count 0     say it and go";

/// What all of them take.
#[derive(Args)]
pub(crate) struct Common {
    /// Addresses (tcp://HOST:PORT, ipc://PATH), and behind them what is sent or subscribed to
    #[arg(value_name = "URL", required_unless_present_any = ["and_listen", "and_dial"])]
    words: Vec<String>,
    /// Listen there [rep, pull, pub and respond do]; without a host, on every interface
    #[arg(long, visible_alias = "bind", conflicts_with = "dial")]
    listen: bool,
    /// Dial there [all others do]; without a host, this machine
    #[arg(long, visible_alias = "connect")]
    dial: bool,
    /// Listen there besides
    #[arg(long, value_name = "URL")]
    and_listen: Vec<String>,
    /// Dial there besides
    #[arg(long, value_name = "URL")]
    and_dial: Vec<String>,
    /// Time for a peer to come up [default: 1s to be dialled, any to come to us; 0: send to nobody]
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    wait: Option<Duration>,
    /// Bytes that a received message may have
    #[arg(long, value_name = "SIZE", value_parser = units::size, default_value = "1MiB")]
    receive_limit: usize,
    /// Messages until it ends
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Time that one send, reply, survey, wait for a message or --exec may take
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    deadline: Option<Duration>,
    /// A JSON document for each message, and one on standard error at the end
    #[arg(long)]
    json: bool,
    /// Say nothing but errors
    #[arg(short, long, conflicts_with = "verbose")]
    quiet: bool,
    /// Say who comes and goes
    #[arg(short, long)]
    verbose: bool,
}

/// What is sent.
#[derive(Args)]
pub(crate) struct Outgoing {
    /// Send this text [default: each line of standard input]
    #[arg(long, value_name = "TEXT")]
    data: Option<String>,
    /// Send this file as one message
    #[arg(long, value_name = "FILE", conflicts_with = "data")]
    file: Option<PathBuf>,
    /// Send all of standard input as one message
    #[arg(long, conflicts_with_all = ["data", "file"])]
    whole: bool,
    /// Time between two messages; a text or file is sent again and again then
    #[arg(long, value_name = "TIME", value_parser = units::time)]
    interval: Option<Duration>,
}

/// How messages are printed.
#[derive(Args)]
pub(crate) struct Incoming {
    /// How messages are printed [default: line; rep and respond print nothing]
    #[arg(long, value_enum, conflicts_with = "json")]
    format: Option<Format>,
}

#[derive(Args)]
pub(crate) struct Asks {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    outgoing: Outgoing,
    #[command(flatten)]
    incoming: Incoming,
}

#[derive(Args)]
pub(crate) struct Answers {
    #[command(flatten)]
    common: Common,
    /// Answer with what this command of the shell prints when it reads the request
    #[arg(long, value_name = "COMMAND")]
    exec: Option<String>,
    /// A line end that closes the command's output belongs to the reply
    #[arg(long, requires = "exec")]
    keep_line_end: bool,
    /// Answer with the request
    #[arg(long, conflicts_with = "exec")]
    echo: bool,
    /// Answer with this text
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["exec", "echo"])]
    data: Option<String>,
    /// Answer with this file
    #[arg(long, value_name = "FILE", conflicts_with_all = ["exec", "echo", "data"])]
    file: Option<PathBuf>,
    #[command(flatten)]
    incoming: Incoming,
}

#[derive(Args)]
pub(crate) struct Sends {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    outgoing: Outgoing,
}

#[derive(Args)]
pub(crate) struct Receives {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    incoming: Incoming,
    /// Give each message to this command of the shell instead of printing it
    #[arg(long, value_name = "COMMAND", conflicts_with_all = ["format", "json"])]
    exec: Option<String>,
    /// Commands that may run at once
    #[arg(long, value_name = "N", requires = "exec", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=JOBS_MAX))]
    jobs: u64,
}

#[derive(Args)]
pub(crate) struct Talks {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    outgoing: Outgoing,
    #[command(flatten)]
    incoming: Incoming,
    /// Send back what comes
    #[arg(long, conflicts_with_all = ["data", "file", "whole"])]
    echo: bool,
}

#[derive(Args)]
pub(crate) struct Pairs {
    #[command(flatten)]
    talks: Talks,
    /// Pair of version 0, the only one that nanomsg has
    #[arg(long)]
    v0: bool,
}

impl Command {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        match self {
            Command::Req(asks) => asks.run(Role::Req, REPLY_TIME),
            Command::Survey(asks) => asks.run(Role::Survey, SURVEY_TIME),
            Command::Rep(answers) => answers.run(Role::Rep),
            Command::Respond(answers) => answers.run(Role::Respond),
            Command::Pub(sends) => sends.run(Role::Pub),
            Command::Push(sends) => sends.run(Role::Push),
            Command::Sub(receives) => receives.run(Role::Sub),
            Command::Pull(receives) => receives.run(Role::Pull),
            Command::Pair(Pairs { talks, v0: true }) => talks.run(Role::Pair0),
            Command::Pair(Pairs { talks, v0: false }) => talks.run(Role::Pair),
            Command::Bus(talks) => talks.run(Role::Bus),
            Command::Star(talks) => talks.run(Role::Star),
        }
    }
}

impl Asks {
    fn run(mut self, role: Role, time: Duration) -> Result<Code, Failed> {
        self.common.deadline = self.common.deadline.or(Some(time));
        let asked = self.common.read()?;
        let text = asked.text()?;
        let input = self.outgoing.input(text, self.common.count)?;
        let pace = Pace::new(self.outgoing.interval);
        let format = self.incoming.format.or(Some(Format::Line));
        self.common.run(role, format, &asked, async |session| match role {
            Role::Survey => work::survey(session, input, pace).await,
            _ => work::ask(session, input, pace).await,
        })
    }
}

impl Answers {
    fn run(self, role: Role) -> Result<Code, Failed> {
        let asked = self.common.read()?;
        let text = asked.text()?.or(self.data.as_deref());
        let deadline = self.common.deadline;
        let answer = match (&self.exec, self.echo, text, &self.file) {
            (Some(command), false, None, None) => {
                Answer::Exec(Exec::new(command, deadline, self.keep_line_end))
            }
            (None, true, None, None) => Answer::Echo,
            (None, false, Some(text), None) => Answer::Fixed(Bytes::from(text.to_owned())),
            (None, false, None, Some(file)) => Answer::Fixed(whole(file)?),
            _ => {
                let mend =
                    "say how to answer, in one way: --echo, --exec COMMAND, --file FILE, or a text";
                return Err(Failed::told(
                    Code::Usage,
                    "it is not clear how to answer",
                    &asked.at,
                    mend,
                ));
            }
        };
        let (format, count) = (self.incoming.format, self.common.count);
        self.common
            .run(role, format, &asked, async |session| work::answer(session, &answer, count).await)
    }
}

impl Sends {
    fn run(self, role: Role) -> Result<Code, Failed> {
        let asked = self.common.read()?;
        let input = self.outgoing.input(asked.text()?, self.common.count)?;
        let pace = Pace::new(self.outgoing.interval);
        self.common.run(role, None, &asked, async |session| work::send(session, input, pace).await)
    }
}

impl Receives {
    fn run(self, role: Role) -> Result<Code, Failed> {
        let asked = self.common.read()?;
        if role == Role::Pull && !asked.rest.is_empty() {
            return Err(asked.too_much());
        }
        let deadline = self.common.deadline;
        let exec = self.exec.as_deref().map(|command| Exec::new(command, deadline, false));
        let format = self.incoming.format.or(Some(Format::Line));
        // The range of the argument keeps it small.
        let jobs = self.jobs as usize;
        let count = self.common.count;
        self.common.run(role, format, &asked, async |session| {
            work::receive(session, exec.as_ref(), jobs, count).await
        })
    }
}

impl Talks {
    fn run(self, role: Role) -> Result<Code, Failed> {
        let asked = self.common.read()?;
        let text = asked.text()?;
        let input = match self.echo && text.is_none() {
            true => Input::Silence,
            false => self.outgoing.input(text, None)?,
        };
        let pace = Pace::new(self.outgoing.interval);
        let format = self.incoming.format.or(Some(Format::Line));
        let (echo, count) = (self.echo, self.common.count);
        self.common.run(role, format, &asked, async |session| {
            work::talk(session, input, pace, echo, count).await
        })
    }
}

impl Outgoing {
    /// Messages as asked for; `text` is what stood behind the addresses.
    fn input(&self, text: Option<&str>, count: Option<u64>) -> Result<Input, Failed> {
        let fixed = match (text, &self.data, &self.file, self.whole) {
            (None, None, None, false) => return Ok(Input::lines(count)),
            (Some(text), None, None, false) => Bytes::from(text.to_owned()),
            (None, Some(text), None, false) => Bytes::from(text.clone()),
            (None, None, Some(file), false) => whole(file)?,
            (None, None, None, true) => whole("-".as_ref())?,
            _ => {
                let mend = "give a text, --data, --file or --whole, and only one of them";
                let what = "it is not clear what to send";
                return Err(Failed::told(Code::Usage, what, "the command line", mend));
            }
        };
        let once = self.interval.is_none().then_some(1);
        Ok(Input::fixed(fixed, count.or(once)))
    }
}

/// The words of the command line, sorted.
struct Asked {
    addresses: Vec<String>,
    rest: Vec<String>,
    /// The first address, for errors.
    at: String,
}

impl Asked {
    /// The text behind the addresses.
    fn text(&self) -> Result<Option<&str>, Failed> {
        match self.rest.as_slice() {
            [] => Ok(None),
            [text] => Ok(Some(text)),
            _ => Err(self.too_much()),
        }
    }

    fn too_much(&self) -> Failed {
        let what = format!("{} words stand behind the addresses", self.rest.len());
        Failed::told(Code::Usage, &what, &self.at, "put quotes around a text that has spaces")
    }
}

impl Common {
    fn read(&self) -> Result<Asked, Failed> {
        let (addresses, rest) = split(&self.words)?;
        let at = self.words.iter().chain(&self.and_listen).chain(&self.and_dial).next();
        let at = at.cloned().unwrap_or_default();
        Ok(Asked { addresses: addresses.to_vec(), rest: rest.to_vec(), at })
    }

    fn places(&self, role: Role, asked: &Asked) -> Vec<Place> {
        let how = match (self.listen, self.dial) {
            (true, _) => How::Listen,
            (_, true) => How::Dial,
            _ => role.how(),
        };
        let place = |how| move |address: &String| Place::new(how, address);
        let addresses = asked.addresses.iter().map(place(how));
        let listens = self.and_listen.iter().map(place(How::Listen));
        addresses.chain(listens).chain(self.and_dial.iter().map(place(How::Dial))).collect()
    }

    fn loudness(&self) -> Loudness {
        match (self.quiet, self.verbose) {
            (true, _) => Loudness::Quiet,
            (_, true) => Loudness::Verbose,
            _ => Loudness::Normal,
        }
    }

    /// Makes the socket, connects it, and does `work`.
    fn run(
        &self,
        role: Role,
        format: Option<Format>,
        asked: &Asked,
        work: impl AsyncFnOnce(&mut Session) -> Result<(), Stop>,
    ) -> Result<Code, Failed> {
        let news = News::start(self.loudness());
        let places = self.places(role, asked);
        let text = asked.rest.first().map_or("hello", String::as_str);
        calls::run(|| async move {
            let socket = Socket::new(role);
            socket.set_receive_limit(self.receive_limit);
            self.prepare(&socket, asked)?;
            let settings = Settings {
                role,
                socket,
                news,
                show: Show { format, json: self.json, quiet: self.quiet, verbose: self.verbose },
                wait: self.wait.or_else(|| dials_all(&places).then_some(WAIT)),
                deadline: self.deadline,
                at: format!("{}, {}", role.number(), words(&places)),
            };
            let plan = Plan { role, places: &places, wait: self.wait.unwrap_or(WAIT), text };
            Session::new(settings).run(&plan, work).await
        })
    }

    /// What must be set before the first peer comes.
    fn prepare(&self, socket: &Socket, asked: &Asked) -> Result<(), Failed> {
        match socket {
            Socket::Sub(sub) if asked.rest.is_empty() => sub.subscribe("")?,
            Socket::Sub(sub) => {
                for topic in &asked.rest {
                    sub.subscribe(topic.clone())?;
                }
            }
            Socket::Survey(surveyor) => surveyor.set_survey_time(self.deadline),
            _ => {}
        }
        Ok(())
    }
}

/// True when nobody is expected to come by himself.
fn dials_all(places: &[Place]) -> bool {
    places.iter().all(|place| place.how == How::Dial)
}

fn words(places: &[Place]) -> String {
    let words = places.iter().map(|Place { how, address }| match how {
        How::Dial => format!("dials {address}"),
        How::Listen => format!("listens at {address}"),
    });
    words.collect::<Vec<_>>().join(", ")
}
