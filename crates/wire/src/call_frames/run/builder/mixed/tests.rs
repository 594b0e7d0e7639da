use alloc::vec::Vec;

use super::*;
use crate::call_frames::call::{ASKS, Calls, TELLS};
use crate::call_frames::run::{ITEM_BYTES_MAX, Run};
use crate::encoding::small::store;
use crate::{Reader, varint};

const CHANNEL: u64 = 5;

/// The method, asker and arguments of a call.
type Sent = (u32, Option<(u32, u32)>, [u8; 2]);

/// A sender of tells and asks, whose arguments are the number of the call.
struct Sender {
    builder: RunBuilder,
    out: Buffer,
    sent: Vec<Sent>,
    slot: u32,
}

impl Sender {
    fn new() -> Sender {
        let (builder, out) = (RunBuilder::new(true), Buffer::new());
        Sender { builder, out, sent: Vec::new(), slot: 0 }
    }

    fn tell(&mut self, method: u32) {
        let bytes = (self.sent.len() as u16).to_le_bytes();
        let Sender { builder, out, .. } = self;
        let small = |scratch: &mut Scratch, at| {
            store(scratch, at, bytes);
            Some(at + 2)
        };
        if !builder.tell(out, CHANNEL, method, small) {
            builder.close(out);
            let numbers = [CHANNEL, u64::from(method)];
            crate::call_frames::call::small(out, TELL, numbers, small).expect("it is short");
            builder.note_tell(CHANNEL, method);
        }
        self.sent.push((method, None, bytes));
    }

    fn ask(&mut self, method: u32) {
        let (bytes, asker) = ((self.sent.len() as u16).to_le_bytes(), (self.slot, 7));
        let Sender { builder, out, .. } = self;
        let small = |scratch: &mut Scratch, at| {
            store(scratch, at, bytes);
            Some(at + 2)
        };
        if !builder.ask(out, CHANNEL, asker, method, small) {
            builder.close(out);
            let numbers = [CHANNEL, u64::from(asker.0), u64::from(asker.1), u64::from(method)];
            crate::call_frames::call::small(out, ASK, numbers, small).expect("it is short");
            builder.note_ask(CHANNEL, asker, method);
        }
        self.slot += 1;
        self.sent.push((method, Some(asker), bytes));
    }

    /// The kinds of the frames and the number of calls in each, in order. Each call must be there
    /// as it was sent.
    fn kinds(mut self) -> Vec<(u8, usize)> {
        self.builder.close(&mut self.out);
        let calls = Calls::new(self.out.as_slice());
        let found: Vec<_> =
            calls.map(|call| (call.method, call.asker, call.arguments.to_vec())).collect();
        let sent = self.sent.iter().map(|(method, asker, bytes)| (*method, *asker, bytes.to_vec()));
        assert_eq!(found, sent.collect::<Vec<_>>());
        let (mut reader, mut kinds) = (Reader::new(self.out.as_slice()), Vec::new());
        while let Ok(kind) = reader.u8() {
            let length = varint::take(&mut reader).expect("a length") as usize;
            let body = reader.take(length).expect("a body");
            let items = match kind {
                TELL | ASK => 1,
                _ => Run::parse_checked(kind, body).expect("a run").1,
            };
            kinds.push((kind, items));
        }
        kinds
    }
}

#[test]
fn calls_of_two_methods_in_turn_are_mixed_from_the_third_one_on() {
    let mut sender = Sender::new();
    (0..102).for_each(|n| sender.tell(16 + n % 2));
    assert_eq!(sender.kinds(), [(TELL, 1), (TELL, 1), (MIXED_TELLS, 100)]);
    let mut sender = Sender::new();
    (0..102).for_each(|n| sender.ask(16 + n % 3));
    assert_eq!(sender.kinds(), [(ASK, 1), (ASK, 1), (MIXED_ASKS, 100)]);
}

#[test]
fn a_mixed_run_has_as_many_items_as_any_run_and_another_follows() {
    let mut sender = Sender::new();
    let most = RUN_ITEMS_MAX as u32;
    (0..2 + most + 1).for_each(|n| sender.tell(16 + n % 2));
    let expected = [(TELL, 1), (TELL, 1), (MIXED_TELLS, RUN_ITEMS_MAX), (MIXED_TELLS, 1)];
    assert_eq!(sender.kinds(), expected);
}

#[test]
fn a_builder_that_must_not_mix_does_not() {
    let mut sender = Sender { builder: RunBuilder::default(), ..Sender::new() };
    (0..6).for_each(|n| sender.tell(16 + n % 2));
    assert_eq!(sender.kinds(), [(TELL, 1); 6]);
}

/// Calls of one method with another one in between are cheaper as they are.
#[test]
fn a_method_that_changes_seldom_is_not_mixed() {
    let mut sender = Sender::new();
    let calls = FEW_CALLS as u32;
    for _ in 0..3 {
        (0..calls).for_each(|_| sender.tell(16));
        sender.tell(17);
    }
    let once = [(TELL, 1), (TELLS, FEW_CALLS - 1), (TELL, 1)];
    assert_eq!(sender.kinds(), [once; 3].concat());
}

#[test]
fn methods_that_change_after_few_calls_are_mixed() {
    let mut sender = Sender::new();
    let calls = FEW_CALLS as u32 - 1;
    (0..3 * calls).for_each(|n| sender.tell(16 + n / calls % 2));
    let (calls, head) = (calls as usize, [(TELL, 1), (TELLS, FEW_CALLS - 2)]);
    assert_eq!(sender.kinds(), [&head[..], &head, &[(MIXED_TELLS, calls)]].concat());
}

#[test]
fn a_mixed_run_ends_when_one_method_goes_on() {
    let mut sender = Sender::new();
    (0..4).for_each(|n| sender.tell(16 + n % 2));
    (0..SAME_CALLS_MAX + 20).for_each(|_| sender.tell(18));
    (0..3).for_each(|n| sender.tell(16 + n % 2));
    let mixed = 2 + SAME_CALLS_MAX as usize;
    let expected = [
        (TELL, 1),
        (TELL, 1),
        (MIXED_TELLS, mixed),
        (TELLS, 20),
        (TELL, 1),
        (TELL, 1),
        (MIXED_TELLS, 1),
    ];
    assert_eq!(sender.kinds(), expected);
}

#[test]
fn a_mixed_run_of_asks_ends_when_one_method_goes_on() {
    let mut sender = Sender::new();
    (0..4).for_each(|n| sender.ask(16 + n % 2));
    (0..SAME_CALLS_MAX + 10).for_each(|_| sender.ask(18));
    let mixed = 2 + SAME_CALLS_MAX as usize;
    assert_eq!(sender.kinds(), [(ASK, 1), (ASK, 1), (MIXED_ASKS, mixed), (ASKS, 10)]);
}

/// The calls may have been added elsewhere, where the builder does not see them.
#[test]
fn a_mixed_run_is_ended_for_a_method_that_goes_on() {
    let mut sender = Sender::new();
    (0..4).for_each(|n| sender.tell(16 + n % 2));
    assert!(sender.builder.is_mixed());
    sender.builder.end_mixture(17);
    assert!(!sender.builder.is_mixed());
    sender.tell(17);
    sender.builder.end_mixture(17);
    (0..2).for_each(|_| sender.tell(17));
    assert_eq!(sender.kinds(), [(TELL, 1), (TELL, 1), (MIXED_TELLS, 2), (TELLS, 3)]);
}

/// After the end of a buffer one call tells nothing about the next, but those before it do.
#[test]
fn calls_that_were_mixed_are_mixed_soon_in_the_next_buffer() {
    let mut sender = Sender::new();
    (0..4).for_each(|n| sender.tell(16 + n % 2));
    sender.builder.close(&mut sender.out);
    (0..4).for_each(|n| sender.tell(16 + n % 2));
    let head = [(TELL, 1), (TELL, 1), (MIXED_TELLS, 2)];
    assert_eq!(sender.kinds(), [&head[..], &[(TELL, 1), (MIXED_TELLS, 3)]].concat());
}

#[test]
fn asks_are_mixed_only_from_consecutive_slots() {
    let mut sender = Sender::new();
    (0..5).for_each(|n| sender.ask(16 + n % 2));
    sender.slot += 1;
    (0..3).for_each(|n| sender.ask(16 + n % 2));
    let expected = [(ASK, 1), (ASK, 1), (MIXED_ASKS, 3), (ASK, 1), (MIXED_ASKS, 2)];
    assert_eq!(sender.kinds(), expected);
}

#[test]
fn tells_and_asks_are_not_mixed_with_each_other() {
    let mut sender = Sender::new();
    for n in 0..6 {
        sender.tell(16 + n % 2);
        sender.ask(16 + n % 2);
    }
    assert_eq!(sender.kinds(), [(TELL, 1), (ASK, 1)].repeat(6));
}

/// Its method would not fit into the byte of an item.
#[test]
fn a_method_with_a_wide_number_is_not_mixed() {
    let mut sender = Sender::new();
    (0..4).for_each(|n| sender.tell(METHOD_END - 1 + n % 2));
    assert_eq!(sender.kinds(), [(TELL, 1); 4]);
}

#[test]
fn an_item_that_is_too_long_with_its_method_is_left_out() {
    let mut sender = Sender::new();
    (0..3).for_each(|n| sender.tell(16 + n % 2));
    let Sender { builder, out, .. } = &mut sender;
    let room = ITEM_BYTES_MAX - 1;
    let mut long = |method, length| {
        builder.tell(out, CHANNEL, method, |scratch: &mut Scratch, at| {
            (0..length).for_each(|place| store(scratch, at + place, [9]));
            Some(at + length)
        })
    };
    assert!(long(16, room) && !long(17, room + 1));
    builder.close(out);
    let calls: Vec<_> = Calls::new(out.as_slice()).map(|call| call.arguments.len()).collect();
    assert_eq!(calls, [2, 2, 2, room]);
}

#[test]
fn it_is_known_which_method_goes_on() {
    let mut same = SameMethod::default();
    assert!((0..100).all(|n| same.note(16 + n % 2)) && same.goes_on().is_none());
    assert!((1..SAME_CALLS_MAX).all(|_| same.note(17)));
    assert_eq!(same.goes_on(), None);
    assert!(!same.note(17));
    assert_eq!(same.goes_on(), Some(17));
}
