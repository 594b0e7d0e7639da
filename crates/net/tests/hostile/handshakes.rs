//! First bytes that are no SP header, or the header of a wrong partner.

use wigwag_wire::ProtocolNumber;

use crate::peer::header;
use crate::row::{Act, End, Row, Sound, WriteMode};
use crate::subject::SocketKind;

/// Numbers that were once used, never were, or are one bit away from one that is.
const NO_PROTOCOLS: [u16; 9] = [0, 1, 0x12, 0x32, 0x60, 0x61, 0x71, 0x641, u16::MAX];

const NAMED: [ProtocolNumber; 12] = [
    ProtocolNumber::PAIR0,
    ProtocolNumber::PAIR1,
    ProtocolNumber::PUB,
    ProtocolNumber::SUB,
    ProtocolNumber::REQ,
    ProtocolNumber::REP,
    ProtocolNumber::PUSH,
    ProtocolNumber::PULL,
    ProtocolNumber::SURVEYOR,
    ProtocolNumber::RESPONDENT,
    ProtocolNumber::BUS,
    ProtocolNumber::STAR,
];

/// The first bytes of other protocols, and bytes that are almost a header.
fn no_sp() -> Vec<(&'static str, &'static [u8])> {
    vec![
        ("a web client", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"),
        ("a web server", b"HTTP/1.1 400 Bad Request\r\n\r\n"),
        ("a form", b"POST /cgi HTTP/1.0\r\n\r\n"),
        ("HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
        ("TLS 1.0 record", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
        ("TLS 1.2 record", b"\x16\x03\x03\x00\x7a\x01\x00\x00\x76\x03\x03"),
        ("SSH", b"SSH-2.0-OpenSSH_9.6\r\n"),
        ("ZMTP", b"\xff\0\0\0\0\0\0\0\x01\x7f"),
        ("zeros", &[0; 64]),
        ("ones", &[0xff; 64]),
        ("magic wrong in byte 0", b"\x01SP\0\0\x30\0\0"),
        ("magic wrong in byte 1", b"\0sP\0\0\x30\0\0"),
        ("magic wrong in byte 2", b"\0Sp\0\0\x30\0\0"),
        ("the magic a byte late", b"\0\0SP\0\0\x30\0\0"),
        ("version 1", b"\0SP\x01\0\x30\0\0"),
        ("version 255", b"\0SP\xff\0\x30\0\0"),
        ("reserved low bit", b"\0SP\0\0\x30\0\x01"),
        ("reserved high bit", b"\0SP\0\0\x30\x80\0"),
        ("reserved all set", b"\0SP\0\0\x30\xff\xff"),
    ]
}

pub(crate) fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    let rejected = |name: String, ours, bytes: &[u8]| {
        // The bytes that follow must never be taken for a message.
        let acts = vec![Act::Say(bytes.to_vec()), Act::Message(b"\x80\0\0\x01no".to_vec())];
        Row::any_peer(name, ours, acts, End::Rejected)
    };
    for (name, bytes) in no_sp() {
        rows.push(rejected(name.to_owned(), SocketKind::Rep, bytes).moves("handshakes.not_sp", 1));
    }
    for number in NO_PROTOCOLS {
        let name = format!("protocol 0x{number:x}");
        let bytes = header(ProtocolNumber(number));
        rows.push(rejected(name, SocketKind::Rep, &bytes).moves("handshakes.wrong_protocol", 1));
    }
    for ours in SocketKind::ALL {
        for theirs in NAMED {
            let is_neighbour = theirs == ours.number() || theirs.0 >> 4 == ours.number().0 >> 4;
            // Every socket gets its own kind and its neighbours; one socket gets all of them.
            if theirs == ours.partner() || !(is_neighbour || *ours == SocketKind::Pull) {
                continue;
            }
            let row = rejected(format!("{theirs}"), *ours, &header(theirs));
            rows.push(row.moves("handshakes.wrong_protocol", 1));
        }
    }
    rows.extend(cut_short());
    rows.extend(after_the_header());
    rows
}

/// Headers that end before they are complete.
fn cut_short() -> Vec<Row> {
    let mut rows = Vec::new();
    let whole = header(ProtocolNumber::REQ);
    for cut in 0..whole.len() {
        for (how, leave) in [("left", Act::Leave), ("reset", Act::Reset), ("ended", Act::End)] {
            let name = format!("header {how} after {cut} bytes");
            let acts = vec![Act::Say(whole[..cut].to_vec()), leave];
            let row = Row::any_peer(name, SocketKind::Rep, acts, End::NeverCame);
            rows.push(row.moves("handshakes.closed", 1));
        }
    }
    rows
}

/// Correct headers, and failures after them.
fn after_the_header() -> Vec<Row> {
    let mut rows = Vec::new();
    for ours in SocketKind::ALL {
        if ours.is_exclusive() {
            let acts = vec![Act::Message(vec![0, 0, 0, 1])];
            // Accepted by its header, and refused by the protocol.
            let row = Row::partner("a second peer", *ours, acts).sound(Sound::Beside);
            rows.push(row.ends(End::Refused).moves("pipes_refused", 1));
        }
        let row = Row::partner("a header byte by byte", *ours, Vec::new());
        rows.push(row.written(WriteMode::Single));
        let row = Row::partner("a header, and gone", *ours, vec![Act::Pause, Act::Leave]);
        rows.push(row.ends(End::Left));
    }
    rows
}
