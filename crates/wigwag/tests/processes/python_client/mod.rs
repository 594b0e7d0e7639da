//! A second implementation of the link protocol, written in Python from the protocol's page alone,
//! against a node: calls over cut connections, and the answer to each breach of a rule.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::{Command, Stdio};

use wigwag::{Actor, Node, NodeOptions, Yield, session::SessionChange};

/// Calls of the storm, and how often their connection is cut.
const CALLS: u64 = 100_000;
const CUTS: u64 = 100;

/// The name of the node.
const NAME: &str = "the ledger's node, é";

/// The factor of FNV-1a; the multiplication makes the checksum depend on the order of the notes.
const PRIME: u64 = 0x0100_0000_01b3;

/// Keeps a checksum of the messages it gets, in the order of arrival.
#[derive(Default)]
struct Ledger {
    notes: u64,
    checksum: u64,
}

#[wigwag::actor]
impl Ledger {
    pub fn note(&mut self, number: u64, text: String) {
        let mixed = (self.checksum ^ number).wrapping_mul(PRIME);
        self.checksum = mixed.wrapping_add(text.len() as u64);
        self.notes += 1;
    }

    pub fn count(&mut self, number: u64, text: String) -> u64 {
        self.note(number, text);
        self.checksum
    }

    pub fn total(&self) -> (u64, u64) {
        (self.notes, self.checksum)
    }

    pub fn echo(&self, text: String) -> String {
        text
    }

    pub fn blob(&self, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }

    pub async fn numbers(&mut self, count: u64, mut items: Yield<u64>) {
        for number in 0..count {
            if items.send(number).await.is_err() {
                return;
            }
        }
        items.finish();
    }
}

/// A node that listens on TCP and exports a ledger, and its address.
async fn listening() -> (Node, String, LedgerRef) {
    let node = Node::with(NodeOptions::default().name(NAME));
    let ledger = Ledger::default().spawn();
    node.export("ledger", &ledger).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    (node, bound.to_string(), ledger)
}

/// Runs a script of the client with `arguments`, and returns its output. The script ends by itself:
/// each of its waits has a limit.
async fn python(script: &str, arguments: &[&str]) -> String {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("../conformance/python");
    let mut command = Command::new("python3");
    // Without bytecode files beside the sources.
    command.arg("-B").arg(scripts.join(script)).args(arguments).stdin(Stdio::null());
    let running = tokio::task::spawn_blocking(move || command.output());
    let output = running.await.unwrap().expect("python3 is installed");
    let (said, errors) =
        (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{script}: {}\n{said}\n{errors}", output.status);
    said.into_owned()
}

/// The number after `name=` in a script's output.
fn field(said: &str, name: &str) -> u64 {
    let mut words = said.split_whitespace();
    let value = words.find_map(|word| word.strip_prefix(name)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {name} in {said:?}")).parse().unwrap()
}

#[tokio::test]
async fn a_client_in_python_reads_and_writes_the_bytes_of_the_vectors() {
    let said = python("vectors.py", &[]).await;
    assert!(field(&said, "steps") > 0, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_of_a_client_in_python_arrive_once_and_in_order_over_a_hundred_cuts() {
    let (node, address, ledger) = listening().await;
    let mut events = node.session_events();
    let (calls, cuts) = (CALLS.to_string(), CUTS.to_string());
    let said = python("storm.py", &[&address, "--calls", &calls, "--cuts", &cuts]).await;
    let noted = ledger.total().ask().await.unwrap();
    assert_eq!(noted, (CALLS, field(&said, "checksum")), "{said}");
    assert_eq!(field(&said, "resumes"), CUTS, "{said}");
    assert!(field(&said, "repeated") > 0, "a cut has torn something: {said}");
    let mut resumed = 0;
    loop {
        match events.next().await.unwrap().what {
            SessionChange::Resumed { .. } => resumed += 1,
            SessionChange::Ended { why, .. } => {
                assert!(why.contains("the peer closed the session"), "{why}");
                break;
            }
            _ => {}
        }
    }
    // Resumes whose RESUMED the client has discarded are counted as well.
    assert!(resumed >= CUTS, "{resumed} resumes of at least {CUTS}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_breach_of_the_protocol_has_the_answer_that_its_page_gives() {
    let (_node, address, _ledger) = listening().await;
    let said = python("breaches.py", &[&address, NAME]).await;
    assert!(field(&said, "breaches") >= 50, "{said}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_are_read_in_either_form_and_answered_as_bin() {
    let (_node, address, _ledger) = listening().await;
    let said = python("values.py", &[&address]).await;
    assert!(field(&said, "blobs") > 0, "{said}");
}

/// Calls back the members that have joined it.
#[derive(Default)]
struct Room {
    members: Vec<MemberRef>,
}

#[wigwag::actor]
trait Member {
    async fn heard(&mut self, text: String);

    async fn name(&self) -> String;
}

#[wigwag::actor]
impl Room {
    pub fn join(&mut self, member: MemberRef) {
        self.members.push(member);
    }

    pub async fn say(&mut self, text: String) {
        for member in &self.members {
            member.heard(text.clone()).tell().await.unwrap();
        }
    }

    pub fn members(&self) -> Vec<MemberRef> {
        self.members.clone()
    }

    pub fn leave_all(&mut self) {
        self.members.clear();
    }
}

struct Listener;

#[wigwag::actor]
impl Listener {
    pub fn heard(&mut self, text: String) {
        assert!(text.starts_with("text"));
    }

    pub fn name(&self) -> String {
        "rust".to_owned()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_in_python_is_called_back_through_the_references_it_gives() {
    let node = Node::with(NodeOptions::default().name(NAME));
    let room = Room::default().spawn();
    node.export("room", &room).unwrap();
    let bound = node.listen("tcp://127.0.0.1:0").await.unwrap();
    let ours = MemberRef::from(&Listener.spawn());
    room.join(ours).ask().await.unwrap();
    let said = python("callbacks.py", &[&bound.to_string(), "--texts", "1000"]).await;
    assert_eq!(field(&said, "texts"), 1000);
    assert!(said.contains("names=rust"), "{said}");
}
