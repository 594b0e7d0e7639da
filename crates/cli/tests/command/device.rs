//! `wigwag device`: joined peers talk as if they were connected, and the summary is printed.

use serde_json::Value;

use crate::process::run;
use crate::running::{Running, with_input};

const SCHEMA: &str = include_str!("../../../../docs/schema/device-1.json");

/// Starts a device that listens at both ends, and returns it with the two addresses.
fn device(pair: &str) -> (Running, String, String) {
    device_with(pair, &[])
}

fn device_with(pair: &str, more: &[&str]) -> (Running, String, String) {
    let any = "tcp://127.0.0.1:0";
    let words = [&["device", any, any, "--pair", pair, "--listen", "-v"], more].concat();
    let device = Running::start(&words, b"");
    let mut addresses = Vec::new();
    crate::process::eventually("it listens twice", || {
        let said = device.said();
        let lines = said.lines().filter(|line| line.starts_with("listening  "));
        addresses =
            lines.filter_map(|line| line.split_whitespace().nth(1).map(str::to_owned)).collect();
        addresses.len() == 2
    });
    let second = addresses.remove(1);
    (device, addresses.remove(0), second)
}

#[test]
fn requests_are_forwarded_and_the_summary_counts_them() {
    let (device, first, second) = device("reqrep");
    let _rep = Running::start(&["rep", "--dial", &second, "--exec", "tr a-z A-Z"], b"");
    device.until_err("connected");
    let said = with_input(&["req", &first, "-q"], b"one\ntwo\n");
    assert_eq!((said.code, said.out.as_str()), (Some(0), "ONE\nTWO\n"), "{said:?}");
    let ended = device.interrupt();
    assert_eq!(ended.code, Some(130));
    assert!(ended.err.contains("4 messages forwarded · 0 dropped · 2 peers"), "{ended:?}");
}

#[test]
fn the_summary_is_one_json_document() {
    let (device, first, second) = device_with("pushpull", &["--json"]);
    let pull = Running::start(&["pull", "--dial", &second, "--count", "3"], b"");
    assert_eq!(run(["push", &first, "x", "--count", "3"]).code, Some(0));
    assert_eq!(pull.end().out, "x\nx\nx\n");
    let ended = device.interrupt();
    assert_eq!(ended.code, Some(130), "{ended:?}");
    assert!(!ended.err.contains("forwarded"), "the summary is printed once: {ended:?}");
    let document: Value = serde_json::from_str(&ended.out).expect("one document and no more");
    let schema = serde_json::from_str(SCHEMA).expect("the schema is JSON");
    assert_eq!(wigwag_lab::results::schema::faults_against(&schema, &document), [""; 0]);
    assert_eq!((&document["forwarded"], &document["dropped"]), (&3.into(), &0.into()));
    assert_eq!(document["interrupted"], true);
    for (end, protocol) in ["PULL", "PUSH"].into_iter().enumerate() {
        let end = &document["ends"][end];
        assert_eq!((&end["protocol"], &end["peers"]), (&protocol.into(), &1.into()), "{end}");
    }
}

#[test]
fn a_message_above_the_receive_limit_counts_as_dropped() {
    let (device, first, _) = device_with("pushpull", &["--receive-limit", "16"]);
    let push = Running::start(&["push", &first, "far more than sixteen bytes"], b"");
    device.until_err("closed  ");
    drop(push);
    let ended = device.interrupt();
    assert!(ended.err.contains("0 messages forwarded · 1 dropped"), "{ended:?}");
}

#[test]
fn pushed_and_published_messages_are_forwarded() {
    let (device, first, second) = device("pushpull");
    let pull = Running::start(&["pull", "--dial", &second, "--count", "3"], b"");
    assert_eq!(run(["push", &first, "x", "--count", "3"]).code, Some(0));
    assert_eq!(pull.end().out, "x\nx\nx\n");
    drop(device);
    let (_device, first, second) = self::device("pubsub");
    let sub = Running::start(&["sub", &second, "wind", "--count", "1"], b"");
    let _publisher =
        Running::start(&["pub", "--dial", &first, "wind/north", "--interval", "20ms"], b"");
    assert_eq!(sub.end().out, "wind/north\n");
}

#[test]
fn surveys_and_both_versions_of_pair_are_forwarded_in_both_directions() {
    let (surveys, first, second) = device("survey");
    let _respond = Running::start(&["respond", "--dial", &second, "me"], b"");
    surveys.until_err("connected");
    assert_eq!(run(["survey", &first, "who?"]).out, "me\n");
    for (pair, version) in [("pair", &[][..]), ("pair0", &["--v0"])] {
        let (joined, first, second) = device(pair);
        let words = [&["pair", &second, "--echo", "--count", "1"][..], version].concat();
        let echo = Running::start(&words, b"");
        joined.until_err("connected");
        let words = [&["pair", &first, "hi", "--count", "1"][..], version].concat();
        assert_eq!(run(words).out, "hi\n", "{pair}");
        assert_eq!(echo.end().code, Some(0), "{pair}");
    }
}

#[test]
fn a_device_dials_both_addresses_on_request() {
    let (pull, second) = Running::listening(&["pull", "tcp://127.0.0.1:0", "--count", "1"], b"");
    let words = ["push", "--listen", "tcp://127.0.0.1:0", "x"];
    let (_push, first) = Running::listening(&words, b"");
    let words = ["device", &first, &second, "--pair", "pushpull", "--dial", "-v"];
    let device = Running::start(&words, b"");
    assert_eq!(pull.end().out, "x\n");
    assert!(!device.interrupt().err.contains("listening"));
}

#[test]
fn a_star_is_no_bus() {
    let (device, at) =
        Running::listening(&["device", "tcp://127.0.0.1:0", "--pair", "star", "-v"], b"");
    let receiver = Running::start(&["star", &at, "--count", "1"], b"");
    device.until_err("connected");
    assert_eq!(run(["star", &at, "hi", "--count", "0"]).code, Some(0));
    assert_eq!(receiver.end().out, "hi\n");
}

#[test]
fn a_device_with_one_address_forwards_among_its_own_peers() {
    let (device, at) =
        Running::listening(&["device", "tcp://127.0.0.1:0", "--pair", "bus", "-v"], b"");
    let receiver = Running::start(&["bus", &at, "--count", "1", "-v"], b"");
    receiver.until_err("connected");
    device.until_err("connected");
    assert_eq!(run(["bus", &at, "hi", "--count", "0"]).code, Some(0));
    assert_eq!(receiver.end().out, "hi\n");
    let said = run(["device", "tcp://127.0.0.1:0", "--pair", "reqrep"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("cannot reflect"), "{said:?}");
}
