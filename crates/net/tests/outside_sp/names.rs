//! Spellings of addresses: the other implementations read them as we do.
//!
//! Abstract names are `abstract://` to NNG and `ipc://@` to mangos, and nanomsg has none. A local
//! end before a semicolon exists only in nanomsg; the test gives it in numbers, because the nanocat
//! of Debian reports "No such device" for `lo`.

use std::net::TcpListener;

use wigwag_net::socket::{Rep, Req};

use crate::peer::{NEWER, PATIENCE, Peer, dial, wanted};

/// The program asks us at `ours`, and we ask it at `theirs`; each address is given in our spelling
/// and in the program's.
fn ask_both_ways(program: &str, ours: (&str, &str), theirs: (&str, &str)) {
    eprintln!("{program}: {} and {}", ours.0, theirs.0);
    let rep = Rep::new();
    rep.set_receive_timeout(Some(PATIENCE));
    rep.blocking_listen(ours.0).unwrap();
    let mut asking = Peer::start(program, "req", true, ours.1, &["--data", "question"]);
    assert_eq!(rep.blocking_recv().unwrap(), "question");
    rep.blocking_send("answer").unwrap();
    assert_eq!(asking.line(), "answer");
    drop((asking, rep));
    let _answering = Peer::start(program, "rep", false, theirs.1, &["--data", "answer"]);
    let req = Req::new();
    req.set_receive_timeout(Some(PATIENCE));
    dial(|| req.blocking_dial(theirs.0));
    assert_eq!(req.blocking_ask("question").unwrap(), "answer");
}

#[test]
fn abstract_names_are_the_same_to_nng_and_mangos() {
    if !wanted() {
        return;
    }
    for program in NEWER {
        let name = format!("wigwag-outside-{program}-{}", std::process::id());
        let spelled = |name: &str| match program {
            "nngcat" | "pynng" => format!("abstract://{name}"),
            _ => format!("ipc://@{name}"),
        };
        let (ours, theirs) = (format!("{name}-ours"), format!("{name}-theirs"));
        ask_both_ways(
            program,
            (&format!("ipc://@{ours}"), &spelled(&ours)),
            (&format!("abstract://{theirs}"), &spelled(&theirs)),
        );
    }
}

#[test]
fn a_local_end_stands_before_a_semicolon_as_in_nanomsg() {
    if !wanted() {
        return;
    }
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (ours, theirs) = (free(), free());
    ask_both_ways(
        "nanocat",
        (&format!("tcp://lo:{ours}"), &format!("tcp://127.0.0.1;127.0.0.1:{ours}")),
        (&format!("tcp://lo;127.0.0.1:{theirs}"), &format!("tcp://127.0.0.1:{theirs}")),
    );
}
