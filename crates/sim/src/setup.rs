//! What a seed decides before anything happens.

use wigwag_link::{Identity, Limits};
use wigwag_wire::Framing;

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
}

impl Mutant {
    /// All of them.
    pub const ALL: [Mutant; 8] = [
        Mutant::DropChunk,
        Mutant::DoubleChunk,
        Mutant::SwapChunks,
        Mutant::CreditTwice,
        Mutant::CreditNever,
        Mutant::AckUnaccepted,
        Mutant::ReplyTwice,
        Mutant::ForgetCall,
    ];
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

/// The world before it begins.
#[derive(Debug)]
pub struct Setup {
    /// How messages stand on the wires.
    pub framing: Framing,
    /// Who the nodes are.
    pub identities: [Identity; 2],
    /// How they behave.
    pub habits: [Habits; 2],
    /// The wires, each named after the node that writes to it.
    pub wires: [Wire; 2],
    /// A wire is broken, so the session may end early.
    pub is_broken: bool,
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
        let identities = [(); 2].map(|()| identity(random, kind));
        let frame_max = identities.iter().map(|one| one.limits.body_max()).min().unwrap_or(256);
        let habits = [(); 2].map(|()| habits(random, frame_max, kind));
        let damage = mutant.and_then(|mutant| {
            let at = random.below(DAMAGED_AMONG);
            match mutant {
                Mutant::DropChunk => Some(Damage::Drop(at)),
                Mutant::DoubleChunk => Some(Damage::Double(at)),
                Mutant::SwapChunks => Some(Damage::Swap(at)),
                _ => None,
            }
        });
        let is_broken = mutant.is_none() && random.chance(35);
        let broken = random.pick(&Side::BOTH);
        let wires = Side::BOTH.map(|side| {
            let wire = Wire::new(profile(random, kind));
            match damage {
                Some(damage) if side == broken => wire.with_damage(damage),
                _ if is_broken && side == broken => wire.with_breakage(breakage(random)),
                _ => wire,
            }
        });
        Setup { framing, identities, habits, wires, is_broken }
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
