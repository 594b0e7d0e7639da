//! How long commands wait: for a peer, for a message, and for room.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::process::{Said, run};
use crate::running::{Running, with_input};

/// Starts a listener that runs `answer` for each connection, and returns its address.
fn stranger(answer: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let place = listener.local_addr().expect("bound");
    thread::spawn(move || listener.incoming().flatten().for_each(answer));
    format!("tcp://{place}")
}

fn no_answer(said: &Said, what: &str) {
    assert_eq!(said.code, Some(4), "{said:?}");
    assert!(said.err.contains(what) && said.err.contains(" hint: "), "{said:?}");
}

#[test]
fn a_request_waits_five_seconds_for_its_reply_unless_told_otherwise() {
    // SPEC: the first eight bytes of a REP socket.
    let silent = stranger(|mut stream| {
        let _ = stream.write_all(b"\0SP\0\0\x31\0\0");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    no_answer(&run(["req", &silent, "hi"]), "no reply arrived within 5s");
}

#[test]
fn a_message_for_which_there_is_no_room_in_time_is_exit_4() {
    // SPEC: the first eight bytes of a PULL socket, which reads nothing.
    let full = stranger(|mut stream| {
        let _ = stream.write_all(b"\0SP\0\0\x51\0\0");
        std::mem::forget(stream);
    });
    let words = ["push", &full, "--whole", "--interval", "1ms", "--deadline", "300ms"];
    no_answer(&with_input(&words, &vec![b'x'; 1 << 20]), "a message was not sent within 300ms");
}

#[test]
fn a_publisher_that_is_told_not_to_wait_sends_to_nobody() {
    let said = run(["pub", "tcp://127.0.0.1:0", "x", "--wait", "0", "--deadline", "10s"]);
    assert!(said.code == Some(0) && !said.err.contains("error"), "{said:?}");
}

/// The default of the library is a second.
#[test]
fn a_survey_lasts_as_long_as_its_deadline() {
    let words = ["respond", "tcp://127.0.0.1:0", "--exec", "sleep 1.3; echo late"];
    let (_respond, at) = Running::listening(&words, b"");
    let said = run(["survey", &at, "who?", "--deadline", "4s"]);
    assert_eq!((said.code, said.out.as_str()), (Some(0), "late\n"), "{said:?}");
}

#[test]
fn fewer_messages_than_were_asked_for_are_exit_4() {
    for (receiver, sender) in [("pull", "push"), ("pair", "pair")] {
        let words = [receiver, "--listen", "tcp://127.0.0.1:0", "--count", "2", "--deadline", "2s"];
        let (waiting, at) = Running::listening(&words, b"");
        let mut sending = vec![sender, &at, "one"];
        sending.extend((sender == "pair").then_some("--count=0"));
        assert_eq!(run(sending).code, Some(0));
        let said = waiting.end();
        assert_eq!(said.out, "one\n", "{said:?}");
        no_answer(&said, "no message arrived within 2s");
    }
}

#[test]
fn a_node_that_says_nothing_is_given_up() {
    let silent = stranger(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    for command in ["top", "metrics"] {
        no_answer(&run([command, &silent, "--deadline", "200ms"]), "no answer within 200ms");
    }
}
