//! The session that comes of what was typed.

use std::time::Duration;

use wigwag::Bytes;

use super::any::Socket;
use super::arguments::{Answers, Asks, Command, Common, Outgoing, Pairs, Receives, Sends, Talks};
use super::connect::{Plan, WAIT};
use super::exec::Exec;
use super::format::Format;
use super::input::{Input, whole};
use super::jobs;
use super::news::{Loudness, News};
use super::place::{How, Place, split};
use super::role::Role;
use super::session::{Pace, Session, Settings, Show, Stop};
use super::work::{self, Answer};
use crate::calls;
use crate::exit::{Code, Failed};

/// How long a reply may take, unless something else is asked for: as `wigwag ask` has it.
const REPLY_TIME: Duration = Duration::from_secs(5);

/// How long answers to a survey count; the same in nanomsg, NNG and mangos.
const SURVEY_TIME: Duration = Duration::from_secs(1);

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
        self.common.run(role, format, &asked, async |session| match &answer {
            // The range of the argument keeps it small.
            Answer::Exec(exec) if self.jobs > 1 => {
                jobs::answer(session, exec, self.jobs as usize, count).await
            }
            answer => work::answer(session, answer, count).await,
        })
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
        let exec = self.exec.as_deref().map(|command| Exec::new(command, deadline, true));
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
