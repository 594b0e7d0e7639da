//! Our sockets against programs of others: nanocat of nanomsg, nngcat of NNG.
//!
//! Each protocol, each direction of the connection, over tcp and ipc. The programs come with the
//! Debian packages nanomsg-utils and nng-utils. The tests run when `WIGWAG_OUTSIDE=1` is set; then
//! a program that is not installed is a failure. nanomsg has no pair version 1.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::thread;
use std::time::Duration;

use wigwag_net::NetErrorKind;
use wigwag_net::socket::{Pair, Pull, Push, Rep, Req};

/// A peer that says nothing for this long is not going to.
const PATIENCE: Duration = Duration::from_secs(20);

const BOTH: [&str; 2] = ["nanocat", "nngcat"];
const SCHEMES: [&str; 2] = ["tcp", "ipc"];

fn wanted() -> bool {
    let wanted = std::env::var("WIGWAG_OUTSIDE").is_ok_and(|value| value == "1");
    if !wanted {
        eprintln!("not run: set WIGWAG_OUTSIDE=1 to talk to nanocat and nngcat");
    }
    wanted
}

/// A program that runs until it is dropped.
struct Peer {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Peer {
    /// `role` without its dashes; `connect` dials, otherwise the program listens.
    fn start(program: &str, role: &str, connect: bool, address: &str, more: &[&str]) -> Peer {
        let patience = PATIENCE.as_secs().to_string();
        // A push socket receives nothing, and nanocat does not start with options for it.
        let receives: &[&str] = match role {
            "push" => &[],
            _ => &["--quoted", "--recv-timeout", &patience],
        };
        let mut child = Command::new(program)
            .arg(format!("--{role}"))
            .arg(if connect { "--connect" } else { "--bind" })
            .arg(address)
            .args(receives)
            .args(more)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{program} cannot be started: {error}"));
        let lines = BufReader::new(child.stdout.take().expect("piped"));
        Peer { child, lines }
    }

    /// The next message that the program has received.
    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("text");
        line.trim().trim_matches('"').to_owned()
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder for the socket files of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("wigwag-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a fresh folder");
        Folder(folder)
    }

    /// Where we can listen.
    fn ours(&self, scheme: &str) -> String {
        match scheme {
            "tcp" => "tcp://127.0.0.1:0".to_owned(),
            _ => format!("ipc://{}/ours", self.0.display()),
        }
    }

    /// Where a program can listen: it cannot tell which port it got, so it is told one that was
    /// free a moment ago.
    fn theirs(&self, scheme: &str) -> String {
        match scheme {
            "tcp" => {
                let probe = TcpListener::bind("127.0.0.1:0").expect("a free port");
                format!("tcp://{}", probe.local_addr().expect("bound"))
            }
            _ => format!("ipc://{}/theirs", self.0.display()),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Dials until the program has come up.
fn dial(dial: impl Fn() -> Result<(), wigwag_net::NetError>) {
    for _ in 0..PATIENCE.as_millis() / 10 {
        match dial() {
            Ok(()) => return,
            Err(error) if matches!(error.kind, NetErrorKind::NobodyListens) => {
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => panic!("{error}"),
        }
    }
    panic!("the program does not listen");
}

/// Runs `test` for each program and scheme with our address and theirs.
fn each(name: &str, programs: &[&str], test: impl Fn(&str, &str, &str)) {
    if !wanted() {
        return;
    }
    for program in programs {
        for scheme in SCHEMES {
            eprintln!("{name}: {program} over {scheme}");
            let folder = Folder::new(&format!("{name}-{program}"));
            test(program, &folder.ours(scheme), &folder.theirs(scheme));
        }
    }
}

#[test]
fn their_req_asks_our_rep() {
    each("req", &BOTH, |program, ours, _| {
        let rep = Rep::new();
        rep.set_receive_timeout(Some(PATIENCE));
        let address = rep.blocking_listen(ours).unwrap().to_string();
        let mut peer = Peer::start(program, "req", true, &address, &["--data", "question"]);
        assert_eq!(rep.blocking_recv().unwrap(), "question");
        rep.blocking_send("answer").unwrap();
        assert_eq!(peer.line(), "answer");
    });
}

#[test]
fn our_rep_dials_their_req() {
    each("dialled-req", &BOTH, |program, _, theirs| {
        let _peer = Peer::start(program, "req", false, theirs, &["--data", "question"]);
        let rep = Rep::new();
        rep.set_receive_timeout(Some(PATIENCE));
        dial(|| rep.blocking_dial(theirs));
        assert_eq!(rep.blocking_recv().unwrap(), "question");
        rep.blocking_send("answer").unwrap();
    });
}

#[test]
fn our_req_asks_their_rep() {
    each("rep", &BOTH, |program, _, theirs| {
        let mut peer = Peer::start(program, "rep", false, theirs, &["--data", "answer"]);
        let req = Req::new();
        req.set_receive_timeout(Some(PATIENCE));
        dial(|| req.blocking_dial(theirs));
        for round in 0..20 {
            let question = format!("question {round}");
            assert_eq!(req.blocking_ask(question.clone()).unwrap(), "answer");
            assert_eq!(peer.line(), question);
        }
    });
}

#[test]
fn their_rep_dials_our_req() {
    each("dialling-rep", &BOTH, |program, ours, _| {
        let req = Req::new();
        req.set_receive_timeout(Some(PATIENCE));
        req.set_send_timeout(Some(PATIENCE));
        let address = req.blocking_listen(ours).unwrap().to_string();
        let _peer = Peer::start(program, "rep", true, &address, &["--data", "answer"]);
        assert_eq!(req.blocking_ask("question").unwrap(), "answer");
        assert_eq!(req.blocking_ask("").unwrap(), "answer");
    });
}

#[test]
fn our_push_feeds_their_pull() {
    each("pull", &BOTH, |program, ours, theirs| {
        let mut listening = Peer::start(program, "pull", false, theirs, &[]);
        let push = Push::new();
        push.set_send_timeout(Some(PATIENCE));
        dial(|| push.blocking_dial(theirs));
        for number in 0..100 {
            push.blocking_send(format!("work {number}")).unwrap();
        }
        for number in 0..100 {
            assert_eq!(listening.line(), format!("work {number}"));
        }
        drop(listening);
        let push = Push::new();
        push.set_send_timeout(Some(PATIENCE));
        let address = push.blocking_listen(ours).unwrap().to_string();
        let mut dialling = Peer::start(program, "pull", true, &address, &[]);
        push.blocking_send("more work").unwrap();
        assert_eq!(dialling.line(), "more work");
    });
}

#[test]
fn their_push_feeds_our_pull() {
    each("push", &BOTH, |program, ours, theirs| {
        let more = ["--data", "work", "--interval", "1"];
        let pull = Pull::new();
        pull.set_receive_timeout(Some(PATIENCE));
        let address = pull.blocking_listen(ours).unwrap().to_string();
        let dialling = Peer::start(program, "push", true, &address, &more);
        assert_eq!(pull.blocking_recv().unwrap(), "work");
        drop(dialling);
        let _listening = Peer::start(program, "push", false, theirs, &more);
        let pull = Pull::new();
        pull.set_receive_timeout(Some(PATIENCE));
        dial(|| pull.blocking_dial(theirs));
        assert_eq!(pull.blocking_recv().unwrap(), "work");
    });
}

#[test]
fn our_pair_talks_to_theirs() {
    each("pair", &["nngcat"], |program, ours, theirs| {
        let more = ["--data", "theirs", "--interval", "1"];
        let pair = Pair::new();
        pair.set_receive_timeout(Some(PATIENCE));
        pair.set_send_timeout(Some(PATIENCE));
        let address = pair.blocking_listen(ours).unwrap().to_string();
        let mut dialling = Peer::start(program, "pair1", true, &address, &more);
        assert_eq!(pair.blocking_recv().unwrap(), "theirs");
        pair.blocking_send("ours").unwrap();
        assert_eq!(dialling.line(), "ours");
        drop(dialling);
        let mut listening = Peer::start(program, "pair1", false, theirs, &more);
        let pair = Pair::new();
        pair.set_receive_timeout(Some(PATIENCE));
        dial(|| pair.blocking_dial(theirs));
        pair.blocking_send("ours").unwrap();
        assert_eq!(listening.line(), "ours");
        assert_eq!(pair.blocking_recv().unwrap(), "theirs");
    });
}

/// A socket of another kind is named, not just disconnected.
#[test]
fn their_wrong_kind_is_named() {
    each("wrong", &BOTH, |program, _, theirs| {
        let _peer = Peer::start(program, "pull", false, theirs, &[]);
        let req = Req::new();
        let refused = (0..2000).find_map(|_| match req.blocking_dial(theirs) {
            Ok(()) => panic!("a REQ connected to a PULL"),
            Err(error) if matches!(error.kind, NetErrorKind::NobodyListens) => {
                thread::sleep(Duration::from_millis(10));
                None
            }
            Err(error) => Some(error),
        });
        let refused = refused.expect("the program listens").to_string();
        assert!(refused.contains("PULL"), "{refused}");
    });
}
