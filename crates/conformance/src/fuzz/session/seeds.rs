//! Seeds: one script for each typical course of a session.

/// The names of the steps. The upper bit selects the listener.
mod step {
    pub(super) const ATTACH: u8 = 0;
    pub(super) const TELL: u8 = 4;
    pub(super) const ASK: u8 = 9;
    pub(super) const TURN: u8 = 14;
    pub(super) const HANDLE: u8 = 17;
    pub(super) const CANCEL: u8 = 21;
    pub(super) const DETACH: u8 = 22;
    pub(super) const STOP: u8 = 23;
    pub(super) const DRAIN: u8 = 24;
    pub(super) const CLOSE: u8 = 25;
    pub(super) const WRITE: u8 = 26;
    pub(super) const DELIVER: u8 = 34;
    pub(super) const READ_SOME: u8 = 44;
    pub(super) const EXCHANGE: u8 = 46;
    pub(super) const ADVANCE_CLOCK: u8 = 50;
    pub(super) const LOSE: u8 = 52;
    pub(super) const CUT: u8 = 54;
    pub(super) const CONNECT: u8 = 57;
    pub(super) const HANDLE_ALL: u8 = 62;
    pub(super) const LISTENER: u8 = 0x80;
    pub(super) const OLDER: u8 = 0x40;
}

use step::*;

/// The limits with which a sender can fill the outbox, which keeps frames until their ack.
const WIDE: u8 = 24;

/// Each script with each choice of limits, framing and features.
pub fn seeds() -> Vec<Vec<u8>> {
    let scenarios = scenarios();
    let profiles = 0..32_u8;
    let pairs =
        profiles.flat_map(|profile| scenarios.iter().map(move |scenario| (profile, scenario)));
    let scripts =
        pairs.map(|(profile, scenario)| [&[profile, 7 * profile], &scenario[..]].concat());
    // Four megabytes: only once, because it takes long.
    let full: Vec<u8> = [TELL, 0, 250].repeat(70);
    let full = [&[WIDE, 0], &OPEN[..], &full, &[EXCHANGE, CUT, 1, 1], &RECONNECT].concat();
    scripts.chain([full]).collect()
}

const OPEN: [u8; 4] = [ATTACH, ATTACH | LISTENER, EXCHANGE, EXCHANGE];
const RECONNECT: [u8; 5] = [CONNECT, EXCHANGE, EXCHANGE, EXCHANGE, EXCHANGE];

fn scenarios() -> Vec<Vec<u8>> {
    let (open, reconnect) = (OPEN, RECONNECT);
    let calls = [TELL, 0, 3, ASK, 0, 9, ASK | LISTENER, 0, 40, TURN, 0, 30];
    let torn = [WRITE, 20, DELIVER, 1, DELIVER, 18, WRITE, 0, DELIVER, 5, DELIVER, 0];
    let answers =
        [HANDLE, 0, 4, 3, HANDLE | LISTENER, 0, 9, 30, EXCHANGE, ADVANCE_CLOCK, 2, EXCHANGE];
    let stuck = [TELL, 0, 110, TELL, 0, 90, ASK, 0, 100, EXCHANGE, HANDLE_ALL, EXCHANGE];
    vec![
        [&open[..], &calls, &torn, &answers].concat(),
        // A cut in the middle of a batch, of both directions, and one that only one end sees.
        [&open[..], &calls, &[WRITE, 9, DELIVER, 0, CUT, 3, 3], &reconnect, &calls, &answers]
            .concat(),
        [&open[..], &calls, &[WRITE, 0, CUT, 5, 0, TELL, 0, 9], &reconnect, &answers].concat(),
        [
            &open[..],
            &calls,
            &[WRITE, 0, LOSE, 0, CONNECT, EXCHANGE, DELIVER | OLDER, 0],
            &reconnect,
        ]
        .concat(),
        [&open[..], &calls, &[WRITE, 0, READ_SOME, 0, 2], &reconnect, &[CUT, 1, 1], &reconnect]
            .concat(),
        // Reading stops behind a run, and the same batch is sent again.
        [&open[..], &[TURN, 0, 30, TELL, 0, 3, TELL, 0, 4, WRITE, 0, READ_SOME, 0, 2], &reconnect]
            .concat(),
        // RESUMED is lost, then the next claim overtakes one that is late.
        [&open[..], &[CUT, 1, 1, CONNECT, WRITE, 0, DELIVER, 0, WRITE | LISTENER, 0], &calls]
            .concat(),
        [&open[..], &[CUT, 1, 1], &reconnect[..3], &[CUT, 1, 1], &reconnect, &calls].concat(),
        // The connection on which the dialer resumes is lost before it has opened.
        [&open[..], &[CUT, 1, 1, CONNECT, LOSE | LISTENER, 0], &calls].concat(),
        // Credit runs out, and the frame that reports it is lost.
        [&open[..], &stuck, &calls, &answers].concat(),
        [&open[..], &stuck[..9], &[WRITE, 0, CUT, 1, 1], &reconnect, &stuck].concat(),
        [&open[..], &calls, &[EXCHANGE, HANDLE_ALL, WRITE | LISTENER, 0, CUT, 1, 1], &reconnect]
            .concat(),
        // Channels open and close while calls are in flight.
        [&open[..], &calls, &[EXCHANGE, STOP | LISTENER, 0, ASK, 0, 1, DETACH, 0], &reconnect]
            .concat(),
        [&open[..], &calls, &[CANCEL, 0, DETACH, 0, EXCHANGE, EXCHANGE, ATTACH], &answers].concat(),
        // Silence, and the end.
        [
            &open[..],
            &[ADVANCE_CLOCK, 4, ADVANCE_CLOCK, 4, ADVANCE_CLOCK, 4, ADVANCE_CLOCK, 4],
            &reconnect,
            &calls,
        ]
        .concat(),
        [&open[..], &calls, &[DRAIN, CLOSE, 0xC5, WRITE, 0, EXCHANGE, EXCHANGE]].concat(),
    ]
}
