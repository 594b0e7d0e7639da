//! Messages to sockets that receive none, empty ones, unwanted ones, and streams split anywhere.

use crate::row::{Act, End, Row, WriteMode};
use crate::subject::SocketKind;

const DEAF: [SocketKind; 4] =
    [SocketKind::Pub, SocketKind::Push, SocketKind::RawPub, SocketKind::RawPush];
const HEADLESS: [SocketKind; 8] = [
    SocketKind::Pull,
    SocketKind::Bus,
    SocketKind::Pair0,
    SocketKind::RawPull,
    SocketKind::RawBus,
    SocketKind::RawPair0,
    SocketKind::RawSub,
    SocketKind::Sub,
];

fn message(body: impl AsRef<[u8]>) -> Act {
    Act::Message(body.as_ref().to_vec())
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for ours in DEAF {
        for body in [&b""[..], b"a", b"\x80\0\0\x01body", &[7; 100_000]] {
            let row = Row::partner(format!("{} bytes", body.len()), ours, vec![message(body)]);
            rows.push(row.moves("dropped_unexpected", 1));
        }
        let acts = vec![message("a"); 500];
        let row = Row::partner("500 messages", ours, acts).moves("dropped_unexpected", 500);
        rows.push(row.written(WriteMode::Torn(11)));
    }
    for ours in HEADLESS {
        let empty = Row::partner("an empty message", ours, vec![message("")]);
        rows.push(match ours {
            SocketKind::Sub => empty.moves("filtered", 1),
            _ => empty.delivers([b""]),
        });
        rows.extend(torn(ours));
    }
    rows.extend(unwanted());
    rows.extend(half_closed());
    rows
}

/// Many messages in one write, split at random, byte by byte, and with pauses in between.
fn torn(ours: SocketKind) -> Vec<Row> {
    let bodies: Vec<String> =
        (0..60).map(|number| format!("sound {number}{}", "-".repeat(number))).collect();
    let acts: Vec<Act> = bodies.iter().map(message).collect();
    let paused: Vec<Act> = acts.iter().take(9).flat_map(|act| [act.clone(), Act::Pause]).collect();
    let row = |name: &str, acts: Vec<Act>| Row::partner(name, ours, acts);
    let mut rows = vec![row("message, pause, message", paused).delivers(&bodies[..9])];
    let modes = [
        WriteMode::Whole,
        WriteMode::Single,
        WriteMode::Torn(17),
        WriteMode::Torn(23),
        WriteMode::Torn(31),
    ];
    for mode in modes {
        let sixty = row("60 messages", acts.clone()).delivers(&bodies).written(mode);
        let gone = [acts.clone(), vec![Act::Say(vec![1]), Act::Leave]].concat();
        let gone = row("60 messages and a torn one", gone).delivers(&bodies).written(mode);
        rows.extend([sixty, gone.ends(End::Left)]);
    }
    rows
}

/// The sub socket subscribes to messages that begin with "sound".
fn unwanted() -> Vec<Row> {
    let bodies = ["soun", "Sound", "noise", "\0sound", " sound"];
    let mut rows = Vec::new();
    for body in bodies {
        let row =
            Row::partner(format!("{body:?}, not asked for"), SocketKind::Sub, vec![message(body)]);
        rows.push(row.moves("filtered", 1));
    }
    let acts = [bodies.map(message).to_vec(), vec![message("sound")]].concat();
    let row = Row::partner("what is asked for among them", SocketKind::Sub, acts);
    rows.push(row.delivers(["sound"]).moves("filtered", 5).written(WriteMode::Single));
    rows
}

/// A peer that closes its writing half has left: no SP program does so.
fn half_closed() -> Vec<Row> {
    let mut rows = Vec::new();
    for ours in
        [SocketKind::Pull, SocketKind::Push, SocketKind::Pair0, SocketKind::Bus, SocketKind::Req]
    {
        let acts = vec![Act::Pause, Act::End];
        rows.push(Row::partner("half a close", ours, acts).ends(End::Left));
    }
    rows
}
