//! What a seed decides before anything happens.

use wigwag_link::{Identity, Limits};
use wigwag_wire::{Framing, Time};

use crate::clock::micros;
use crate::network::{Breakage, Damage, Profile, Wire};
use crate::random::Random;

/// One of the two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// The node that dials.
    Dialer = 0,
    /// The node that listens.
    Listener = 1,
}

impl Side {
    /// Both, in order.
    pub const BOTH: [Side; 2] = [Side::Dialer, Side::Listener];

    /// The one at the other end.
    pub fn other(self) -> Side {
        match self {
            Side::Dialer => Side::Listener,
            Side::Listener => Side::Dialer,
        }
    }
}

/// A planted error: whoever watches the world must notice each of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The network loses a chunk and goes on.
    DropChunk,
    /// The network delivers a chunk twice.
    DoubleChunk,
    /// The network lets one chunk overtake another.
    SwapChunks,
    /// A node gives back twice the credit of each call.
    CreditTwice,
    /// A node never gives back credit.
    CreditNever,
    /// A node acknowledges a frame that it never got.
    AckUnaccepted,
    /// A node answers an ask twice.
    ReplyTwice,
    /// A node forgets a call that it accepted.
    ForgetCall,
    /// A node acknowledges a batch whose head has come, before the rest has.
    AckOnRead,
    /// A node acknowledges a whole batch of which it has handed over half.
    HalfAck,
    /// A node goes on reading the old connection after the session has left it.
    NoFence,
    /// A node does not skip what comes again.
    NoDedup,
    /// After a resume a node grants once more what it had granted before.
    CreditByDelta,
    /// A node that resumes begins one frame too late.
    ReplayTooLate,
    /// A listener gives the same token at each resume.
    TokenKept,
    /// A node does not send replies again.
    ReplyNotResent,
}

impl Mutant {
    /// All of them.
    pub const ALL: [Mutant; 16] = [
        Mutant::DropChunk,
        Mutant::DoubleChunk,
        Mutant::SwapChunks,
        Mutant::CreditTwice,
        Mutant::CreditNever,
        Mutant::AckUnaccepted,
        Mutant::ReplyTwice,
        Mutant::ForgetCall,
        Mutant::AckOnRead,
        Mutant::HalfAck,
        Mutant::NoFence,
        Mutant::NoDedup,
        Mutant::CreditByDelta,
        Mutant::ReplayTooLate,
        Mutant::TokenKept,
        Mutant::ReplyNotResent,
    ];

    /// It shows only where connections break and sessions go on.
    fn wants_storms(self) -> bool {
        use Mutant::*;
        matches!(
            self,
            AckOnRead
                | NoFence
                | NoDedup
                | CreditByDelta
                | ReplayTooLate
                | TokenKept
                | ReplyNotResent
        )
    }
}

/// How the application of one node behaves.
#[derive(Clone, Copy, Debug)]
pub struct Habits {
    /// Channels that it opens, one after the other or several at a time.
    pub attachments: u64,
    /// Calls on each, at most.
    pub calls_max: u64,
    /// Bytes of each call's arguments, at least and at most.
    pub bytes_min: u64,
    /// See `bytes_min`.
    pub bytes_max: u64,
    /// Calls that are asks, in percent.
    pub asks: u64,
    /// The longest pause between two turns of its senders, in microseconds.
    pub sender_pause_us: u64,
    /// The longest pause between two turns of its actors, in microseconds.
    pub actor_pause_us: u64,
    /// Turns in which an actor stops, in percent.
    pub stops: u64,
    /// Asks that are cancelled, in percent of turns.
    pub cancels: u64,
}

/// Two nodes that hold one session with each other.
#[derive(Debug)]
pub struct PairSetup {
    /// Who the nodes are.
    pub identities: [Identity; 2],
    /// How they behave.
    pub habits: [Habits; 2],
}

/// What will happen to connections and nodes.
#[derive(Clone, Debug, Default)]
pub struct Weather {
    /// Connections that will break; those after them hold.
    pub breaks: u64,
    /// How long a session is kept after a cut, in milliseconds; 0: not at all.
    pub ttl_ms: u64,
    /// A node dies at this time and comes back knowing nothing.
    pub restart: Option<(Side, Time)>,
    /// Times in which a node stands still.
    pub freezes: Vec<(Side, Time, Time)>,
    /// Of a hundred dials for a cut session, those that come twice.
    pub doubles: u64,
}

impl Weather {
    /// The first moment from `time` on from which nobody will stand still any more.
    pub fn quiet(&self, time: Time) -> Time {
        self.freezes.iter().map(|(.., until)| *until).fold(time, Time::max)
    }

    /// The first moment from `time` on at which a node of `side` does not stand still.
    pub fn awake(&self, side: Side, time: Time) -> Time {
        let frozen = self.freezes.iter().filter(|(frozen, ..)| *frozen == side);
        frozen.fold(
            time,
            |time, (_, from, until)| {
                if (*from..*until).contains(&time) { *until } else { time }
            },
        )
    }
}

/// The world before it begins.
#[derive(Debug)]
pub struct Setup {
    /// How messages stand on the wires.
    pub framing: Framing,
    /// Who takes part.
    pub pairs: Vec<PairSetup>,
    /// What will happen to them.
    pub weather: Weather,
    kind: Kind,
    damage: Option<(Side, Damage)>,
}

/// Chunks among which the damaged one is: the story must still be going on.
const DAMAGED_AMONG: u64 = 30;

impl Setup {
    /// Draws a world.
    pub fn draw(random: &mut Random, mutant: Option<Mutant>) -> Setup {
        let framing = random.pick(&[Framing::Tcp, Framing::Ipc]);
        let kind = match random.below(400) {
            0..=1 => Kind::Flood,
            2..=31 => Kind::Torn,
            _ => Kind::Mixed,
        };
        let count = if kind == Kind::Mixed { random.pick(&[1, 1, 2, 3]) } else { 1 };
        let pairs = (0..count).map(|_| pair(random, kind)).collect();
        let at = random.below(DAMAGED_AMONG);
        let damage = match mutant {
            Some(Mutant::DropChunk) => Some(Damage::Drop(at)),
            Some(Mutant::DoubleChunk) => Some(Damage::Double(at)),
            Some(Mutant::SwapChunks) => Some(Damage::Swap(at)),
            _ => None,
        };
        let damage = damage.map(|damage| (random.pick(&Side::BOTH), damage));
        let weather = match mutant {
            Some(mutant) if mutant.wants_storms() => Weather { restart: None, ..storms(random) },
            Some(_) => Weather::default(),
            None => weather(random),
        };
        Setup { framing, pairs, weather, kind, damage }
    }

    /// The wires of the next connection, each named after the side that writes to it.
    pub fn wires(&mut self, random: &mut Random) -> [Wire; 2] {
        let breaks = self.weather.breaks > 0;
        self.weather.breaks -= u64::from(breaks);
        let broken = random.pick(&Side::BOTH);
        let damage = self.damage.take();
        Side::BOTH.map(|side| {
            let wire = Wire::new(profile(random, self.kind));
            match damage {
                Some((at, damage)) if at == side => wire.with_damage(damage),
                _ if breaks && side == broken => wire.with_breakage(breakage(random)),
                _ => wire,
            }
        })
    }
}

fn pair(random: &mut Random, kind: Kind) -> PairSetup {
    let identities = [(); 2].map(|()| identity(random, kind));
    let frame_max = identities.iter().map(|one| one.limits.body_max()).min().unwrap_or(256);
    let habits = [(); 2].map(|()| habits(random, frame_max, kind));
    PairSetup { identities, habits }
}

fn weather(random: &mut Random) -> Weather {
    match random.below(100) {
        0..=19 => Weather::default(),
        20..=44 => Weather { breaks: 1, ..Weather::default() },
        45..=84 => Weather { restart: None, ..storms(random) },
        85..=92 => storms(random),
        // The time that a session is kept is over now and then before the dialer is back.
        _ => Weather { ttl_ms: random.between(1, 4000), ..storms(random) },
    }
}

fn storms(random: &mut Random) -> Weather {
    let side = random.pick(&Side::BOTH);
    let at = |random: &mut Random| Time::START + micros(random.between(1_000, 8_000_000));
    let restart = Some((side, at(random)));
    let freezes = (0..random.pick(&[0, 0, 0, 1, 2])).map(|_| {
        let from = at(random);
        (random.pick(&Side::BOTH), from, from + micros(random.between(1, 10_000_000)))
    });
    Weather {
        freezes: freezes.collect(),
        breaks: random.between(1, 6),
        ttl_ms: 60_000,
        restart,
        doubles: random.pick(&[0, 0, 20, 60]),
    }
}

/// What sort of story it is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Anything.
    Mixed,
    /// The network tears everything into bytes, so little is sent.
    Torn,
    /// Megabytes over a long way: the unacked window fills.
    Flood,
}

fn identity(random: &mut Random, kind: Kind) -> Identity {
    let defaults = Limits::default();
    let small = random.chance(60);
    let limits = Limits {
        batch_max: random.pick(&[2048, 3000, 8192, 70_000, defaults.batch_max]),
        frame_max: random.pick(&[256, 300, 1000, 5000, defaults.frame_max]),
        initial_units: if small { random.between(1, 16) } else { defaults.initial_units },
        attach_pending_max: random.between(1, 4),
        channels_max: random.pick(&[1, 2, 3, defaults.channels_max]),
        slots_max: random.pick(&[1, 2, 5, defaults.slots_max]),
        ..defaults
    };
    let limits = if kind == Kind::Flood { defaults } else { limits };
    Identity {
        node: random.draw_u128(),
        incarnation: random.draw_u128(),
        nonce: random.draw_u128(),
        offered: 0,
        required: 0,
        limits,
    }
}

fn habits(random: &mut Random, frame_max: u64, kind: Kind) -> Habits {
    if kind == Kind::Flood {
        return Habits {
            attachments: 3,
            calls_max: 400,
            bytes_min: 20_000,
            bytes_max: 60_000,
            asks: 20,
            sender_pause_us: 10,
            actor_pause_us: 10,
            stops: 0,
            cancels: 1,
        };
    }
    let torn = kind == Kind::Torn;
    let bytes_max = frame_max - 60;
    let is_large = !torn && random.chance(25);
    Habits {
        attachments: random.between(0, 6),
        calls_max: if torn { 20 } else { random.pick(&[5, 40, 200]) },
        bytes_min: 0,
        bytes_max: if is_large { bytes_max.min(20_000) } else { bytes_max.min(400) },
        asks: random.pick(&[0, 20, 50, 100]),
        sender_pause_us: random.pick(&[10, 300, 3000]),
        actor_pause_us: random.pick(&[10, 300, 20_000]),
        stops: random.pick(&[0, 0, 0, 1, 4]),
        cancels: random.pick(&[0, 5, 30]),
    }
}

fn profile(random: &mut Random, kind: Kind) -> Profile {
    let torn = kind == Kind::Torn;
    if kind == Kind::Flood {
        return Profile {
            chunk_max: 65_536,
            delay_us: (50_000, 100_000),
            join: 0,
            capacity: random.pick(&[1 << 18, 1 << 24]),
        };
    }
    let longest = random.pick(&[1, 200, 5000, 100_000]);
    Profile {
        chunk_max: if torn { random.pick(&[1, 8]) } else { random.pick(&[100, 1448, 65_536]) },
        delay_us: (longest / random.between(1, 10), longest),
        join: random.pick(&[0, 20, 80]),
        capacity: random.pick(&[100, 1000, 8192, 1 << 20]),
    }
}

/// Most breaks come in the middle of the session, some in its opening.
fn breakage(random: &mut Random) -> Breakage {
    let at = match random.below(10) {
        0..=1 => random.below(300),
        2..=5 => random.between(300, 3_000),
        _ => random.between(1_000, 30_000),
    };
    if random.chance(70) { Breakage::Cut(at) } else { Breakage::Dead(at) }
}
