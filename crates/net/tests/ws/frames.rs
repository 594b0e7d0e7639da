//! The cases of the Autobahn test suite that concern binary messages, at either end, by their numbers.
//!
//! The suite's newest release (25.10.1) does not start on Python 3, and Python 2 is no longer maintained,
//! so its cases are listed here. Those whose subject is not text itself are played with
//! BINARY. Left out: 1.1 and 6 (text and its encoding: SP has none, and TEXT is refused with 1003), 9.7
//! (round trips of text), 12 and 13 (compression, which is not offered).

use super::raw::{Raw, Role, Seen, connected, frame};

/// One action of the peer.
enum Step {
    /// Sends a frame with this first byte.
    Frame(u8, Vec<u8>),
    /// Sends a frame in so many bytes at a time.
    Chopped(u8, Vec<u8>, usize),
    /// Must see this next.
    See(Seen),
}
use Step::{Chopped, Frame, See};

const BINARY: u8 = 0x82;
const BINARY_BEGINS: u8 = 0x02;
const CONTINUES: u8 = 0x00;
const CONTINUES_LAST: u8 = 0x80;
const PING: u8 = 0x89;
const PONG: u8 = 0x8a;
const CLOSE: u8 = 0x88;

fn message(body: &[u8]) -> Step {
    See(Seen::Message(body.to_vec()))
}

fn pong(body: &[u8]) -> Step {
    See(Seen::Pong(body.to_vec()))
}

fn closed(code: u16) -> Step {
    See(Seen::Close(Some(code)))
}

fn send(first: u8, body: &[u8]) -> Step {
    Frame(first, body.to_vec())
}

fn close(code: u16) -> Step {
    Frame(CLOSE, code.to_be_bytes().to_vec())
}

/// Plays each case with the peer as client and as server.
async fn play(cases: impl Fn() -> Vec<(String, Vec<Step>)>) {
    for role in [Role::Client, Role::Server] {
        for (number, steps) in cases() {
            let (_echo, mut raw) = connected(role).await;
            for (place, step) in steps.into_iter().enumerate() {
                play_step(&mut raw, step, &format!("{role:?} {number}, step {place}")).await;
            }
        }
    }
}

async fn play_step(raw: &mut Raw, step: Step, place: &str) {
    match step {
        Frame(first, body) => raw.send(&frame(raw.role, first, &body), usize::MAX).await,
        Chopped(first, body, chop) => raw.send(&frame(raw.role, first, &body), chop).await,
        See(expected) => {
            let seen = raw.see().await;
            assert!(seen == expected, "{place}: {}", brief(&seen));
        }
    }
}

fn brief(seen: &Seen) -> String {
    format!("{seen:?}").chars().take(200).collect()
}

fn named(number: &str, steps: Vec<Step>) -> (String, Vec<Step>) {
    (number.to_owned(), steps)
}

#[tokio::test]
async fn autobahn_1_2_binary_messages_of_every_length_come_back() {
    play(|| {
        let lengths = [0, 125, 126, 127, 128, 65_535, 65_536];
        let whole = lengths.iter().enumerate().map(|(place, length)| {
            let body = vec![0xfe; *length];
            (format!("1.2.{}", place + 1), vec![send(BINARY, &body), message(&body)])
        });
        let body = vec![0xfe; 65_536];
        let chopped = named("1.2.8", vec![Chopped(BINARY, body.clone(), 997), message(&body)]);
        whole.chain([chopped]).collect()
    })
    .await;
}

#[tokio::test]
async fn autobahn_2_pings_are_answered_with_their_payload() {
    play(|| {
        let long = vec![0xfe; 125];
        let ten: Vec<Vec<u8>> = (0..10).map(|number| format!("payload-{number}").into()).collect();
        // A ping that follows before the answer is written may replace it, so each waits.
        let each = |chop: usize| {
            let both = |body: &Vec<u8>| [Chopped(PING, body.clone(), chop), pong(body)];
            ten.iter().flat_map(both).collect()
        };
        vec![
            named("2.1", vec![send(PING, b""), pong(b"")]),
            named("2.2", vec![send(PING, b"Hello, world!"), pong(b"Hello, world!")]),
            named("2.3", vec![send(PING, b"\0\xff\xfe\xfd"), pong(b"\0\xff\xfe\xfd")]),
            named("2.4", vec![send(PING, &long), pong(&long)]),
            named("2.5", vec![send(PING, &[0xfe; 126]), closed(1002)]),
            named("2.6", vec![Chopped(PING, long.clone(), 1), pong(&long)]),
            named("2.7", vec![send(PONG, b""), send(BINARY, b"on"), message(b"on")]),
            named("2.8", vec![send(PONG, b"unasked"), send(BINARY, b"on"), message(b"on")]),
            named("2.9", vec![send(PONG, b"unasked"), send(PING, b"ping"), pong(b"ping")]),
            named("2.10", each(usize::MAX)),
            named("2.11", each(1)),
        ]
    })
    .await;
}

#[tokio::test]
async fn autobahn_3_and_4_reserved_bits_and_opcodes_are_refused() {
    play(|| {
        let reserved = (1..8_u8).map(|bits| (format!("3.{bits}"), BINARY | (bits << 4)));
        let data = (3..8_u8).map(|opcode| (format!("4.1.{}", opcode - 2), 0x80 | opcode));
        let control = (11..16_u8).map(|opcode| (format!("4.2.{}", opcode - 10), 0x80 | opcode));
        let wrong = reserved.chain(data).chain(control);
        let steps = |first| {
            vec![send(BINARY, b"before"), message(b"before"), send(first, b"x"), closed(1002)]
        };
        wrong.map(|(number, first)| (number, steps(first))).collect()
    })
    .await;
}

#[tokio::test]
async fn autobahn_5_fragments_are_assembled_with_control_frames_between() {
    play(|| {
        let (one, two) = (b"fragment1", b"fragment2");
        let both = || message(b"fragment1fragment2");
        let between = |chop: usize| {
            vec![
                Chopped(BINARY_BEGINS, one.to_vec(), chop),
                Chopped(PING, b"ping".to_vec(), chop),
                pong(b"ping"),
                Chopped(CONTINUES_LAST, two.to_vec(), chop),
                both(),
            ]
        };
        let pieces = |chop: usize| {
            let parts = [(BINARY_BEGINS, one), (CONTINUES_LAST, two)];
            let parts = parts.map(|(first, body)| Chopped(first, body.to_vec(), chop));
            parts.into_iter().chain([both()]).collect()
        };
        let orphan = |first| vec![send(first, one), send(BINARY, b"x"), closed(1002)];
        let many = || {
            vec![
                send(BINARY_BEGINS, b"fragment1"),
                send(CONTINUES, b"fragment2"),
                send(PING, b"first"),
                pong(b"first"),
                send(CONTINUES, b"fragment3"),
                send(CONTINUES, b"fragment4"),
                send(PING, b"second"),
                pong(b"second"),
                send(CONTINUES_LAST, b"fragment5"),
                message(b"fragment1fragment2fragment3fragment4fragment5"),
            ]
        };
        vec![
            named("5.1", vec![send(0x09, one), send(0x80, two), closed(1002)]),
            named("5.2", vec![send(0x0a, one), send(0x80, two), closed(1002)]),
            named("5.3", pieces(usize::MAX)),
            named("5.5", pieces(1)),
            named("5.6", between(usize::MAX)),
            named("5.8", between(1)),
            named("5.9", orphan(CONTINUES_LAST)),
            named("5.12", orphan(CONTINUES)),
            named("5.15", {
                let again = vec![send(CONTINUES, one), closed(1002)];
                pieces(usize::MAX).into_iter().chain(again).collect()
            }),
            named("5.18", vec![send(BINARY_BEGINS, one), send(BINARY, two), closed(1002)]),
            named("5.19", many()),
            named("an empty first fragment", {
                vec![send(BINARY_BEGINS, b""), send(CONTINUES_LAST, two), message(two)]
            }),
        ]
    })
    .await;
}

#[tokio::test]
async fn autobahn_7_the_end_is_answered_and_its_code_is_checked() {
    play(|| {
        let reason = |length: usize| [&1000_u16.to_be_bytes()[..], &vec![b'*'; length]].concat();
        let mut cases = vec![
            named("7.1.1", vec![send(BINARY, b"x"), message(b"x"), close(1000), closed(1000)]),
            named("7.1.2", vec![close(1000), close(1000), closed(1000)]),
            named("7.1.3", vec![close(1000), send(PING, b"late"), closed(1000)]),
            named("7.1.4", vec![close(1000), send(BINARY, b"late"), closed(1000)]),
            named("7.1.5", {
                vec![
                    send(BINARY_BEGINS, b"a"),
                    close(1000),
                    send(CONTINUES_LAST, b"b"),
                    closed(1000),
                ]
            }),
            named("7.3.1", vec![send(CLOSE, b""), See(Seen::Close(None))]),
            named("7.3.2", vec![send(CLOSE, b"a"), closed(1002)]),
            named("7.3.3", vec![close(1000), closed(1000)]),
            named("7.3.4", vec![Frame(CLOSE, reason(14)), closed(1000)]),
            named("7.3.5", vec![Frame(CLOSE, reason(123)), closed(1000)]),
            named("7.3.6", vec![Frame(CLOSE, reason(124)), closed(1002)]),
            named(
                "7.5.1",
                vec![send(CLOSE, b"\x03\xe8\xce\xba\xe1\xbd\xb9\xed\xa0\x80"), closed(1007)],
            ),
        ];
        let valid = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999];
        for code in valid {
            cases.push((format!("7.7, {code}"), vec![close(code), closed(code)]));
        }
        for code in [0, 999, 1004, 1005, 1006, 1015, 1016, 1100, 2000, 2999, 5000, 65_535] {
            cases.push((format!("7.9 and 7.13, {code}"), vec![close(code), closed(1002)]));
        }
        cases
    })
    .await;
}

/// 9.2 and 9.4 to 9.6 with up to 4 MiB, 9.8 with 1,000 messages, and 10.1.
#[tokio::test]
async fn autobahn_9_and_10_long_messages_pass_in_any_pieces() {
    play(|| {
        let mut cases = Vec::new();
        for length in [65_536, 256 * 1024, 1024 * 1024, 4 * 1024 * 1024] {
            let body: Vec<u8> = (0..length).map(|place| (place % 251) as u8).collect();
            let steps = vec![send(BINARY, &body), message(&body)];
            cases.push((format!("9.2, {length} bytes"), steps));
        }
        let body: Vec<u8> = (0..4 * 1024 * 1024).map(|place| (place % 251) as u8).collect();
        for fragment in [64, 1024, 65_536, 4 * 1024 * 1024 - 1] {
            let mut steps = Vec::new();
            let parts = body.chunks(fragment);
            let last = parts.len() - 1;
            for (place, part) in parts.enumerate() {
                let first = if place == 0 { BINARY_BEGINS } else { 0 };
                steps.push(send(first | if place == last { 0x80 } else { 0 }, part));
            }
            steps.push(message(&body));
            cases.push((format!("9.4, fragments of {fragment} bytes"), steps));
        }
        let short = &body[..1024 * 1024];
        for chop in [64, 2048] {
            let steps = vec![Chopped(BINARY, short.to_vec(), chop), message(short)];
            cases.push((format!("9.6, {chop} bytes at a time"), steps));
        }
        let each = (0..1000).flat_map(|_| [send(BINARY, &[7; 64]), message(&[7; 64])]);
        cases.push(named("9.8", each.collect()));
        cases
    })
    .await;
}

#[tokio::test]
async fn text_is_refused_and_frames_are_masked_by_clients_only() {
    play(|| {
        vec![
            named("1.1, text", vec![send(0x81, b"text"), closed(1003)]),
            named("text in fragments", vec![send(0x01, b"te"), closed(1003)]),
        ]
    })
    .await;
    for role in [Role::Client, Role::Server] {
        let other = if role == Role::Client { Role::Server } else { Role::Client };
        let (echo, mut raw) = connected(role).await;
        raw.send(&frame(other, BINARY, b"x"), usize::MAX).await;
        assert_eq!(raw.see().await, Seen::Close(Some(1002)), "{role:?}");
        assert_eq!(echo.pair.statistics().counters.received, 0);
        // The highest bit of a length of 64 bits must be 0.
        let (_echo, mut raw) = connected(role).await;
        let masked = if role == Role::Client { 0xff } else { 0x7f };
        raw.send(&[BINARY, masked, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0], usize::MAX).await;
        assert_eq!(raw.see().await, Seen::Close(Some(1002)), "{role:?}");
    }
}
