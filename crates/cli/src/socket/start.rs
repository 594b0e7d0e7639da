//! Turns a parsed command line into a session.

use std::time::Duration;

use wigwag::Bytes;

use super::any::Socket;
use super::arguments::{
    AnswerArguments, AskArguments, CommonArguments, OutgoingArguments, PairArguments,
    ReceiveArguments, SendArguments, SocketCommand, TalkArguments,
};
use super::endpoint::{ConnectMode, Endpoint, split};
use super::role::Role;
use super::session::{DisplayOptions, Pacer, Session, SessionConfig, StopReason};
use super::work::{self, ReplySource};
use crate::exit::{Code, Failed};
use crate::runtime;
use crate::socket::connections::connect::{ConnectPlan, DIAL_WAIT};
use crate::socket::connections::event_log::{EventLog, Verbosity};
use crate::socket::messages::exec::Exec;
use crate::socket::messages::format::Format;
use crate::socket::messages::input::{Input, whole};
use crate::socket::messages::jobs;

/// Default time limit for a reply, as in `wigwag ask`.
const REPLY_TIME: Duration = Duration::from_secs(5);

/// Default survey time, as in nanomsg, NNG and mangos.
const SURVEY_TIME: Duration = Duration::from_secs(1);

impl SocketCommand {
    pub(crate) fn run(self) -> Result<Code, Failed> {
        match self {
            SocketCommand::Req(arguments) => arguments.run(Role::Req, REPLY_TIME),
            SocketCommand::Survey(arguments) => arguments.run(Role::Survey, SURVEY_TIME),
            SocketCommand::Rep(arguments) => arguments.run(Role::Rep),
            SocketCommand::Respond(arguments) => arguments.run(Role::Respond),
            SocketCommand::Pub(arguments) => arguments.run(Role::Pub),
            SocketCommand::Push(arguments) => arguments.run(Role::Push),
            SocketCommand::Sub(arguments) => arguments.run(Role::Sub),
            SocketCommand::Pull(arguments) => arguments.run(Role::Pull),
            SocketCommand::Pair(PairArguments { talks, v0: true }) => talks.run(Role::Pair0),
            SocketCommand::Pair(PairArguments { talks, v0: false }) => talks.run(Role::Pair),
            SocketCommand::Bus(talks) => talks.run(Role::Bus),
            SocketCommand::Star(talks) => talks.run(Role::Star),
        }
    }
}

impl AskArguments {
    fn run(mut self, role: Role, time: Duration) -> Result<Code, Failed> {
        self.common.deadline = self.common.deadline.or(Some(time));
        let parsed = self.common.read()?;
        let text = parsed.text()?;
        let input = self.outgoing.input(text, self.common.count)?;
        let pacer = Pacer::new(self.outgoing.interval);
        let format = self.incoming.format.or(Some(Format::Line));
        self.common.run(role, format, &parsed, async |session| match role {
            Role::Survey => work::survey(session, input, pacer).await,
            _ => work::ask(session, input, pacer).await,
        })
    }
}

impl AnswerArguments {
    fn run(self, role: Role) -> Result<Code, Failed> {
        let parsed = self.common.read()?;
        let text = parsed.text()?.or(self.data.as_deref());
        let deadline = self.common.deadline;
        let answer = match (&self.exec, self.echo, text, &self.file) {
            (Some(command), false, None, None) => {
                ReplySource::Exec(Exec::new(command, deadline, self.keep_line_end))
            }
            (None, true, None, None) => ReplySource::Echo,
            (None, false, Some(text), None) => ReplySource::Fixed(Bytes::from(text.to_owned())),
            (None, false, None, Some(file)) => ReplySource::Fixed(whole(file)?),
            _ => {
                let hint =
                    "say how to answer, in one way: --echo, --exec COMMAND, --file FILE, or a text";
                return Err(Failed::with_hint(
                    Code::Usage,
                    "it is not clear how to answer",
                    &parsed.at,
                    hint,
                ));
            }
        };
        let (format, count) = (self.incoming.format, self.common.count);
        self.common.run(role, format, &parsed, async |session| match &answer {
            // The range of the argument keeps it small.
            ReplySource::Exec(exec) if self.jobs > 1 => {
                jobs::answer(session, exec, self.jobs as usize, count).await
            }
            answer => work::answer(session, answer, count).await,
        })
    }
}

impl SendArguments {
    fn run(self, role: Role) -> Result<Code, Failed> {
        let parsed = self.common.read()?;
        let input = self.outgoing.input(parsed.text()?, self.common.count)?;
        let pacer = Pacer::new(self.outgoing.interval);
        self.common
            .run(role, None, &parsed, async |session| work::send(session, input, pacer).await)
    }
}

impl ReceiveArguments {
    fn run(self, role: Role) -> Result<Code, Failed> {
        let parsed = self.common.read()?;
        if role == Role::Pull && !parsed.rest.is_empty() {
            return Err(parsed.no_words());
        }
        let deadline = self.common.deadline;
        let exec = self.exec.as_deref().map(|command| Exec::new(command, deadline, true));
        let format = self.incoming.format.or(Some(Format::Line));
        // The range of the argument keeps it small.
        let jobs = self.jobs as usize;
        let count = self.common.count;
        self.common.run(role, format, &parsed, async |session| {
            work::receive(session, exec.as_ref(), jobs, count).await
        })
    }
}

impl TalkArguments {
    fn run(self, role: Role) -> Result<Code, Failed> {
        let parsed = self.common.read()?;
        let text = parsed.text()?;
        let input = match self.echo && text.is_none() {
            true => Input::Empty,
            false => self.outgoing.input(text, None)?,
        };
        let pacer = Pacer::new(self.outgoing.interval);
        let format = self.incoming.format.or(Some(Format::Line));
        let (echo, count) = (self.echo, self.common.count);
        self.common.run(role, format, &parsed, async |session| {
            work::talk(session, input, pacer, echo, count).await
        })
    }
}

impl OutgoingArguments {
    /// The source of messages; `text` is the word after the addresses.
    fn input(&self, text: Option<&str>, count: Option<u64>) -> Result<Input, Failed> {
        let fixed = match (text, &self.data, &self.file, self.whole) {
            (None, None, None, false) => return Ok(Input::lines(count)),
            (Some(text), None, None, false) => Bytes::from(text.to_owned()),
            (None, Some(text), None, false) => Bytes::from(text.clone()),
            (None, None, Some(file), false) => whole(file)?,
            (None, None, None, true) => whole("-".as_ref())?,
            _ => {
                let hint = "give a text, --data, --file or --whole, and only one of them";
                let what = "it is not clear what to send";
                return Err(Failed::with_hint(Code::Usage, what, "the command line", hint));
            }
        };
        let once = self.interval.is_none().then_some(1);
        Ok(Input::fixed(fixed, count.or(once)))
    }
}

/// The words of the command line, split into addresses and the rest.
struct ParsedWords {
    addresses: Vec<String>,
    rest: Vec<String>,
    /// The first address, for errors.
    at: String,
}

impl ParsedWords {
    /// The text after the addresses, at most one word.
    fn text(&self) -> Result<Option<&str>, Failed> {
        match self.rest.as_slice() {
            [] => Ok(None),
            [text] => Ok(Some(text)),
            _ => Err(self.too_many_words()),
        }
    }

    fn no_words(&self) -> Failed {
        let what = format!("pull takes addresses alone, and not {:?}", self.rest[0]);
        Failed::with_hint(Code::Usage, &what, &self.at, "leave it out, or send it: wigwag push")
    }

    fn too_many_words(&self) -> Failed {
        let what = format!("{} words follow the addresses", self.rest.len());
        Failed::with_hint(Code::Usage, &what, &self.at, "put quotes around a text that has spaces")
    }
}

impl CommonArguments {
    fn read(&self) -> Result<ParsedWords, Failed> {
        let (addresses, rest) = split(&self.words)?;
        let at = self.words.iter().chain(&self.and_listen).chain(&self.and_dial).next();
        let at = at.cloned().unwrap_or_default();
        Ok(ParsedWords { addresses: addresses.to_vec(), rest: rest.to_vec(), at })
    }

    fn endpoints(&self, role: Role, parsed: &ParsedWords) -> Vec<Endpoint> {
        let mode = match (self.listen, self.dial) {
            (true, _) => ConnectMode::Listen,
            (_, true) => ConnectMode::Dial,
            _ => role.default_mode(),
        };
        let endpoint = |mode| move |address: &String| Endpoint::new(mode, address);
        let addresses = parsed.addresses.iter().map(endpoint(mode));
        let listens = self.and_listen.iter().map(endpoint(ConnectMode::Listen));
        addresses
            .chain(listens)
            .chain(self.and_dial.iter().map(endpoint(ConnectMode::Dial)))
            .collect()
    }

    fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }

    /// Creates the socket, connects it, and runs `work`.
    fn run(
        &self,
        role: Role,
        format: Option<Format>,
        parsed: &ParsedWords,
        work: impl AsyncFnOnce(&mut Session) -> Result<(), StopReason>,
    ) -> Result<Code, Failed> {
        let log = EventLog::start(self.verbosity());
        let endpoints = self.endpoints(role, parsed);
        let text = parsed.rest.first().map_or("hello", String::as_str);
        runtime::run(|| async move {
            let socket = Socket::new(role);
            socket.set_receive_limit(self.receive_limit);
            self.prepare(&socket, parsed)?;
            let config = SessionConfig {
                role,
                socket,
                log,
                display: DisplayOptions {
                    format,
                    json: self.json,
                    quiet: self.quiet,
                    verbose: self.verbose,
                },
                wait: self.wait.or_else(|| dials_all(&endpoints).then_some(DIAL_WAIT)),
                deadline: self.deadline,
                at: format!("{}, {}", role.number(), describe(&endpoints)),
            };
            let plan = ConnectPlan {
                role,
                endpoints: &endpoints,
                wait: self.wait.unwrap_or(DIAL_WAIT),
                text,
                tls: &self.tls,
            };
            Session::new(config).run(&plan, work).await
        })
    }

    /// Sets the options that must be set before the first peer connects.
    fn prepare(&self, socket: &Socket, parsed: &ParsedWords) -> Result<(), Failed> {
        match socket {
            Socket::Sub(sub) if parsed.rest.is_empty() => sub.subscribe("")?,
            Socket::Sub(sub) => {
                for topic in &parsed.rest {
                    sub.subscribe(topic.clone())?;
                }
            }
            Socket::Survey(surveyor) => surveyor.set_survey_time(self.deadline),
            _ => {}
        }
        Ok(())
    }
}

/// True if no endpoint listens.
fn dials_all(endpoints: &[Endpoint]) -> bool {
    endpoints.iter().all(|endpoint| endpoint.mode == ConnectMode::Dial)
}

fn describe(endpoints: &[Endpoint]) -> String {
    let words = endpoints.iter().map(|Endpoint { mode, address }| match mode {
        ConnectMode::Dial => format!("dials {address}"),
        ConnectMode::Listen => format!("listens at {address}"),
    });
    words.collect::<Vec<_>>().join(", ")
}
