//! Scripts to begin with, one for each story that a session may have.

/// What a step is called, for who writes a script. The upper bit is the listener's.
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
    pub(super) const CARRY: u8 = 34;
    pub(super) const READ_SOME: u8 = 44;
    pub(super) const EXCHANGE: u8 = 46;
    pub(super) const PASS: u8 = 50;
    pub(super) const LOSE: u8 = 52;
    pub(super) const CUT: u8 = 54;
    pub(super) const CONNECT: u8 = 57;
    pub(super) const HURRY: u8 = 62;
    pub(super) const LISTENER: u8 = 0x80;
    pub(super) const OLDER: u8 = 0x40;
}

use step::*;

/// The limits with which a sender fills what is kept until its ack.
const WIDE: u8 = 24;

/// Every story with every choice of limits, framing and features.
pub fn seeds() -> Vec<Vec<u8>> {
    let stories = stories();
    let profiles = 0..32_u8;
    let pairs = profiles.flat_map(|profile| stories.iter().map(move |story| (profile, story)));
    let scripts = pairs.map(|(profile, story)| [&[profile, 7 * profile], &story[..]].concat());
    // Four megabytes: once, because it takes its time.
    let full: Vec<u8> = [TELL, 0, 250].repeat(70);
    let full = [&[WIDE, 0], &BEGIN[..], &full, &[EXCHANGE, CUT, 1, 1], &COME_BACK].concat();
    scripts.chain([full]).collect()
}

const BEGIN: [u8; 4] = [ATTACH, ATTACH | LISTENER, EXCHANGE, EXCHANGE];
const COME_BACK: [u8; 5] = [CONNECT, EXCHANGE, EXCHANGE, EXCHANGE, EXCHANGE];

fn stories() -> Vec<Vec<u8>> {
    let (begin, come_back) = (BEGIN, COME_BACK);
    let calls = [TELL, 0, 3, ASK, 0, 9, ASK | LISTENER, 0, 40, TURN, 0, 30];
    let torn = [WRITE, 20, CARRY, 1, CARRY, 18, WRITE, 0, CARRY, 5, CARRY, 0];
    let answers = [HANDLE, 0, 4, 3, HANDLE | LISTENER, 0, 9, 30, EXCHANGE, PASS, 2, EXCHANGE];
    let stuck = [TELL, 0, 110, TELL, 0, 90, ASK, 0, 100, EXCHANGE, HURRY, EXCHANGE];
    vec![
        [&begin[..], &calls, &torn, &answers].concat(),
        // A cut in the middle of a batch, of both directions, and one that only one end sees.
        [&begin[..], &calls, &[WRITE, 9, CARRY, 0, CUT, 3, 3], &come_back, &calls, &answers]
            .concat(),
        [&begin[..], &calls, &[WRITE, 0, CUT, 5, 0, TELL, 0, 9], &come_back, &answers].concat(),
        [&begin[..], &calls, &[WRITE, 0, LOSE, 0, CONNECT, EXCHANGE, CARRY | OLDER, 0], &come_back]
            .concat(),
        [&begin[..], &calls, &[WRITE, 0, READ_SOME, 0, 2], &come_back, &[CUT, 1, 1], &come_back]
            .concat(),
        // Nobody reads on behind a run, and the same batch comes again.
        [&begin[..], &[TURN, 0, 30, TELL, 0, 3, TELL, 0, 4, WRITE, 0, READ_SOME, 0, 2], &come_back]
            .concat(),
        // RESUMED is lost, then the next claim overtakes one that is late.
        [&begin[..], &[CUT, 1, 1, CONNECT, WRITE, 0, CARRY, 0, WRITE | LISTENER, 0], &calls]
            .concat(),
        [&begin[..], &[CUT, 1, 1], &come_back[..3], &[CUT, 1, 1], &come_back, &calls].concat(),
        // The connection that the dialer comes back on is gone before it has opened.
        [&begin[..], &[CUT, 1, 1, CONNECT, LOSE | LISTENER, 0], &calls].concat(),
        // Credit runs out, and what was said of it is lost.
        [&begin[..], &stuck, &calls, &answers].concat(),
        [&begin[..], &stuck[..9], &[WRITE, 0, CUT, 1, 1], &come_back, &stuck].concat(),
        [&begin[..], &calls, &[EXCHANGE, HURRY, WRITE | LISTENER, 0, CUT, 1, 1], &come_back]
            .concat(),
        // Channels come and go while calls are under way.
        [&begin[..], &calls, &[EXCHANGE, STOP | LISTENER, 0, ASK, 0, 1, DETACH, 0], &come_back]
            .concat(),
        [&begin[..], &calls, &[CANCEL, 0, DETACH, 0, EXCHANGE, EXCHANGE, ATTACH], &answers]
            .concat(),
        // Silence, and the end.
        [&begin[..], &[PASS, 4, PASS, 4, PASS, 4, PASS, 4], &come_back, &calls].concat(),
        [&begin[..], &calls, &[DRAIN, CLOSE, 0xC5, WRITE, 0, EXCHANGE, EXCHANGE]].concat(),
    ]
}
