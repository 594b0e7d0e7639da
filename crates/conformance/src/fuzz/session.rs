//! A whole session with two ends: it opens, calls, is cut anywhere, resumes, and closes.
//!
//! The bytes are a `script`: who does what next, and how many bytes of the connection are
//! written, carried or lost. Both ends are the machines of `wigwag_sim`, which are those of a node;
//! `node` is what uses them, and keeps plain sums of its own. After each step the
//! `judge` compares, and at the end nothing more is lost, so everything must have arrived.

mod judge;
mod line;
mod log;
mod node;
mod reading;
mod resuming;
mod script;
mod seeds;

use std::time::Duration;

use wigwag_link::resume::{Credentials, Ticket, TicketVerifier};
use wigwag_link::{Identity, LinkError, SendHalf, features};
use wigwag_sim::peer::{Arrived, Event, Faults, Peer, PeerError, Role, Session};
use wigwag_wire::{ConnectionStateMachine, Time};

pub(crate) use line::{DIALER, End, LISTENER, Line};
pub(crate) use node::Node;
pub(crate) use reading::{Broken, Reading};
pub(crate) use script::{Profile, Script};
pub use seeds::seeds;

use crate::fuzz::{Verdict, ensure};

/// The session's id, and the first token. Others follow by counting.
const SESSION: u128 = 77;
const TOKEN: u128 = 1000;

/// Steps of a script at most: what follows would only take time.
const STEPS_MAX: usize = 400;

/// What each step of the clock may be.
const MILLISECONDS: [u64; 8] = [1, 5, 10, 100, 1000, 2500, 3000, 20_000];

/// Where a session is.
#[derive(Debug)]
enum Place {
    /// On a connection.
    On(usize),
    /// Nowhere: it has lost its connection.
    Parked(Box<Session>),
}

/// Two nodes, and the connections between them.
#[derive(Debug)]
struct World {
    now: Time,
    profile: Profile,
    /// Planted errors of the listener.
    faults: Faults,
    nodes: [Node; 2],
    places: [Place; 2],
    /// The connections that there were; the last one is the newest.
    lines: Vec<Line>,
    credentials: [Credentials; 2],
    tokens: u128,
    /// The epoch of the last connection on which the listener has let the dialer in.
    epoch: u64,
    /// Nothing can go on: a CLOSE was said or heard.
    is_over: bool,
}

/// What an event asks for, once its borrow has ended.
enum Next {
    Nothing,
    Claim,
    LetIn(wigwag_link::resume::Claim, [u8; wigwag_link::resume::PROOF_BYTES]),
    GoOn(wigwag_link::opening::Resumed),
    Cut,
}

/// Checks a session. The first byte chooses limits, framing and features, the second how the opening
/// is torn; each step is a byte, whose upper bit says who, and what it needs behind it.
pub fn check(input: &[u8]) -> Verdict {
    check_with(Faults::default(), input)
}

/// Checks a session whose listener has planted errors.
pub fn check_with(faults: Faults, input: &[u8]) -> Verdict {
    let mut script = Script::new(input);
    let profile = Profile::read(&mut script);
    let mut world = World::open(profile, faults, script.length())?;
    for _ in 0..STEPS_MAX {
        if script.is_over() || world.is_over {
            break;
        }
        let step = script.byte();
        world.step(step, &mut script)?;
        world.judge()?;
    }
    world.end()
}

/// Who an end says it is on a connection.
pub(crate) fn identity(profile: &Profile, side: usize, line: usize) -> Identity {
    let offered = features::RESUME | if profile.runs { features::RUNS } else { 0 };
    let (node, nonce) = (side as u128 + 1, (2 * line + side) as u128);
    let limits = profile.limits;
    Identity { node, incarnation: 5, nonce, offered, required: 0, limits }
}

/// The listener's part: it keeps sessions that were cut.
pub(crate) const LISTENS: Role = Role::Listener { token: TOKEN, ttl_ms: 60_000 };

/// Both ends of a connection over which a session has opened; bytes go in pieces of `piece`.
pub(crate) fn open_line(profile: &Profile, faults: Faults, piece: usize) -> Result<Line, String> {
    let now = Time::START;
    let roles = [Role::Dialer { session: SESSION }, LISTENS];
    let peer = |side: usize| {
        let peer = Peer::new(profile.framing, identity(profile, side, 0), roles[side], now);
        peer.with_calls_max(profile.calls_max)
    };
    let mut line = Line::new([peer(DIALER), peer(LISTENER).with_faults(faults)], now);
    let mut opened = [false; 2];
    for _ in 0..1000 {
        for from in [DIALER, LISTENER] {
            line.write(from, piece, now);
            line.carry(from, piece, now);
            let end = &mut line.ends[1 - from];
            match end.peer.receive(&mut end.input, now).map_err(|error| error.to_string())? {
                Some(Event::Opened(other)) => {
                    opened[1 - from] = other.session == SESSION && other.token == TOKEN;
                }
                Some(other) => return Err(format!("{other:?} at an opening")),
                None => {}
            }
        }
        if opened == [true; 2] {
            return Ok(line);
        }
    }
    Err(format!("the session does not open: {opened:?}"))
}

impl World {
    fn open(profile: Profile, faults: Faults, piece: usize) -> Result<World, String> {
        let line = open_line(&profile, faults, piece)?;
        let node = || Node::new(profile.limits);
        Ok(World {
            now: Time::START,
            profile,
            faults,
            nodes: [node(), node()],
            places: [Place::On(0), Place::On(0)],
            lines: vec![line],
            credentials: [
                Credentials::Dialer(Ticket::new(SESSION, TOKEN)),
                Credentials::Listener(TicketVerifier::new(TOKEN)),
            ],
            tokens: TOKEN,
            epoch: 0,
            is_over: false,
        })
    }

    /// One step of the script.
    fn step(&mut self, step: u8, script: &mut Script<'_>) -> Verdict {
        let side = usize::from(step >> 7);
        // The newest connection or the one before.
        let line = self.lines.len().saturating_sub(1 + usize::from(step >> 6 & 1));
        match step & 0x3F {
            0..=25 => self.act(side, step & 0x3F, script)?,
            26..=33 => self.lines[line].write(side, script.length(), self.now),
            34..=43 => {
                let most = script.length();
                self.carry(line, side, most, usize::MAX)?;
            }
            44..=45 => {
                let (most, steps) = (script.length(), script.below(8));
                self.carry(line, side, most, steps)?;
            }
            46..=49 => {
                for line in 0..self.lines.len() {
                    self.exchange(line)?;
                }
            }
            50..=51 => self.pass(MILLISECONDS[script.below(MILLISECONDS.len())])?,
            52..=53 => {
                let kept = script.length();
                self.lines[line].lose(side, kept);
                self.lost(line, side)?;
            }
            54..=56 => {
                for side in [side, 1 - side] {
                    let kept = script.length();
                    self.lines[line].lose(side, kept);
                    self.lost(line, side)?;
                }
            }
            57..=61 => self.connect()?,
            _ => self.hurry()?,
        }
        Ok(())
    }

    /// One of the nodes does something with its session.
    fn act(&mut self, side: usize, what: u8, script: &mut Script<'_>) -> Verdict {
        let profile = self.profile;
        let (node, sender) = self.half(side)?;
        let size = |script: &mut Script<'_>| usize::from(script.byte()) * profile.scale;
        match what {
            0..=3 => node.attach(sender)?,
            4..=8 => node.call(sender, (script.below(4), size(script)), false)?,
            9..=13 => node.call(sender, (script.below(4), size(script)), true)?,
            14..=16 => {
                node.turn(sender, (script.below(4), script.below(256)), profile.runs)?;
            }
            17..=20 => {
                let (which, most) = (script.below(4), script.below(16));
                node.handle(sender, which, most, size(script));
            }
            21 => node.cancel(sender, script.below(8)),
            22 => node.detach(sender, script.below(4)),
            23 => node.stop(sender, script.below(4)),
            24 => node.drain(sender),
            _ if script.byte() == 0xC5 => node.close(sender),
            _ => {}
        }
        Ok(())
    }

    /// A node and the sending half of its session, wherever that is.
    fn half(&mut self, side: usize) -> Result<(&mut Node, &mut SendHalf), String> {
        let sender = match &mut self.places[side] {
            Place::On(line) => self.lines[*line].ends[side].peer.sender(),
            Place::Parked(session) => Some(&mut session.sender),
        };
        let sender = sender.ok_or_else(|| format!("node {side} has lost its session"))?;
        Ok((&mut self.nodes[side], sender))
    }

    /// Time passes; who finds the other silent for too long gives the connection up.
    fn pass(&mut self, milliseconds: u64) -> Verdict {
        self.now = self.now + Duration::from_millis(milliseconds);
        for line in 0..self.lines.len() {
            for side in [DIALER, LISTENER] {
                let end = &mut self.lines[line].ends[side];
                let Err(error) = end.tick(self.now) else { continue };
                let silent = self.now.since(end.heard);
                let interval = Duration::from_millis(self.profile.limits.heartbeat_ms);
                let may_end = error == PeerError::Late || silent >= 3 * interval;
                ensure(may_end, || format!("{error} after {silent:?}"))?;
                self.lost(line, side)?;
            }
        }
        Ok(())
    }

    /// Bytes of `from` reach the other end, which reads them.
    fn carry(&mut self, line: usize, from: usize, most: usize, steps: usize) -> Verdict {
        if !self.lines[line].carry(from, most, self.now) {
            return Ok(());
        }
        let side = 1 - from;
        while !self.lines[line].ends[side].over && !self.is_over {
            let Some(next) = self.receive(line, side, steps)? else {
                return Ok(());
            };
            match next {
                Next::Nothing => {}
                Next::Claim => self.claim(line)?,
                Next::LetIn(claim, proof) => self.let_in(line, &claim, &proof)?,
                Next::GoOn(resumed) => self.go_on(line, resumed)?,
                Next::Cut => self.lost(line, side)?,
            }
        }
        Ok(())
    }

    /// What an end makes of the bytes that it has, up to the next event.
    fn receive(&mut self, line: usize, side: usize, steps: usize) -> Result<Option<Next>, String> {
        let World { now, nodes, lines, credentials, is_over, .. } = self;
        let [dialer, listener] = nodes;
        let (node, other) = match side {
            DIALER => (dialer, listener),
            _ => (listener, dialer),
        };
        let end = &mut lines[line].ends[side];
        let event = end.peer.receive(&mut end.input, *now).map_err(|error| error.to_string())?;
        Ok(Some(match event {
            None => return Ok(None),
            Some(Event::Batch(Arrived { dispatcher, sender, message })) => {
                let mut reading = Reading::new(node, sender, Some(&other.said), steps);
                let read = dispatcher.receive(message, *now, &mut reading);
                if reading.is_confirmed {
                    credentials[side].confirm();
                }
                match read {
                    Ok(()) => Next::Nothing,
                    Err(Broken::Left) => Next::Cut,
                    Err(Broken::Rule(LinkError::ClosedByPeer { .. })) => {
                        node.was_closed = true;
                        let (said, heard) = (other.said.next_seq(), node.heard.seq);
                        ensure(said == heard || other.is_closing, || "CLOSE".to_owned())?;
                        *is_over = true;
                        Next::Nothing
                    }
                    Err(broken) => return Err(format!("node {side}: {broken:?}")),
                }
            }
            Some(Event::Known) => Next::Claim,
            Some(Event::Claimed(claim, proof)) => Next::LetIn(claim, proof),
            Some(Event::Resumed(resumed)) => Next::GoOn(resumed),
            Some(Event::Opened(_)) => return Err("a session opens a second time".to_owned()),
        }))
    }

    /// All that is to be written is written, and all of it arrives.
    fn exchange(&mut self, line: usize) -> Verdict {
        for side in [DIALER, LISTENER] {
            self.lines[line].write(side, usize::MAX, self.now);
            self.carry(line, side, usize::MAX, usize::MAX)?;
        }
        Ok(())
    }

    /// The actors of both nodes handle everything.
    fn hurry(&mut self) -> Verdict {
        for side in [DIALER, LISTENER] {
            let (node, sender) = self.half(side)?;
            node.handle_all(sender);
        }
        Ok(())
    }
}
