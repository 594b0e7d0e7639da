use std::rc::Rc;
use std::sync::Arc;

use wigwag_wire::small::{Scratch, store};
use wigwag_wire::{Buffer, DecodeError, Reader};

use super::*;

enum One {
    Byte(u8),
    TooLong,
    NotPlain,
}

impl Message for One {
    fn method(&self) -> u32 {
        16
    }

    fn is_plain(&self) -> bool {
        !matches!(self, One::NotPlain)
    }

    fn encode_arguments(&self, _: &mut Buffer) {}

    fn encode_small(&self, window: &mut Scratch, writer: usize) -> Option<usize> {
        match self {
            One::Byte(byte) => store(window, writer, [*byte]),
            One::TooLong => return None,
            One::NotPlain => panic!("its encoder must not run here"),
        }
        Some(writer + 1)
    }

    fn decode(_: u32, _: &mut Reader<'_>) -> Result<Option<One>, DecodeError> {
        Ok(None)
    }
}

/// A byte during whose encoding another thread closes the log.
struct Overtaken(Arc<RunLog>);

impl Message for Overtaken {
    fn method(&self) -> u32 {
        16
    }

    fn is_plain(&self) -> bool {
        true
    }

    fn encode_arguments(&self, _: &mut Buffer) {}

    fn encode_small(&self, window: &mut Scratch, writer: usize) -> Option<usize> {
        std::thread::scope(|scope| scope.spawn(|| self.0.close()).join()).ok()?;
        store(window, writer, [1]);
        Some(writer + 1)
    }

    fn decode(_: u32, _: &mut Reader<'_>) -> Result<Option<Overtaken>, DecodeError> {
        Ok(None)
    }
}

/// Counts how often it is published.
struct Published(Rc<Cell<u32>>);

impl buffers::TurnBuffer for Published {
    fn publish(&mut self) -> buffers::AfterPublish {
        self.0.set(self.0.get() + 1);
        buffers::AfterPublish::Keep
    }
}

#[test]
fn between_turns_a_call_behind_the_closing_is_published_at_once() {
    let count = Rc::new(Cell::new(0));
    let make = || Box::new(Published(count.clone()));
    buffers::with_between_turns(NonZeroUsize::MIN.get(), make, |_| ()).expect("there is room");
    let (owner, (run, log)) = (RunOwner::new(false), OpenRun::new());
    assert!(hand_out(NonZeroUsize::MIN, owner, Some(16), 9, true, run).is_ok());
    assert!(!add(owner, &One::Byte(1)), "this is not a turn");
    assert!(add_between_turns(owner, &One::Byte(2)));
    assert_eq!(count.get(), 0);
    let log = Arc::new(log);
    assert!(add_between_turns(owner, &Overtaken(log.clone())), "it lies in the log");
    assert_eq!(count.get(), 1);
    assert!(!add_between_turns(owner, &One::Byte(3)));
    let log = Arc::into_inner(log).expect("the message is gone");
    assert_eq!(back(log).1, [1, 2, 1, 1]);
}

fn handed_out(room: usize) -> (RunOwner, RunLog) {
    let owner = RunOwner::new(false);
    let (run, log) = OpenRun::new();
    assert!(hand_out(NonZeroUsize::MIN, owner, Some(16), room, false, run).is_ok());
    assert_eq!(super::handed_out(), Some(NonZeroUsize::MIN));
    (owner, log)
}

fn back(mut log: RunLog) -> (usize, Vec<u8>) {
    let run = take_back().expect("it was lent");
    assert!(run.writes_to(&log));
    (run.added(), log.take(log.end()).to_vec())
}

#[test]
fn calls_that_a_caller_adds_are_in_the_log() {
    let (owner, log) = handed_out(2);
    assert!(!add(RunOwner::new(false), &One::Byte(1)));
    assert!(add(owner, &One::Byte(2)));
    assert!(!add(owner, &One::TooLong));
    assert!(add(owner, &One::Byte(3)));
    assert!(!add(owner, &One::Byte(4)), "there is no room");
    assert_eq!(back(log), (2, vec![1, 2, 1, 3]));
    assert!(!add(owner, &One::Byte(5)), "it was taken back");
    assert!(take_back().is_none());
}

#[test]
fn one_run_is_handed_out_at_a_time() {
    let (owner, log) = handed_out(2);
    let (other, (run, other_log)) = (RunOwner::new(false), OpenRun::new());
    let refused = hand_out(NonZeroUsize::MAX, other, Some(16), 2, false, run);
    let run = refused.expect_err("the first is handed out");
    assert!(add(owner, &One::Byte(2)) && !add(other, &One::Byte(3)));
    assert_eq!(back(log), (1, vec![1, 2]));
    assert!(hand_out(NonZeroUsize::MAX, other, Some(16), 2, false, run).is_ok());
    assert_eq!(back(other_log), (0, vec![]));
}

#[test]
fn an_owner_whose_peer_has_another_codec_does_not_join() {
    let owner = RunOwner::new(false);
    assert_eq!(owner.or_new(false), owner);
    let (run, log) = OpenRun::new();
    assert!(hand_out(NonZeroUsize::MIN, owner.or_new(true), Some(16), 9, false, run).is_ok());
    assert!(!add(owner, &One::Byte(1)));
    assert_eq!(back(log), (0, vec![]));
}

#[test]
fn another_method_does_not_join() {
    let (owner, (run, log)) = (RunOwner::new(false), OpenRun::new());
    assert!(hand_out(NonZeroUsize::MIN, owner, Some(17), 9, false, run).is_ok());
    assert!(!add(owner, &One::Byte(1)));
    assert_eq!(back(log), (0, vec![]));
}

/// A byte as the argument of a method.
struct Of(u32, u8);

impl Message for Of {
    fn method(&self) -> u32 {
        self.0
    }

    fn is_plain(&self) -> bool {
        true
    }

    fn encode_arguments(&self, _: &mut Buffer) {}

    fn encode_small(&self, window: &mut Scratch, writer: usize) -> Option<usize> {
        store(window, writer, [self.1]);
        Some(writer + 1)
    }

    fn decode(_: u32, _: &mut Reader<'_>) -> Result<Option<Of>, DecodeError> {
        Ok(None)
    }
}

fn mixed(room: usize) -> (RunOwner, RunLog) {
    let (owner, (run, log)) = (RunOwner::new(false), OpenRun::new());
    assert!(hand_out(NonZeroUsize::MIN, owner, None, room, false, run).is_ok());
    (owner, log)
}

#[test]
fn calls_of_every_method_join_a_mixed_run_behind_their_methods() {
    let (owner, log) = mixed(3);
    assert!(!add(RunOwner::new(false), &Of(16, 1)), "it belongs to another owner");
    assert!(add(owner, &Of(16, 2)) && add(owner, &Of(17, 3)));
    assert!(!add(owner, &Of(METHOD_END, 4)), "its number takes two bytes");
    assert!(!add(owner, &One::TooLong));
    assert!(add(owner, &Of(METHOD_END - 1, 5)));
    assert!(!add(owner, &Of(16, 6)), "there is no room");
    assert_eq!(back(log), (3, vec![2, 16, 2, 2, 17, 3, 2, 0x7F, 5]));
}

#[test]
fn a_mixed_run_is_given_back_when_one_method_goes_on() {
    let (owner, log) = mixed(200);
    let in_turn = (0..50).filter(|n| add(owner, &Of(16 + n % 2, 0))).count();
    let in_a_row = (0..50).take_while(|_| add(owner, &Of(18, 0))).count();
    assert_eq!(in_turn, 50);
    assert!((2..50).contains(&in_a_row), "{in_a_row}");
    let run = take_back().expect("it is handed out");
    assert_eq!((run.added(), run.method_that_goes_on()), (50 + in_a_row, Some(18)));
    assert!(run.writes_to(&log));
}

#[test]
fn a_caller_adds_nothing_to_a_mixed_run_that_another_thread_has_closed() {
    let (owner, log) = mixed(9);
    assert!(add(owner, &Of(16, 2)));
    std::thread::scope(|scope| {
        let log = &log;
        scope.spawn(move || log.close());
    });
    assert!(!add(owner, &Of(16, 3)) && !add(owner, &Of(17, 3)));
    assert_eq!(back(log), (1, vec![2, 16, 2]));
}

#[test]
fn a_caller_adds_nothing_to_a_run_that_another_thread_has_closed() {
    let (owner, (run, log)) = (RunOwner::new(false), OpenRun::new());
    assert!(hand_out(NonZeroUsize::MIN, owner, Some(16), 9, false, run).is_ok());
    assert!(add(owner, &One::Byte(2)));
    std::thread::scope(|scope| {
        let log = &log;
        scope.spawn(move || log.close());
    });
    assert!(!add(owner, &One::Byte(3)));
    assert_eq!(back(log), (1, vec![1, 2]));
}

#[test]
fn a_call_that_an_encoder_of_the_program_writes_does_not_join() {
    let (owner, log) = handed_out(9);
    assert!(add(owner, &One::Byte(2)));
    assert!(!add(owner, &One::NotPlain));
    assert!(add(owner, &One::Byte(3)));
    assert_eq!(back(log), (2, vec![1, 2, 1, 3]));
}
