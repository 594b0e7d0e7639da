//! A session of two real ends beside a model of it: numbers and sums, and nothing else.
//!
//! Commands are drawn by chance and done to both. After each of them the model and the two
//! [`SendHalf`]s and [`RecvHalf`]s must agree: what is sent, heard, acknowledged, kept, granted, used.
//! `WIGWAG_NIGHTLY` draws twenty times as many histories.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

use proptest::prelude::*;
use wigwag_link::batch::BatchHeader;
use wigwag_link::{Code, LinkError};
use wigwag_wire::Reader;

mod ends;

use ends::{Ends, LIMITS, Read};

/// Histories by day.
const CASES: u32 = 400;

/// Histories by night.
const CASES_NIGHTLY: u32 = 8000;

/// What happens; the first number is the end that does it.
#[derive(Clone, Copy, Debug)]
enum Command {
    /// A call with so many bytes of arguments, if credit and room allow it.
    Tell(usize, usize),
    /// So many short calls that were encoded beside the outbox.
    Turn(usize, u64),
    /// A frame that is no call.
    Cancel(usize),
    /// The actor takes so many calls out of its lane.
    Free(usize, usize),
    /// A batch is made and written.
    Write(usize),
    /// The next batch arrives.
    Arrive(usize),
    /// A batch that has arrived before arrives again.
    Repeat(usize, usize),
    /// So many frames of the next batch are read; then the connection is cut.
    ReadSome(usize, usize),
    /// The connection is cut, and the last batch of the ends that are named was torn.
    Cut([bool; 2]),
    /// So many milliseconds pass.
    Pass(u64),
    /// An ack of so much more than was sent.
    AckBeyond(usize, u64),
    /// A batch behind so many frames that nobody has seen.
    Gap(usize, u64),
}

fn command() -> impl Strategy<Value = Command> {
    let end = 0_usize..2;
    prop_oneof![
        5 => (end.clone(), 0_usize..700).prop_map(|(end, size)| Command::Tell(end, size)),
        2 => (end.clone(), 1_u64..60).prop_map(|(end, count)| Command::Turn(end, count)),
        2 => end.clone().prop_map(Command::Cancel),
        3 => (end.clone(), 1_usize..20).prop_map(|(end, calls)| Command::Free(end, calls)),
        6 => end.clone().prop_map(Command::Write),
        6 => end.clone().prop_map(Command::Arrive),
        1 => (end.clone(), 0_usize..4).prop_map(|(end, which)| Command::Repeat(end, which)),
        1 => (end.clone(), 0_usize..9).prop_map(|(end, frames)| Command::ReadSome(end, frames)),
        2 => any::<[bool; 2]>().prop_map(Command::Cut),
        1 => (1_u64..30).prop_map(Command::Pass),
        1 => (end.clone(), 1_u64..9).prop_map(|(end, more)| Command::AckBeyond(end, more)),
        1 => (end, 1_u64..9).prop_map(|(end, more)| Command::Gap(end, more)),
    ]
}

/// One direction, in the simplest words.
#[derive(Clone, Copy, Debug, Default)]
struct Direction {
    /// Frames that were published.
    said: u64,
    /// Frames of them that may have reached the other end.
    sent: u64,
    /// The first frame of the last batch that was made.
    last: u64,
    /// The frame that the next batch must not begin behind.
    next: u64,
    /// Frames that the other end has accepted.
    heard: u64,
    /// Frames that the sender knows to be accepted.
    acked: u64,
    /// Units, as the sender knows them.
    limit: u64,
    used: u64,
    /// Units of the calls that were heard, and of those that were taken out of the lane.
    arrived: u64,
    freed: u64,
}

struct World {
    ends: Ends,
    model: [Direction; 2],
}

impl World {
    fn new() -> World {
        let limit = LIMITS.initial_units;
        World { ends: Ends::new(), model: [Direction { limit, ..Direction::default() }; 2] }
    }

    fn happen(&mut self, command: Command) {
        match command {
            Command::Tell(end, size) => self.tell(end, size),
            Command::Turn(end, count) => {
                let model = &mut self.model[end];
                let calls = count.min(model.limit - model.used);
                assert_eq!(self.ends.turn(end, model.said, count), calls, "units to lease");
                (model.said, model.used) = (model.said + calls, model.used + calls);
            }
            Command::Cancel(end) => {
                self.ends.cancel(end, self.model[end].said);
                self.model[end].said += 1;
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
            Command::ReadSome(end, frames) => {
                if let Some(batch) = self.ends.next_batch(end) {
                    self.arrive(end, &batch, frames);
                    self.cut([false; 2]);
                }
            }
            Command::Cut(torn) => self.cut(torn),
            Command::Pass(milliseconds) => self.ends.pass(milliseconds),
            Command::AckBeyond(end, more) => {
                let beyond = self.model[end].sent + more;
                let refused = self.ends.sender(end).outbox.acknowledge(beyond);
                assert_eq!(code(refused.unwrap_err()), Code::ACK_BEYOND_SENT);
            }
            Command::Gap(end, more) => {
                let (ack, first_seq) = (0, self.model[1 - end].heard + more);
                let refused = self.ends.open_header(end, BatchHeader { ack, first_seq, count: 0 });
                assert_eq!(code(refused.unwrap_err()), Code::GAP);
            }
        }
        self.compare();
    }

    fn tell(&mut self, end: usize, size: usize) {
        let model = &mut self.model[end];
        let units = ends::cost(size);
        let fits = model.used + units <= model.limit;
        assert_eq!(self.ends.tell(end, model.said, size), fits, "{units} units, {model:?}");
        if fits {
            (model.said, model.used) = (model.said + 1, model.used + units);
        }
    }

    /// What goes out is what the model says: no frame is left out, and the ack is the newest.
    fn write(&mut self, end: usize) {
        let heard = self.model[1 - end].heard;
        let Some(batch) = self.ends.write(end) else {
            let model = &self.model[end];
            assert!(model.next >= model.said, "{model:?} has something to say");
            return;
        };
        let header = BatchHeader::decode(&mut Reader::new(&batch)).unwrap();
        let model = &mut self.model[end];
        assert_eq!(header.ack, heard, "the ack of {header:?}");
        assert!(header.first_seq <= model.next, "{header:?} leaves out what {model:?} has");
        assert!(header.first_seq + header.count <= model.said, "{header:?} of {model:?}");
        (model.last, model.next) = (model.sent, model.next.max(header.first_seq + header.count));
        if header.count > 0 {
            model.last = header.first_seq;
        }
        model.sent = model.sent.max(model.next);
    }

    /// A batch reaches the end, which reads so many frames of it.
    fn arrive(&mut self, end: usize, batch: &[u8], frames: usize) {
        let Read { ack, heard, units, limit } = self.ends.read(end, batch, frames);
        let from = &mut self.model[1 - end];
        for number in heard {
            assert_eq!(number, from.heard, "frames come once and in order");
            from.heard += 1;
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
        let heard = [self.model[0].heard, self.model[1].heard];
        self.ends.resume(heard);
        for model in &mut self.model {
            (model.acked, model.sent, model.next) = (model.heard, model.heard, model.heard);
        }
    }

    fn compare(&mut self) {
        for (end, model) in self.model.iter().enumerate() {
            let announced = self.ends.announced(1 - end);
            let waiting = self.ends.window_of_lane(1 - end);
            assert_eq!(self.ends.recv_next(1 - end), model.heard, "heard by {}", 1 - end);
            let sender = self.ends.sender(end);
            let outbox = &sender.outbox;
            let ours = (outbox.next_seq(), outbox.acked(), outbox.untaken_frames());
            assert_eq!(ours, (model.said, model.acked, model.said - model.sent), "of {end}");
            assert_eq!(outbox.unacked() == 0, outbox.is_settled());
            assert!(model.acked <= model.heard && model.heard <= model.sent, "{end}: {model:?}");
            let mut unsent = 0;
            outbox.each_unsent(|_, _| unsent += 1);
            assert_eq!(unsent, model.said - model.sent, "frames that certainly did not go");
            assert_eq!(sender.window(0).unwrap().free(), model.limit - model.used, "of {end}");
            assert!(model.used <= model.limit && model.limit <= announced, "{model:?}");
            assert!(model.arrived <= model.used && announced - model.freed <= waiting);
        }
    }

    /// Nothing more is lost: all is heard and acknowledged, all credit is told and nobody is stuck.
    fn settle(&mut self) {
        self.happen(Command::Cut([false; 2]));
        for _ in 0..200 {
            for end in [0, 1] {
                self.happen(Command::Free(end, usize::MAX));
                self.happen(Command::Write(end));
                self.happen(Command::Arrive(1 - end));
            }
            self.happen(Command::Pass(10));
        }
        for end in [0, 1] {
            let model = self.model[end];
            assert_eq!((model.heard, model.acked), (model.said, model.said), "at the end");
            assert_eq!(model.limit, self.ends.announced(1 - end), "all credit is known");
            let sender = self.ends.sender(end);
            assert_eq!((sender.outbox.retained(), sender.outbox.waiting_bytes()), (0, 0));
            assert_eq!(
                sender.window(0).unwrap().wanted_limit(),
                None,
                "nobody is stuck at the end"
            );
        }
    }
}

fn code(error: LinkError) -> Code {
    match error {
        LinkError::Misbehaved { code, .. } => code,
        other => panic!("expected a broken rule, got {other}"),
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
        commands.iter().for_each(|command| world.happen(*command));
        world.settle();
    }
}
