//! Two real ends of a session, checked against a model of plain numbers.
//!
//! Random commands are applied to both. After each of them, the model must agree with the two ends
//! on what was sent, received, acknowledged, retained, granted and used. Messages that arrive go
//! through the dispatcher, as in a node; numbers that it does not show are read from the send half. With
//! `WIGWAG_NIGHTLY` set, twenty times as many histories are tested.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use proptest::prelude::*;
use wigwag_link::batch::BatchHeader;
use wigwag_link::frame::numbers;
use wigwag_link::{Code, LinkError};
use wigwag_wire::Reader;

mod ends;

use ends::{Ends, LIMITS, OPENING_FRAMES};

use crate::application::Read;

/// Histories per test run.
const CASES: u32 = 400;

/// Histories per nightly test run.
const CASES_NIGHTLY: u32 = 8000;

/// A command; the first number is the end that executes it.
#[derive(Clone, Copy, Debug)]
enum Command {
    /// A call with this many bytes of arguments, if credit and the unacked window allow it.
    Tell(usize, usize),
    /// A turn of this many short calls, encoded outside the outbox.
    Turn(usize, u64),
    /// A turn of this many short calls of so many methods in turn, which are joined to runs.
    MixedTurn(usize, u64, u32),
    /// A numbered frame that is not a call.
    Reply(usize),
    /// The actor takes this many calls out of its inbound queue.
    Free(usize, usize),
    /// A batch is made and written.
    Write(usize),
    /// The next batch arrives.
    Arrive(usize),
    /// A batch that has arrived before arrives again.
    Repeat(usize, usize),
    /// The next batch is read until calls or a reply were taken this many times; then the connection
    /// is cut.
    ReadSome(usize, usize),
    /// The connection is cut; the last batch of each marked end was torn.
    Cut([bool; 2]),
    /// This many milliseconds pass.
    Pass(u64),
    /// An ack of this many more frames than were sent.
    AckBeyond(usize, u64),
    /// A batch that skips this many frames.
    Gap(usize, u64),
}

fn command() -> impl Strategy<Value = Command> {
    let end = 0_usize..2;
    prop_oneof![
        5 => (end.clone(), 0_usize..700).prop_map(|(end, size)| Command::Tell(end, size)),
        2 => (end.clone(), 1_u64..60).prop_map(|(end, count)| Command::Turn(end, count)),
        2 => (end.clone(), 1_u64..60, 1_u32..4)
            .prop_map(|(end, count, methods)| Command::MixedTurn(end, count, methods)),
        2 => end.clone().prop_map(Command::Reply),
        3 => (end.clone(), 1_usize..20).prop_map(|(end, calls)| Command::Free(end, calls)),
        6 => end.clone().prop_map(Command::Write),
        6 => end.clone().prop_map(Command::Arrive),
        1 => (end.clone(), 0_usize..4).prop_map(|(end, which)| Command::Repeat(end, which)),
        1 => (end.clone(), 1_usize..9).prop_map(|(end, steps)| Command::ReadSome(end, steps)),
        2 => any::<[bool; 2]>().prop_map(Command::Cut),
        1 => (1_u64..30).prop_map(Command::Pass),
        1 => (end.clone(), 1_u64..9).prop_map(|(end, more)| Command::AckBeyond(end, more)),
        1 => (end, 1_u64..9).prop_map(|(end, more)| Command::Gap(end, more)),
    ]
}

/// The model of one direction.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    /// Frames that were published.
    published: u64,
    /// Frames that may have reached the other end.
    sent: u64,
    /// The first frame of the last batch.
    last: u64,
    /// The number that the next batch must not begin after.
    next: u64,
    /// Frames that the other end has accepted.
    accepted: u64,
    /// Frames that the sender knows to be accepted.
    acked: u64,
    /// The limit, as the sender knows it, and the units used of it.
    limit: u64,
    used: u64,
    /// Units of the calls that have arrived, and of those taken out of the inbound queue.
    arrived: u64,
    freed: u64,
}

struct World {
    ends: Ends,
    model: [Direction; 2],
}

impl World {
    fn new() -> World {
        let opened = Direction {
            published: OPENING_FRAMES,
            sent: OPENING_FRAMES,
            last: OPENING_FRAMES,
            next: OPENING_FRAMES,
            accepted: OPENING_FRAMES,
            acked: OPENING_FRAMES,
            limit: LIMITS.initial_units,
            ..Direction::default()
        };
        World { ends: Ends::new(), model: [opened; 2] }
    }

    fn run(&mut self, command: Command) {
        match command {
            Command::Tell(end, size) => self.tell(end, size),
            Command::Turn(end, count) => {
                let model = &mut self.model[end];
                let calls = count.min(model.limit - model.used);
                assert_eq!(self.ends.turn(end, model.published, count), calls, "units to lease");
                (model.published, model.used) = (model.published + calls, model.used + calls);
            }
            Command::MixedTurn(end, count, methods) => {
                let model = &mut self.model[end];
                let calls = count.min(model.limit - model.used);
                let leased = self.ends.mixed_turn(end, model.published, count, methods);
                assert_eq!(leased, calls, "units to lease");
                (model.published, model.used) = (model.published + calls, model.used + calls);
            }
            Command::Reply(end) => {
                self.ends.reply(end, self.model[end].published);
                self.model[end].published += 1;
            }
            Command::Free(end, calls) => self.model[1 - end].freed += self.ends.free(end, calls),
            Command::Write(end) => self.write(end),
            Command::Arrive(end) => {
                if let Some(batch) = self.ends.next_batch(end) {
                    self.arrive(end, &batch, usize::MAX);
                }
            }
            Command::Repeat(end, which) => {
                if let Some(batch) = self.ends.old_batch(end, which) {
                    self.arrive(end, &batch, usize::MAX);
                }
            }
            Command::ReadSome(end, steps) => {
                if let Some(batch) = self.ends.next_batch(end) {
                    self.arrive(end, &batch, steps);
                    self.cut([false; 2]);
                }
            }
            Command::Cut(torn) => self.cut(torn),
            Command::Pass(milliseconds) => self.ends.pass(milliseconds),
            Command::AckBeyond(end, more) => {
                let (ack, first_seq) = (self.model[end].sent + more, 0);
                let refused = self.ends.refusal(end, BatchHeader { ack, first_seq, count: 0 });
                assert_eq!(code(refused), Code::ACK_BEYOND_SENT);
            }
            Command::Gap(end, more) => {
                let (ack, first_seq) = (0, self.model[1 - end].accepted + more);
                let refused = self.ends.refusal(end, BatchHeader { ack, first_seq, count: 0 });
                assert_eq!(code(refused), Code::GAP);
            }
        }
        self.compare();
    }

    fn tell(&mut self, end: usize, size: usize) {
        let model = &mut self.model[end];
        let units = ends::cost(size);
        let fits = model.used + units <= model.limit;
        assert_eq!(self.ends.tell(end, model.published, size), fits, "{units} units, {model:?}");
        if fits {
            (model.published, model.used) = (model.published + 1, model.used + units);
        }
    }

    /// Checks a written batch against the model: it leaves out no frame, and its ack is the newest.
    fn write(&mut self, end: usize) {
        let heard = self.model[1 - end].accepted;
        let Some(batch) = self.ends.write(end) else {
            let model = &self.model[end];
            assert!(model.next >= model.published, "{model:?} has frames to send");
            return;
        };
        let header = BatchHeader::decode(&mut Reader::new(&batch)).unwrap();
        let model = &mut self.model[end];
        assert_eq!(header.ack, heard, "the ack of {header:?}");
        assert!(header.first_seq <= model.next, "{header:?} leaves out frames of {model:?}");
        assert!(header.first_seq + header.count <= model.published, "{header:?} of {model:?}");
        (model.last, model.next) = (model.sent, model.next.max(header.first_seq + header.count));
        if header.count > 0 {
            model.last = header.first_seq;
        }
        model.sent = model.sent.max(model.next);
    }

    /// A batch reaches the end, which reads it until it was given something this many times.
    fn arrive(&mut self, end: usize, batch: &[u8], steps: usize) {
        let BatchHeader { ack, .. } = BatchHeader::decode(&mut Reader::new(batch)).unwrap();
        let Read { heard, units, limit, .. } = self.ends.read(end, batch, steps);
        let from = &mut self.model[1 - end];
        for number in heard {
            assert_eq!(number, from.accepted, "frames come once and in order");
            from.accepted += 1;
        }
        from.arrived += units;
        let to = &mut self.model[end];
        to.acked = to.acked.max(ack);
        to.limit = to.limit.max(limit);
    }

    fn cut(&mut self, torn: [bool; 2]) {
        let torn = self.ends.cut(torn);
        for (model, torn) in self.model.iter_mut().zip(torn) {
            if torn {
                model.sent = model.sent.min(model.last.max(model.acked));
            }
        }
        self.compare();
        self.ends.resume();
        for model in &mut self.model {
            (model.acked, model.sent, model.next) =
                (model.accepted, model.accepted, model.accepted);
        }
    }

    fn compare(&mut self) {
        for (end, model) in self.model.iter().enumerate() {
            let announced = self.ends.announced(1 - end);
            let waiting = self.ends.queue_capacity(1 - end);
            assert_eq!(self.ends.recv_next(1 - end), model.accepted, "received by {}", 1 - end);
            let sender = self.ends.sender(end);
            let outbox = &sender.outbox;
            let ours = (outbox.next_seq(), outbox.acked(), outbox.untaken_frames());
            assert_eq!(
                ours,
                (model.published, model.acked, model.published - model.sent),
                "of {end}"
            );
            assert_eq!(outbox.unacked() == 0, outbox.is_settled());
            assert!(
                model.acked <= model.accepted && model.accepted <= model.sent,
                "{end}: {model:?}"
            );
            let mut unsent = 0;
            outbox.each_unsent(|kind, body| unsent += numbers(kind, body).unwrap());
            assert_eq!(unsent, model.published - model.sent, "frames that certainly were not sent");
            assert_eq!(sender.window(0).unwrap().free(), model.limit - model.used, "of {end}");
            assert!(model.used <= model.limit && model.limit <= announced, "{model:?}");
            assert!(model.arrived <= model.used && announced - model.freed <= waiting);
        }
    }

    /// Lets everything arrive: in the end, all frames are acknowledged, all credit is known, and no
    /// sender is blocked.
    fn settle(&mut self) {
        self.run(Command::Cut([false; 2]));
        for _ in 0..200 {
            for end in [0, 1] {
                self.run(Command::Free(end, usize::MAX));
                self.run(Command::Write(end));
                self.run(Command::Arrive(1 - end));
            }
            self.run(Command::Pass(10));
        }
        for end in [0, 1] {
            let model = self.model[end];
            assert_eq!(
                (model.accepted, model.acked),
                (model.published, model.published),
                "at the end"
            );
            assert_eq!(model.limit, self.ends.announced(1 - end), "all credit is known");
            let sender = self.ends.sender(end);
            assert_eq!((sender.outbox.retained(), sender.outbox.waiting_bytes()), (0, 0));
            assert_eq!(
                sender.window(0).unwrap().wanted_limit(),
                None,
                "no sender is blocked at the end"
            );
        }
    }
}

pub(crate) fn code(error: LinkError) -> Code {
    match error {
        LinkError::Misbehaved { code, .. } => code,
        other => panic!("expected a violation, got {other}"),
    }
}

fn config() -> ProptestConfig {
    let nightly = std::env::var_os("WIGWAG_NIGHTLY").is_some();
    ProptestConfig::with_cases(if nightly { CASES_NIGHTLY } else { CASES })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn two_ends_and_their_model_agree_after_every_command(
        commands in prop::collection::vec(command(), 1..150)
    ) {
        let mut world = World::new();
        commands.iter().for_each(|command| world.run(*command));
        world.settle();
    }
}
