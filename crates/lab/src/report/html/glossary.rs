//! The meaning of the words on the page.
//!
//! A reader who was sent a page has not read the lab's contract: workloads and cells are told in a
//! sentence each, and so are verdicts and the heads of columns. A workload or a cell that is not
//! known here goes without.

use crate::report::columns::Column;
use crate::report::escape::html;
use crate::report::html::table;
use crate::report::layout::OWN;
use crate::results::Verdict;
use crate::workload::relayed::CUTS_NAME;
use crate::workload::remote::over;
use crate::workload::sp;

/// The question of each workload.
const WORKLOADS: &[(&str, &str)] = &[
    ("pingpong", "Many TCP connections at once, each with one request of four bytes in flight."),
    (
        "counter",
        "Actors within one process: senders side by side count into one, which is then asked for \
         its total; one that is slow; asks, rings, and very many at once.",
    ),
    ("remote", "Two processes that speak the participant's own wire with each other."),
    (
        "http",
        "One URL that answers with a small JSON document, connections kept open. A message is a \
         request and its answer; times are round trips, one in flight on each connection.",
    ),
    (
        "sp",
        "Sockets of the Scalability Protocols, or a participant's own that do the same: round trips, \
         and messages one way, between two processes over tcp, ipc, shared memory, TLS and \
         WebSocket, and over inproc in one.",
    ),
];

const PACED: &str = "Every message is answered, and sent when it is due, at a share of the rate \
                     of `ask`. Latency begins when it is due, so a stall is in it.";
const CALLERS: &str = "So many callers ask one actor, each one question at a time, and are answered with \
                       a struct of two numbers, a text and two tags.";
const CALLERS_EACH: &str = "The same, each caller asking an actor of its own.";
const LINKS: &str = "The same over so many connections at once.";
const VEC: &str = "One way, an array of so many bytes for each message.";
const BYTES: &str = "One way, so many bytes that can be shared without a copy for each message.";
const OVERLOAD: &str = "Callers that wait 50 ms order that share of what the actor can do, 2,000 a \
                        second: the rate is of the answers in time.";

const DELAYED: &str = "The same through the lab's relay, which adds so much each way. `kept` is what is \
                       left of the rate through the relay alone.";

/// The measurement of each cell.
const CELLS: &[(&str, &str)] = &[
    ("server", "Each participant's server, driven by the lab's own client."),
    ("client", "Each participant's client, beside the lab's own server."),
    (OWN, "Each participant's server with its own client."),
    ("tell", "One way, as fast as the manual says one should."),
    ("tell, MessagePack", "The same without the form in which numbers have their own width."),
    ("tell, not kept", "The same over a session that ends when its connection is cut."),
    ("tell, 16 senders", "The same from 16 tasks at once."),
    ("tell, 1000 actors", "The same to a thousand actors in turn."),
    ("tell, 1000 actors at random", "The same to a thousand actors, of which any is next."),
    ("tell, 100000 actors", "The same to a hundred thousand actors in turn."),
    ("tell, 100000 actors at random", "The same to a hundred thousand, of which any is next."),
    ("tell, 4 links", LINKS),
    ("tell, 16 links", LINKS),
    ("tell, 100 links", LINKS),
    ("tell, 1000 links", LINKS),
    ("tell, relayed", "One way through the lab's relay, which adds no time of its own on purpose."),
    ("tell, 1 ms", DELAYED),
    ("tell, 10 ms", DELAYED),
    (
        "ask, relayed",
        "Every message is answered, through the lab's relay; a million may be in flight.",
    ),
    ("ask, 1 ms", DELAYED),
    ("ask, 10 ms", DELAYED),
    ("rtt, 10 ms", "One ask at a time, to an actor that is 10 ms away."),
    (
        "chain, 10 ms",
        "Three calls, each to the actor that the answer to the one before it leads to: how much longer than one ask?",
    ),
    ("join 80, 10 ms", "80 asks that are awaited together: how much longer than one ask?"),
    (CUTS_NAME, "One way through the lab's relay, which resets the connection ten times."),
    ("tell, thread", "The same from a plain thread, by calls that block while there is no room."),
    ("tell, u64", "One way, one number of 64 bits for each message."),
    ("tell, u64, task", "The same from a task of Tokio that the participant did not start."),
    ("tell, u64, thread", "The same from a plain thread."),
    ("tell, two methods", "One way, two methods in turn."),
    ("tell, text", "One way, a text of 100 letters for each message."),
    (
        "upload",
        "One way, texts of 100 letters as the items of a stream that is an argument of a call.",
    ),
    ("stream", "One way, texts of 100 letters as the items of one stream, which a reader takes."),
    ("tell, struct", "One way, a struct of two numbers, a text and two tags for each message."),
    ("tell, vec 1 KiB", VEC),
    ("tell, vec 16 KiB", VEC),
    ("tell, vec 60 KiB", VEC),
    ("tell, bytes 1 KiB", BYTES),
    ("tell, bytes 16 KiB", BYTES),
    ("tell, bytes 60 KiB", BYTES),
    ("rtt, blob", "One ask at a time, while messages of 16 MiB go to another actor."),
    ("naive", "One way in a plain loop without pacing, as a beginner writes it."),
    ("naive ask", "The same, and every message is answered."),
    ("paced 50 %", PACED),
    ("paced 80 %", PACED),
    ("paced 95 %", PACED),
    ("1 caller", CALLERS),
    ("8 callers", CALLERS),
    ("64 callers", CALLERS),
    ("1000 callers", CALLERS),
    ("10000 callers", CALLERS),
    ("64 callers, actor each", CALLERS_EACH),
    ("1000 callers, actor each", CALLERS_EACH),
    ("overload 50 %", OVERLOAD),
    ("overload 100 %", OVERLOAD),
    ("overload 200 %", OVERLOAD),
    ("overload 500 %", OVERLOAD),
    ("ask", "Every message is answered; many are in flight."),
    (
        "callback",
        "Every message brings a reference to an actor of the client, which is told the answer.",
    ),
    ("rtt", "Every message is answered; one is in flight."),
    ("slow", "Two senders and an actor that is slower than they are: does the memory stay flat?"),
    ("local ask", "One asks an actor of the same process; one ask is in flight."),
    ("bounce", "Two actors hand a number to each other."),
    ("ring", "A thousand actors hand a number round."),
    ("1000 actors", "Four senders tell a thousand actors, of which any is next."),
    ("spawn", "A million actors alive at once; then each is told once and tells of itself."),
];

/// The question of `workload`, if it is known.
pub(crate) fn of_workload(workload: &str) -> Option<&'static str> {
    meaning(WORKLOADS, workload)
}

/// The measurement of `cell`, if it is known.
pub(crate) fn of_cell(cell: &str) -> Option<&'static str> {
    meaning(CELLS, cell).or_else(|| sp::meaning(cell)).or_else(|| over::meaning(cell))
}

fn meaning(known: &[(&str, &'static str)], wanted: &str) -> Option<&'static str> {
    known.iter().find(|(name, _)| *name == wanted).map(|(_, meaning)| *meaning)
}

/// The heads of the columns and the verdicts, for whoever cannot point at them.
pub(crate) fn all() -> String {
    let verdicts = [
        (Verdict::Valid, "Every message was accounted for."),
        (Verdict::Flagged, "Valid, with something that a reader must know."),
        (
            Verdict::Void,
            "It lost, doubled, changed or faked messages, or did not do as ordered. It has no \
             number anywhere.",
        ),
        (Verdict::NotInstalled, "It was not run; the reason says what mends that."),
        (Verdict::Absent, "It has no such thing; the reason says why."),
    ];
    let mut text = "<h2 id=words>Words</h2>\n<dl>\n".to_owned();
    for (verdict, meaning) in verdicts {
        text.push_str(&format!("<dt>{}</dt><dd>{meaning}</dd>\n", table::verdict(verdict)));
    }
    for column in Column::all() {
        let (title, meaning) = (html(column.title), html(column.meaning));
        text.push_str(&format!("<dt>{title}</dt><dd>{meaning}</dd>\n"));
    }
    text.push_str(
        "<dt>witness</dt><dd>full: a reference program of the lab stood on the other side. digest: \
         the receiver's digest over payloads that only the sender knew.</dd>\n</dl>\n",
    );
    text
}
