//! The calling half of the application: attachments, tells, asks, waiting for credit.
//!
//! The client sleeps when it has no credit, no room or no slot, and only a frame from the peer
//! wakes it. So if the protocol loses a wake-up, the client stays asleep, and the world finds that
//! it has not finished.

use wigwag_link::frame::Frame;
use wigwag_link::outbox::Published;
use wigwag_link::{Limits, SendHalf, features, write};
use wigwag_wire::Buffer;
use wigwag_wire::run::RunBuilder;

use crate::application::slots::Slots;
use crate::check::Violation;
use crate::content::CallId;
use crate::setup::{Mutant, Side, Workload};
use crate::shared::Shared;

mod calls;
mod incoming;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AttachmentState {
    Attaching,
    Open,
    Detaching,
    Closed,
}

/// The reason why an attachment sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum BlockedOn {
    Nothing,
    Credit,
    Room,
    Slot,
}

#[derive(Debug)]
struct Attachment {
    id: u64,
    channel: u64,
    state: AttachmentState,
    blocked_on: BlockedOn,
    /// The number of calls that it will make.
    total: u64,
    /// Whether it stays attached when all calls were made.
    stays_attached: bool,
    /// Where each call made so far is in the outbox.
    sent: Vec<Published>,
    /// The number of calls that the receiver has reported as handled.
    handled: u64,
}

#[derive(Debug)]
struct PendingAsk {
    call: CallId,
    cancelled: bool,
}

/// The outcomes of the calls of one node, as far as the node itself knows them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeliveryCounts {
    /// Certainly handled.
    pub delivered: u64,
    /// Certainly never arrived.
    pub not_delivered: u64,
    /// Unknown to this side.
    pub unknown: u64,
}

/// The calling half of one node.
#[derive(Debug)]
pub struct Client {
    side: Side,
    /// The id of the first attachment: each session of a world has ids of its own.
    first_id: u64,
    workload: Workload,
    peer: Limits,
    attachments: Vec<Attachment>,
    /// No channel was free at the last attempt.
    channels_exhausted: bool,
    slots: Slots<PendingAsk>,
    pending: Vec<(u32, u32)>,
    turn: Buffer,
    /// Joins short calls of a turn.
    runs: RunBuilder,
    /// A planted error: one call of a run has another method.
    confuses_methods: bool,
    /// A planted error: calls go although a long one before them is under way.
    overtakes: bool,
}

/// The most bytes of a body beside the arguments: channel, slot, generation, method.
const CALL_HEAD_BYTES: u64 = 20;

impl Client {
    /// The client of `side`, whose peer has announced `peer`.
    pub fn new(side: Side, first_id: u64, workload: Workload, peer: Limits) -> Client {
        Client {
            side,
            first_id,
            workload,
            peer,
            attachments: Vec::new(),
            channels_exhausted: false,
            slots: Slots::new(peer.slots_max),
            pending: Vec::new(),
            turn: Buffer::new(),
            runs: RunBuilder::new(features::has_mixed_runs(workload.features)),
            confuses_methods: false,
            overtakes: false,
        }
    }

    /// Plants an error.
    pub fn with_mutant(self, mutant: Option<Mutant>) -> Client {
        Client {
            overtakes: mutant == Some(Mutant::OvertakeLong),
            confuses_methods: mutant == Some(Mutant::WrongMethod),
            ..self
        }
    }

    fn can_attach(&self) -> bool {
        let pending =
            self.attachments.iter().filter(|one| one.state == AttachmentState::Attaching).count();
        (self.attachments.len() as u64) < self.workload.attachments
            && !self.channels_exhausted
            && (pending as u64) < self.peer.attach_pending_max
    }

    /// True when all attachments and all calls on them were made, or their actors have stopped.
    pub fn is_done(&self) -> bool {
        let done = |one: &Attachment| one.is_finished() || one.state == AttachmentState::Closed;
        self.attachments.len() as u64 == self.workload.attachments
            && self.attachments.iter().all(done)
    }

    /// The number of calls that it has made.
    pub fn calls(&self) -> u64 {
        self.attachments.iter().map(|one| one.sent.len() as u64).sum()
    }

    /// True when a turn could make progress.
    pub fn has_work(&self) -> bool {
        self.can_attach() || self.attachments.iter().any(Attachment::is_ready)
    }

    /// Runs one turn of its senders.
    pub fn turn(&mut self, sender: &mut SendHalf, shared: &mut Shared) -> Result<(), Violation> {
        if self.can_attach() && shared.random.chance(50) {
            self.attach(sender, shared);
        }
        if shared.random.chance(self.workload.cancel_percent) {
            self.cancel(sender, shared);
        }
        let ready: Vec<usize> =
            (0..self.attachments.len()).filter(|at| self.attachments[*at].is_ready()).collect();
        if ready.is_empty() {
            return Ok(());
        }
        let at = shared.random.pick(&ready);
        if self.attachments[at].is_finished() {
            let attachment = &mut self.attachments[at];
            attachment.state = AttachmentState::Detaching;
            sender.detach(attachment.channel);
            shared.note(self.side, "detach", attachment.channel, attachment.id);
            return Ok(());
        }
        if shared.random.chance(30) && self.call_in_turn(at, sender, shared)? > 0 {
            return Ok(());
        }
        self.call_one_by_one(at, sender, shared)
    }

    fn attach(&mut self, sender: &mut SendHalf, shared: &mut Shared) {
        let Some(channel) = sender.open_channel() else {
            self.channels_exhausted = true;
            return;
        };
        let id = self.first_id + self.attachments.len() as u64;
        let name = match shared.random.chance(5) {
            true => "nobody".into(),
            false if shared.random.chance(30) => "bounded actor".into(),
            false => format!("actor {id}"),
        };
        let attach =
            Frame::Attach { channel, how: 0, target: name.as_bytes(), schema_hash: 1, codec: 0 };
        sender.outbox.append(|out| write::any(out, &attach));
        shared.note(self.side, "attach", channel, id);
        self.attachments.push(Attachment {
            id,
            channel,
            state: AttachmentState::Attaching,
            blocked_on: BlockedOn::Nothing,
            total: shared.random.between(0, self.workload.calls_max),
            stays_attached: self.peer.channels_max > self.workload.attachments
                && shared.random.chance(30),
            sent: Vec::new(),
            handled: 0,
        });
    }

    fn cancel(&mut self, sender: &mut SendHalf, shared: &mut Shared) {
        if self.pending.is_empty() {
            return;
        }
        let (slot, generation) = shared.random.pick(&self.pending);
        let (wide_slot, wide_generation) = (u64::from(slot), u64::from(generation));
        let asked = self.slots.get(wide_slot, wide_generation);
        if let Some(asked) = asked.filter(|asked| !asked.cancelled) {
            asked.cancelled = true;
            sender.cancel((slot, generation));
            shared.note(self.side, "cancel", wide_slot, wide_generation);
        }
    }
}

impl Attachment {
    fn is_finished(&self) -> bool {
        self.sent.len() as u64 == self.total
    }

    fn is_ready(&self) -> bool {
        let idle = self.is_finished() && self.stays_attached;
        self.state == AttachmentState::Open && self.blocked_on == BlockedOn::Nothing && !idle
    }
}
