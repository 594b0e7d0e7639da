//! The choices that a seed makes before the run.

use wigwag_link::{Identity, Limits, features};
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
    /// Both sides, in order.
    pub const BOTH: [Side; 2] = [Side::Dialer, Side::Listener];

    /// The other side.
    pub fn other(self) -> Side {
        match self {
            Side::Dialer => Side::Listener,
            Side::Listener => Side::Dialer,
        }
    }
}

/// A planted error, which the checks of the world must detect.
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
    /// A node acknowledges a frame that it has never received.
    AckUnaccepted,
    /// A node answers an ask twice.
    ReplyTwice,
    /// A node forgets a call that it accepted.
    ForgetCall,
    /// A node acknowledges a batch when it has received only its head.
    AckOnRead,
    /// A node acknowledges a whole batch of which it has passed on half.
    HalfAck,
    /// A node continues to read the old connection after the session has left it.
    NoFence,
    /// A node does not skip frames that are sent again.
    NoDedup,
    /// After a resume a node grants again what it had granted before.
    CreditByDelta,
    /// A node that resumes begins one frame too late.
    ReplayTooLate,
    /// A listener gives the same token at each resume.
    TokenKept,
    /// A node does not send replies again.
    ReplyNotResent,
    /// A node sends a call although a long one before it on its channel is under way.
    OvertakeLong,
    /// A node sends a call of a mixed run with the method of another call.
    WrongMethod,
}

impl Mutant {
    /// All planted errors.
    pub const ALL: [Mutant; 18] = [
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
        Mutant::OvertakeLong,
        Mutant::WrongMethod,
    ];

    /// False if it is planted into frames that come whole.
    fn allows_parts(self) -> bool {
        self == Mutant::OvertakeLong
    }

    /// False if it is planted into frames of which each has one number.
    fn allows_runs(self) -> bool {
        self == Mutant::WrongMethod
    }

    /// Whether it shows only where connections break and sessions are resumed.
    fn needs_faults(self) -> bool {
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

/// The behavior of the application of one node.
#[derive(Clone, Copy, Debug)]
pub struct Workload {
    /// The number of channels that it opens, one after the other or several at a time.
    pub attachments: u64,
    /// The most calls on each channel.
    pub calls_max: u64,
    /// The least number of bytes of each call's arguments.
    pub bytes_min: u64,
    /// The greatest number of bytes of each call's arguments.
    pub bytes_max: u64,
    /// The greatest number of bytes of a long reply; 0 if all replies are short.
    pub reply_bytes_max: u64,
    /// The share of asks among the calls, in percent.
    pub ask_percent: u64,
    /// The longest pause between two turns of its senders, in microseconds.
    pub sender_pause_us: u64,
    /// The longest pause between two turns of its actors, in microseconds.
    pub actor_pause_us: u64,
    /// The share of turns in which an actor stops, in percent.
    pub stop_percent: u64,
    /// The share of turns in which an ask is cancelled, in percent.
    pub cancel_percent: u64,
    /// The features of the session.
    pub features: u64,
}

/// Two nodes that have one session with each other.
#[derive(Debug)]
pub struct PairSetup {
    /// The identities of the nodes.
    pub identities: [Identity; 2],
    /// The behavior of their applications.
    pub workload: [Workload; 2],
}

/// The faults of connections and nodes.
#[derive(Clone, Debug, Default)]
pub struct FaultPlan {
    /// The number of connections that will break; later ones hold.
    pub breaks: u64,
    /// The time for which a session is kept after a cut, in milliseconds; 0: not at all.
    pub ttl_ms: u64,
    /// The time at which a node dies and restarts without its state.
    pub restart: Option<(Side, Time)>,
    /// The times in which a node is suspended.
    pub freezes: Vec<(Side, Time, Time)>,
    /// The share of dials for a cut session that are made twice, in percent.
    pub double_dial_percent: u64,
}

impl FaultPlan {
    /// The first moment from `time` on after which no node is suspended any more.
    pub fn quiet_after(&self, time: Time) -> Time {
        self.freezes.iter().map(|(.., until)| *until).fold(time, Time::max)
    }

    /// The first moment from `time` on at which a node of `side` is not suspended.
    pub fn awake_after(&self, side: Side, time: Time) -> Time {
        let frozen = self.freezes.iter().filter(|(frozen, ..)| *frozen == side);
        frozen.fold(
            time,
            |time, (_, from, until)| {
                if (*from..*until).contains(&time) { *until } else { time }
            },
        )
    }
}

/// The choices of a seed for a world.
#[derive(Debug)]
pub struct Setup {
    /// The framing of messages on the wires.
    pub framing: Framing,
    /// The pairs of nodes.
    pub pairs: Vec<PairSetup>,
    /// The faults of the run.
    pub fault_plan: FaultPlan,
    scenario: Scenario,
    damage: Option<(Side, Damage)>,
}

/// The number of first chunks of which one is damaged, few enough that the session has not ended by
/// then.
const DAMAGED_AMONG: u64 = 30;

impl Setup {
    /// Chooses a world at random.
    pub fn draw(random: &mut Random, mutant: Option<Mutant>) -> Setup {
        let framing = random.pick(&[Framing::Tcp, Framing::Ipc]);
        let scenario = match random.below(400) {
            0..=1 => Scenario::Flood,
            2..=31 => Scenario::Torn,
            _ => Scenario::Mixed,
        };
        let count = if scenario == Scenario::Mixed { random.pick(&[1, 1, 2, 3]) } else { 1 };
        let has_parts = mutant.is_none_or(Mutant::allows_parts);
        let has_runs = mutant.is_none_or(Mutant::allows_runs);
        let pairs = (0..count).map(|_| pair(random, scenario, has_parts, has_runs)).collect();
        let at = random.below(DAMAGED_AMONG);
        let damage = match mutant {
            Some(Mutant::DropChunk) => Some(Damage::Drop(at)),
            Some(Mutant::DoubleChunk) => Some(Damage::Double(at)),
            Some(Mutant::SwapChunks) => Some(Damage::Swap(at)),
            _ => None,
        };
        let damage = damage.map(|damage| (random.pick(&Side::BOTH), damage));
        let fault_plan = match mutant {
            Some(mutant) if mutant.needs_faults() => {
                FaultPlan { restart: None, ..many_faults(random) }
            }
            Some(_) => FaultPlan::default(),
            None => fault_plan(random),
        };
        Setup { framing, pairs, fault_plan, scenario, damage }
    }

    /// The wires of the next connection, each named after the side that writes to it.
    pub fn wires(&mut self, random: &mut Random) -> [Wire; 2] {
        let breaks = self.fault_plan.breaks > 0;
        self.fault_plan.breaks -= u64::from(breaks);
        let broken = random.pick(&Side::BOTH);
        let damage = self.damage.take();
        Side::BOTH.map(|side| {
            let wire = Wire::new(profile(random, self.scenario));
            match damage {
                Some((at, damage)) if at == side => wire.with_damage(damage),
                _ if breaks && side == broken => wire.with_breakage(breakage(random)),
                _ => wire,
            }
        })
    }
}

fn pair(
    random: &mut Random,
    scenario: Scenario,
    may_have_parts: bool,
    may_have_runs: bool,
) -> PairSetup {
    let has_parts = may_have_parts && random.chance(50);
    let parts = if has_parts { features::PARTS } else { 0 };
    let identities = [(); 2].map(|()| {
        let runs = if may_have_runs { runs(random) } else { 0 };
        Identity { offered: parts | runs, ..identity(random, scenario) }
    });
    let frame_max = identities.iter().map(|one| one.limits.body_max()).min().unwrap_or(256);
    let features = identities[0].offered & identities[1].offered;
    let workload = [(); 2].map(|()| {
        let workload = workload(random, frame_max, scenario, has_parts);
        Workload { features, ..workload }
    });
    PairSetup { identities, workload }
}

/// The kinds of runs that a node knows: most nodes know all, and those of earlier releases fewer.
fn runs(random: &mut Random) -> u64 {
    match random.below(10) {
        0 => 0,
        1 => features::RUNS,
        _ => features::RUNS | features::MIXED_RUNS,
    }
}

fn fault_plan(random: &mut Random) -> FaultPlan {
    match random.below(100) {
        0..=19 => FaultPlan::default(),
        20..=44 => FaultPlan { breaks: 1, ..FaultPlan::default() },
        45..=84 => FaultPlan { restart: None, ..many_faults(random) },
        85..=92 => many_faults(random),
        // Occasionally the time for which a session is kept ends before the dialer has redialed.
        _ => FaultPlan { ttl_ms: random.between(1, 4000), ..many_faults(random) },
    }
}

fn many_faults(random: &mut Random) -> FaultPlan {
    let side = random.pick(&Side::BOTH);
    let at = |random: &mut Random| Time::START + micros(random.between(1_000, 8_000_000));
    let restart = Some((side, at(random)));
    let freezes = (0..random.pick(&[0, 0, 0, 1, 2])).map(|_| {
        let from = at(random);
        (random.pick(&Side::BOTH), from, from + micros(random.between(1, 10_000_000)))
    });
    FaultPlan {
        freezes: freezes.collect(),
        breaks: random.between(1, 6),
        ttl_ms: 60_000,
        restart,
        double_dial_percent: random.pick(&[0, 0, 20, 60]),
    }
}

/// The kind of run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scenario {
    /// No restriction.
    Mixed,
    /// The network splits everything into single bytes, so little is sent.
    Torn,
    /// Megabytes over a slow network: the unacked window fills.
    Flood,
}

fn identity(random: &mut Random, scenario: Scenario) -> Identity {
    let defaults = Limits::default();
    let small = random.chance(60);
    let limits = Limits {
        batch_max: random.pick(&[2048, 3000, 8192, 70_000, defaults.batch_max]),
        frame_max: random.pick(&[256, 300, 1000, 5000, defaults.frame_max]),
        message_max: random.pick(&[300, 5000, 100_000, defaults.message_max]),
        initial_units: if small { random.between(1, 16) } else { defaults.initial_units },
        attach_pending_max: random.between(1, 4),
        channels_max: random.pick(&[1, 2, 3, defaults.channels_max]),
        slots_max: random.pick(&[1, 2, 5, defaults.slots_max]),
        ..defaults
    };
    let limits = if scenario == Scenario::Flood { defaults } else { limits };
    Identity {
        node: random.draw_u128(),
        incarnation: random.draw_u128(),
        nonce: random.draw_u128(),
        offered: 0,
        required: 0,
        limits,
    }
}

fn workload(random: &mut Random, frame_max: u64, scenario: Scenario, has_parts: bool) -> Workload {
    if scenario == Scenario::Flood {
        return Workload {
            attachments: 3,
            calls_max: 400,
            bytes_min: 20_000,
            bytes_max: if has_parts { 400_000 } else { 60_000 },
            reply_bytes_max: if has_parts { 400_000 } else { 0 },
            ask_percent: 20,
            sender_pause_us: 10,
            actor_pause_us: 10,
            stop_percent: 0,
            cancel_percent: 1,
            features: 0,
        };
    }
    let torn = scenario == Scenario::Torn;
    let bytes_max = frame_max - 60;
    let is_large = !torn && random.chance(25);
    // A few frames long, so that parts and other frames alternate.
    let long_max = random.pick(&[2, 5, 20]) * frame_max.min(5000);
    let is_long = has_parts && !torn && random.chance(60);
    Workload {
        attachments: random.between(0, 6),
        calls_max: if torn { 20 } else { random.pick(&[5, 40, 200]) },
        bytes_min: 0,
        bytes_max: match is_long {
            true => long_max,
            false if is_large => bytes_max.min(20_000),
            false => bytes_max.min(400),
        },
        reply_bytes_max: if is_long { long_max } else { 0 },
        ask_percent: random.pick(&[0, 20, 50, 100]),
        sender_pause_us: random.pick(&[10, 300, 3000]),
        actor_pause_us: random.pick(&[10, 300, 20_000]),
        stop_percent: random.pick(&[0, 0, 0, 1, 4]),
        cancel_percent: random.pick(&[0, 5, 30]),
        features: 0,
    }
}

fn profile(random: &mut Random, scenario: Scenario) -> Profile {
    let torn = scenario == Scenario::Torn;
    if scenario == Scenario::Flood {
        return Profile {
            chunk_max: 65_536,
            delay_us: (50_000, 100_000),
            join_percent: 0,
            capacity: random.pick(&[1 << 18, 1 << 24]),
        };
    }
    let longest = random.pick(&[1, 200, 5000, 100_000]);
    Profile {
        chunk_max: if torn { random.pick(&[1, 8]) } else { random.pick(&[100, 1448, 65_536]) },
        delay_us: (longest / random.between(1, 10), longest),
        join_percent: random.pick(&[0, 20, 80]),
        capacity: random.pick(&[100, 1000, 8192, 1 << 20]),
    }
}

/// The byte at which a wire breaks: mostly in the middle of the session, sometimes in its opening.
fn breakage(random: &mut Random) -> Breakage {
    let at = match random.below(10) {
        0..=1 => random.below(300),
        2..=5 => random.between(300, 3_000),
        _ => random.between(1_000, 30_000),
    };
    if random.chance(70) { Breakage::Cut(at) } else { Breakage::Dead(at) }
}
