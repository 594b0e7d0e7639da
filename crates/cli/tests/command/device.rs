//! `wigwag device`: what is joined talks as if it were connected, and its end is told.

use crate::process::run;
use crate::running::{Running, with_input};

/// A device that listens at both ends, with the addresses where it does.
fn device(pair: &str) -> (Running, String, String) {
    let any = "tcp://127.0.0.1:0";
    let device = Running::start(&["device", any, any, "--pair", pair, "--listen", "-v"], b"");
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
fn requests_go_through_and_the_end_counts_them() {
    let (device, first, second) = device("reqrep");
    let _rep = Running::start(&["rep", "--dial", &second, "--exec", "tr a-z A-Z"], b"");
    device.until_err("connected");
    let said = with_input(&["req", &first, "-q"], b"one\ntwo\n");
    assert_eq!((said.code, said.out.as_str()), (Some(0), "ONE\nTWO\n"), "{said:?}");
    let ended = device.interrupt();
    assert_eq!(ended.code, Some(130));
    assert!(ended.err.contains("4 messages passed on · 0 dropped · 2 peers"), "{ended:?}");
}

#[test]
fn what_is_pushed_or_published_goes_through() {
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
fn one_address_is_a_bus_on_which_everybody_hears_everybody() {
    let (device, at) =
        Running::listening(&["device", "tcp://127.0.0.1:0", "--pair", "bus", "-v"], b"");
    let hears = Running::start(&["bus", &at, "--count", "1", "-v"], b"");
    hears.until_err("connected");
    device.until_err("connected");
    assert_eq!(run(["bus", &at, "hi", "--count", "0"]).code, Some(0));
    assert_eq!(hears.end().out, "hi\n");
    let said = run(["device", "tcp://127.0.0.1:0", "--pair", "reqrep"]);
    assert_eq!(said.code, Some(2), "{said:?}");
    assert!(said.err.contains("cannot reflect"), "{said:?}");
}
