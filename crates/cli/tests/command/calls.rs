//! `wigwag ask`, `tell` and `describe`: results, and every kind of failure.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use crate::process::{Said, Serving, run};

/// Checks that the error on standard error says what happened, where, and how to fix it.
fn failed(said: &Said, code: i32, what: &str) {
    assert_eq!(said.code, Some(code), "{said:?}");
    assert_eq!(said.out, "", "an error is no result");
    let lines: Vec<&str> = said.err.lines().collect();
    let [error, at, hint] = lines.as_slice() else {
        panic!("three lines are expected: {said:?}");
    };
    assert!(error.starts_with("error: ") && error.contains(what), "{said:?}");
    assert!(at.starts_with("   at: "), "{said:?}");
    assert!(hint.starts_with(" hint: "), "{said:?}");
}

/// Every command that calls an actor, with valid arguments.
fn commands(actor: &str) -> [Vec<&str>; 3] {
    [
        vec!["ask", actor, "add", "2", "3"],
        vec!["tell", actor, "add", "2", "3"],
        vec!["describe", actor],
    ]
}

/// Starts a listener that runs `answer` for each connection, and returns its address.
fn stranger(answer: fn(TcpStream)) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let place = listener.local_addr().expect("bound");
    thread::spawn(move || listener.incoming().flatten().for_each(answer));
    format!("tcp://{place}/sum")
}

#[test]
fn a_tell_arrives_and_an_ask_prints_its_reply_alone() {
    let serving = Serving::start();
    let counter = serving.actor("counter");
    for number in ["0", "1"] {
        let sent = run(["tell", &counter, "count", "50", "0", number]);
        assert_eq!((sent.code, sent.out.as_str(), sent.err.as_str()), (Some(0), "", ""));
    }
    let asked = run(["ask", &counter, "get_and_reset"]);
    assert_eq!((asked.code, asked.out.as_str(), asked.err.as_str()), (Some(0), "100\n", ""));
    let asked = run(["ask", &serving.actor("sum"), "add", "-2", "-3"]);
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "-5\n"), "{asked:?}");
}

#[test]
fn an_unknown_actor_is_exit_8() {
    let serving = Serving::start();
    for command in commands(&serving.actor("nobody")) {
        failed(&run(command), 8, "no actor of that name");
    }
}

#[test]
fn an_unknown_method_is_named_and_the_error_suggests_describe() {
    let serving = Serving::start();
    let sum = serving.actor("sum");
    for command in ["ask", "tell"] {
        let said = run([command, &sum, "multiply", "2", "3"]);
        failed(&said, 2, "no such method: multiply");
        assert!(said.err.contains("wigwag describe"), "{said:?}");
    }
}

#[test]
fn wrong_arguments_are_refused_before_they_are_sent() {
    let serving = Serving::start();
    let sum = serving.actor("sum");
    for command in ["ask", "tell"] {
        for (arguments, wrong) in [
            (&["2"][..], "wrong number of arguments: 1"),
            (&["2", "3", "4"], "wrong number of arguments: 3"),
            (&["2", "three"], "\"three\" is not of type i64"),
            (&["2", "0.5"], "\"0.5\" is not of type i64"),
        ] {
            let words = [command, &sum, "add"].into_iter();
            let said = run(words.chain(arguments.iter().copied()));
            failed(&said, 2, &format!("add(a: i64, b: i64): {wrong}"));
        }
    }
}

#[test]
fn arguments_may_be_given_by_their_names() {
    let serving = Serving::start();
    let sum = serving.actor("sum");
    for arguments in [&["b=-3", "a=10"][..], &["a=10", "b=-3"], &[r#"{"b": -3, "a": 10}"#]] {
        let said = run(["ask", &sum, "add"].into_iter().chain(arguments.iter().copied()));
        assert_eq!((said.code, said.out.as_str()), (Some(0), "7\n"), "{said:?}");
    }
    let sent =
        run(["tell", &serving.actor("counter"), "count", "number=0", "amount=7", "sender=0"]);
    assert_eq!(sent.code, Some(0), "{sent:?}");
    let asked = run(["ask", &serving.actor("counter"), "get_and_reset", "{}"]);
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "7\n"), "{asked:?}");
}

#[test]
fn wrong_names_of_arguments_and_methods_are_refused_with_the_right_ones() {
    let serving = Serving::start();
    let (sum, counter) = (serving.actor("sum"), serving.actor("counter"));
    for command in ["ask", "tell"] {
        for (arguments, wrong) in [
            (&["a=2", "c=3"][..], "there is no argument `c`, only `a`, `b`"),
            (&["a=2", "3"], "`a` is given by its name and \"3\" is not"),
            (&["b=2"], "missing: `a: i64`"),
            (&["a=2", "a=3"], "`a` is given twice"),
            (&["a=2", "b=three"], "\"three\" is not of type i64"),
            (&[r#"{"a": 2}"#], "missing: `b: i64`"),
        ] {
            let words = [command, &sum, "add"].into_iter();
            let said = run(words.chain(arguments.iter().copied()));
            failed(&said, 2, &format!("add(a: i64, b: i64): {wrong}"));
        }
        let said = run([command, &counter, "count", "amonut=5", "sender=0", "number=0"]);
        failed(&said, 2, "there is no argument `amonut`: did you mean `amount`?");
        let said = run([command, &counter, "get_and_rest"]);
        failed(&said, 2, "no such method: get_and_rest");
        assert!(said.err.contains("did you mean get_and_reset?"), "{said:?}");
    }
}

/// The command does not know this type, so the actor checks the argument.
#[test]
fn arguments_of_a_type_unknown_to_the_command_are_checked_by_the_actor() {
    let serving = Serving::start();
    let said = run(["ask", &serving.actor("counter"), "verify_and_reset", "[1]"]);
    failed(&said, 2, "other arguments: verify_and_reset");
}

#[test]
fn a_port_without_a_listener_is_exit_3_at_once() {
    let place = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    for command in commands(&format!("tcp://{place}/sum")) {
        failed(&run(command), 3, "nobody listens there");
    }
    failed(&run(["ask", "ipc:///nowhere/at/all/sum", "add"]), 3, "nobody listens there");
}

#[test]
fn a_peer_that_is_no_node_is_exit_5() {
    let web = stranger(|mut stream| {
        let mut asked = [0; 8];
        let _ = stream.read(&mut asked);
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n");
    });
    // SPEC: the first eight bytes of a PULL socket.
    let pull = stranger(|mut stream| {
        let _ = stream.write_all(b"\0SP\0\0\x51\0\0");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    // The right SP protocol, but the peer is no node.
    let pair = stranger(|mut stream| {
        let _ = stream.write_all(b"\0SP\0\0\x11\0\0");
        let _ = stream.write_all(b"\0\0\0\0\0\0\0\x09\0\0\0\x01hello");
        let _ = stream.read_to_end(&mut Vec::new());
    });
    for (address, what) in [(web, "HTTP"), (pull, "PULL"), (pair, "wigwag")] {
        for command in commands(&address) {
            failed(&run(command), 5, what);
        }
    }
}

#[test]
fn a_malformed_address_is_refused_with_the_reason() {
    for (address, what) in [
        ("sum", "begins with a scheme"),
        ("gopher://127.0.0.1:7001/sum", "no transport"),
        ("tcp://127.0.0.1/sum", "a port"),
        ("tcp://127.0.0.1:7001", "names no actor"),
    ] {
        // Without a name, `describe` asks for the actors of the node.
        let count = if what == "names no actor" { 2 } else { 3 };
        for command in commands(address).into_iter().take(count) {
            failed(&run(command), 2, what);
        }
    }
}

#[test]
fn a_silent_peer_is_exit_4_after_the_deadline() {
    let silent = stranger(|mut stream| {
        let _ = stream.read_to_end(&mut Vec::new());
    });
    for deadline in ["0.2", "200ms"] {
        for mut command in commands(&silent) {
            command.extend(["--deadline", deadline]);
            failed(&run(command), 4, "no answer within 200ms");
        }
    }
    let said = run(["describe", &silent, "--deadline", "soon"]);
    assert_eq!((said.code, said.out.as_str()), (Some(2), ""), "{said:?}");
    assert!(said.err.contains("expected a time with a unit, like 200ms"), "{said:?}");
}
