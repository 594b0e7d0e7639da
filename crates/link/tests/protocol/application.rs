//! The application of an end: one actor with an inbound queue, and a record of what has come.

use std::collections::VecDeque;

use wigwag_link::credit::Grant;
use wigwag_link::dispatch::application::{ActorReference, Application, Attach, Attached, Found};
use wigwag_link::limits::units;
use wigwag_link::recv_half::ChannelCalls;
use wigwag_link::{Code, LinkError, SendHalf};
use wigwag_wire::call::{Calls, EncodedCall};

/// The number of a call and its method as one word.
pub(crate) fn word(method: u32, number: u64) -> [u8; 8] {
    (u64::from(method) << 56 | number).to_le_bytes()
}

/// The arguments of call `number` of this method, padded with `size` bytes.
pub(crate) fn arguments(method: u32, number: u64, size: usize) -> Vec<u8> {
    let mut bytes = word(method, number).to_vec();
    bytes.resize(8 + size, 7);
    bytes
}

/// The number of a call, which must have arrived with its method.
fn number(call: &EncodedCall<'_>) -> u64 {
    let word = *call.arguments.first_chunk().expect("every call has a number");
    let number = u64::from_le_bytes(word) << 8 >> 8;
    assert_eq!(word, self::word(call.method, number), "call {number} of method {}", call.method);
    number
}

/// Why a batch was not read to its end.
#[derive(Debug)]
pub(crate) enum Stop {
    /// The reader was given as much as it wanted.
    Enough,
    /// The batch breaks a rule.
    Refused(LinkError),
}

impl From<LinkError> for Stop {
    fn from(error: LinkError) -> Stop {
        Stop::Refused(error)
    }
}

/// The content of a batch, as an end has read it.
#[derive(Debug, Default)]
pub(crate) struct Read {
    /// The numbers in calls and replies.
    pub(crate) heard: Vec<u64>,
    pub(crate) units: u64,
    /// The highest limit in CREDIT.
    pub(crate) limit: u64,
    /// How often the calls of a channel were published, and how often before the last ATTACHED or the
    /// last end of a link.
    pub(crate) published: usize,
    pub(crate) published_before: usize,
}

/// An end while it reads a batch.
pub(crate) struct EndApplication<'a> {
    pub(crate) sender: &'a mut SendHalf,
    /// The costs of the calls in the inbound queue.
    pub(crate) queue: &'a mut VecDeque<u64>,
    /// The reader stops after it was given calls or a reply this many times.
    pub(crate) steps: usize,
    /// No actor is found here.
    pub(crate) refuses: bool,
    pub(crate) read: Read,
}

impl EndApplication<'_> {
    fn step(&mut self) -> Result<(), Stop> {
        self.steps -= 1;
        if self.steps == 0 { Err(Stop::Enough) } else { Ok(()) }
    }
}

impl Application for EndApplication<'_> {
    type Actor = ();
    type Channel = ();
    type SendHalf<'a>
        = &'a mut SendHalf
    where
        Self: 'a;
    type Error = Stop;

    fn send_half(&mut self) -> &mut SendHalf {
        self.sender
    }

    fn acknowledged(&mut self, _has_room: bool, _is_settled: bool) {}

    fn find(&mut self, _attach: &Attach<'_>) -> Result<Found<()>, Code> {
        if self.refuses {
            return Err(Code::NO_SUCH_ACTOR);
        }
        Ok(Found {
            actor: (),
            schema_hash: 0,
            codec: 0,
            bound: None,
            reference: Some(ActorReference { number: 1, reference: 1, may_link: true }),
        })
    }

    fn open(&mut self, (): (), channel: u64, _use_of: u64) {
        assert!(channel < 2, "{channel}");
    }

    fn close(&mut self, (): (), _grant: Option<Grant>) {
        panic!("no end sends DETACH");
    }

    fn calls(&mut self, (): &mut (), run: &ChannelCalls<'_>) -> Result<(), Stop> {
        let mut paid = 0;
        for call in Calls::new(run.bytes) {
            // Channel and method take a byte each.
            let cost = units(2 + call.arguments.len());
            self.queue.push_back(cost);
            self.read.heard.push(number(&call));
            paid += cost;
        }
        assert_eq!(paid, run.units);
        self.read.units += paid;
        self.step()
    }

    fn publish(&mut self, (): &mut ()) {
        self.read.published += 1;
    }

    fn unlinked(&mut self, (): &mut (), _link: u64, _reason: &[u8]) {
        self.read.published_before = self.read.published;
    }

    fn describe(&mut self, (): &mut (), asker: (u32, u32), _arguments: &[u8], _units: u64) {
        panic!("{asker:?} asks for the schema");
    }

    fn discarded(&mut self, (): &mut (), units: u64) {
        panic!("a call of {units} units is thrown away");
    }

    fn reply(&mut self, (slot, _): (u32, u32), _value: &[u8]) -> Result<bool, Stop> {
        self.read.heard.push(slot.into());
        self.step().map(|()| true)
    }

    fn failed(&mut self, asker: (u32, u32), code: Code, _: &[u8]) -> Result<bool, Stop> {
        panic!("{asker:?} fails: {code}");
    }

    fn attached(&mut self, _channel: u64, attached: &Attached<'_>) {
        self.read.limit = attached.limit;
        self.read.published_before = self.read.published;
    }

    fn credited(&mut self, _channel: u64, limit: u64, _: u64, _: bool) -> Result<(), Stop> {
        self.read.limit = self.read.limit.max(limit);
        Ok(())
    }

    fn detached(
        &mut self,
        channel: u64,
        code: Code,
        _accepted: u64,
        _reason: &[u8],
    ) -> Result<(), Stop> {
        panic!("channel {channel} ends: {code}");
    }

    fn has_room(&mut self) {}
}
