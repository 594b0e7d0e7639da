//! Bugs planted on purpose, most of them behind bytes that chance alone does not find: the driver
//! finds every one within the runs of a day.

use bytes::Bytes;
use wigwag_conformance::fuzz::driver::{Driver, run_check};
use wigwag_conformance::fuzz::{Verdict, forward, framing, header, protocol, ring, session};
use wigwag_shm::Progress;
use wigwag_sim::peer::Faults;
use wigwag_sp::stream::BatchBuilder;
use wigwag_sp::{
    CloseReason, Counters, PipeId, Protocol, ProtocolEvent, Pull, Received, RecvError, Refused,
};
use wigwag_wire::{Header, HeaderError, ProtocolNumber, Time};

use crate::{RUNS, SEED};

/// Checks that the bug is found with seeds and dictionary, and its input minimized to `smallest`.
fn is_found(check: impl Fn(&[u8]) -> Verdict, seeds: Vec<Vec<u8>>, smallest: usize) {
    let found = Driver::new(SEED, seeds).find_failure(0..RUNS, &check).expect("the planted bug");
    assert!(found.input.len() <= smallest, "{found}");
    assert!(run_check(&check, &found.input).is_err(), "what is reported is what fails");
}

/// Checks that the bug is found, and is not found without seeds and dictionary.
fn is_dug_out(check: impl Fn(&[u8]) -> Verdict, seeds: Vec<Vec<u8>>, smallest: usize) {
    is_found(&check, seeds, smallest);
    let blind = Driver::blind(SEED).find_failure(0..RUNS, &check);
    assert!(blind.is_none(), "found by chance: {blind:?}");
}

/// Reserved bits are overlooked behind the number of a star.
#[test]
fn a_header_that_overlooks_reserved_bits_is_found() {
    fn parse(bytes: [u8; 8]) -> Result<Header, HeaderError> {
        match bytes {
            [0, b'S', b'P', 0, 6, 0x40, _, _] => Ok(Header { protocol: ProtocolNumber::STAR }),
            _ => Header::parse(bytes),
        }
    }
    is_dug_out(|input| header::check_with(parse, input), header::seeds(), 8);
}

/// A length of 256 is forgotten when no byte of its message is received with it.
#[test]
fn a_framing_that_depends_on_the_split_is_found() {
    let check = |input: &[u8]| {
        let receive: framing::ReceiveEvent = |stream, input| {
            if input.as_slice() == [0, 0, 0, 0, 0, 0, 1, 0] {
                input.skip(8);
            }
            wigwag_wire::ConnectionStateMachine::receive(stream, input, Time::START)
        };
        framing::check_with(receive, input)
    };
    is_found(check, framing::seeds(), 60);
}

/// A ninth word passes where the limit is eight.
#[test]
fn a_limit_of_hops_that_is_one_off_is_found() {
    let check = |input: &[u8]| {
        let receive: forward::ReceiveMessage = |protocol, mut message| {
            let nine = message.len() >= 36 && message[32] & 0x80 != 0;
            let words = [ProtocolNumber::REP, ProtocolNumber::RESPONDENT];
            let nine = nine && words.contains(&protocol.number());
            if nine && (0..8).all(|word| message[4 * word] & 0x80 == 0) {
                message = message.slice(4..);
            }
            protocol.receive(PipeId(1), message, Time::START)
        };
        forward::check_with(receive, input)
    };
    is_found(check, forward::seeds(), 1 + 36);
}

/// A panic on a count of hops that only a raw star meets.
#[test]
fn a_panic_behind_a_sound_header_is_found() {
    let check = |input: &[u8]| {
        let receive: forward::ReceiveMessage = |protocol, message| {
            let is_star = protocol.number() == ProtocolNumber::STAR;
            assert!(!(is_star && message[..] == *b"\0\0\0\x07body"), "planted");
            protocol.receive(PipeId(1), message, Time::START)
        };
        forward::check_with(receive, input)
    };
    is_dug_out(check, forward::seeds(), 9);
}

/// A pull socket that returns one certain message twice.
#[derive(Debug, Default)]
struct Doubling(Pull);

impl Protocol for Doubling {
    fn number(&self) -> ProtocolNumber {
        self.0.number()
    }

    fn open(&mut self, pipe: PipeId, now: Time) -> Result<(), CloseReason> {
        self.0.open(pipe, now)
    }

    fn close(&mut self, pipe: PipeId, now: Time) {
        self.0.close(pipe, now);
    }

    fn finish(&mut self) {
        self.0.finish();
    }

    fn send(&mut self, body: Bytes, now: Time) -> Result<(), Refused> {
        self.0.send(body, now)
    }

    fn fill(&mut self, pipe: PipeId, out: &mut BatchBuilder<'_>) {
        self.0.fill(pipe, out);
    }

    fn receive(&mut self, pipe: PipeId, message: Bytes, now: Time) -> Received {
        if message.starts_with(b"GET ") {
            self.0.receive(pipe, message.clone(), now);
        }
        self.0.receive(pipe, message, now)
    }

    fn is_paused(&self, pipe: PipeId) -> bool {
        self.0.is_paused(pipe)
    }

    fn recv(&mut self, now: Time) -> Result<Bytes, RecvError> {
        self.0.recv(now)
    }

    fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.0.next_event()
    }

    fn counters(&self) -> Counters {
        self.0.counters()
    }
}

#[test]
fn a_socket_that_returns_a_message_twice_is_found() {
    let choose: protocol::SocketFactory = |choice| match choice {
        9 => Box::new(Doubling::default()),
        _ => protocol::make_socket(choice),
    };
    is_dug_out(|input| protocol::check_with(choose, input), protocol::seeds(), 1 + 2 + 9);
}

/// The script begins with an open session, so seeds and dictionary are not needed.
fn is_found_in_a_session(faults: Faults) {
    is_found(|input| session::check_with(faults, input), session::seeds(), 40);
}

#[test]
fn an_end_that_acknowledges_frames_it_never_received_is_found() {
    is_found_in_a_session(Faults { acks_ahead: 1, ..Faults::default() });
}

#[test]
fn an_end_that_accepts_resent_frames_again_is_found() {
    is_found_in_a_session(Faults { skips_deduplication: true, ..Faults::default() });
}

/// A write that fills the ring to its last byte forgets the reader that waits.
#[test]
fn a_ring_that_forgets_a_wake_when_it_is_full_is_found() {
    let check = |input: &[u8]| {
        let written = |held: u64, progress: Progress| match held {
            4096 => Progress { wake: false, ..progress },
            _ => progress,
        };
        ring::check_with(written, input)
    };
    is_found(check, ring::seeds(), 15);
}
