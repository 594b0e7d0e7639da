//! `ws://` addresses.

use crate::process::run;
use crate::running::Running;

#[test]
fn a_request_over_ws_is_answered_and_a_wrong_path_is_named() {
    let (rep, address) = Running::listening(&["rep", "ws://127.0.0.1:0/rep", "--echo"], b"");
    assert!(address.starts_with("ws://127.0.0.1:") && address.ends_with("/rep"), "{address}");
    let asked = run(["req", &address, "hello"]);
    assert_eq!((asked.code, asked.out.as_str()), (Some(0), "hello\n"), "{asked:?}");
    let elsewhere = run(["req", &format!("{address}s"), "hello"]);
    assert!(elsewhere.err.contains("404") && elsewhere.err.contains("path"), "{elsewhere:?}");
    assert_eq!(elsewhere.code, Some(5), "{elsewhere:?}");
    let other = run(["push", &address, "hello"]);
    assert!(other.err.contains("PUSH can only talk to PULL"), "{other:?}");
    let plain = run(["req", &address.replace("ws://", "tcp://").replace("/rep", ""), "hello"]);
    assert!(plain.err.contains("HTTP"), "{plain:?}");
    rep.interrupt();
}
