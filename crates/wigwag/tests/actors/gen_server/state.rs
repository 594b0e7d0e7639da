//! The state of a live server, read and changed from outside, and the properties shown without
//! asking it.

use wigwag::registry::{find, register, unregister};
use wigwag::{CallErrorKind, Reason, lifecycle::Alive};

use super::server::{Server, ended, server, soon};

/// gen_server_SUITE: get_state. The state of a server found by name, of a running one, and of a
/// suspended one.
#[tokio::test]
async fn the_state_of_a_server_is_seen() {
    let (server, _said) = server();
    server.visit(|server| server.state = "state".to_owned()).await.unwrap();
    register("get state", &server).unwrap();
    let named = find::<Server>("get state").unwrap();
    let handle = server.handle().unwrap();
    for suspended in [false, true] {
        if suspended {
            handle.suspend();
        }
        for reference in [&server, &named] {
            let state = soon(reference.visit(|server| server.state.clone())).await.unwrap();
            assert_eq!(state, "state");
        }
    }
    handle.resume();
    unregister("get state");
}

/// gen_server_SUITE: replace_state. The state is replaced, changed, and changed during a
/// suspension; a change that fails returns an error of its own and leaves the state as it was.
#[tokio::test]
async fn the_state_of_a_server_is_replaced() {
    let (server, _said) = server();
    let handle = server.handle().unwrap();
    let old = server.visit(|server| std::mem::replace(&mut server.state, "replaced".into())).await;
    assert_eq!(old.unwrap(), "");
    server.visit(|server| server.state.push_str(" again")).await.unwrap();
    let failed = server.visit(|server| server.state.parse::<u64>().map(|_| ())).await.unwrap();
    assert!(failed.is_err());
    handle.suspend();
    server.visit(|server| server.state.push_str(" and again")).await.unwrap();
    handle.resume();
    let state = server.visit(|server| server.state.clone()).await.unwrap();
    assert_eq!(state, "replaced again and again");
    assert_eq!(server.number(1).ask().await.unwrap(), 1);
}

/// gen_server_SUITE: replace_state, crash_in_format_status, throw_in_format_status. A visit that
/// panics fails with that panic. The server ends by it, since its state may be inconsistent.
#[tokio::test]
async fn a_look_that_panics_ends_the_server() {
    let (server, said) = server();
    let looked = server.visit(|_| -> u64 { panic!("fail") }).await.unwrap_err();
    assert_eq!(looked.kind, CallErrorKind::Panicked);
    assert_eq!(ended(&server).await, Reason::Panicked("fail".into()));
    assert_eq!(said.rest().await, ["dropped"]);
}

/// gen_server_SUITE: undef_code_change. A failed conversion of the state leaves the old state, and
/// the server goes on with it.
#[tokio::test]
async fn a_conversion_that_fails_leaves_the_server_as_it_was() {
    let (server, _said) = server();
    server.visit(|server| server.state = "old".to_owned()).await.unwrap();
    let handle = server.handle().unwrap();
    handle.suspend();
    let converted: Result<(), &str> = server.visit(|_| Err("no such version")).await.unwrap();
    handle.resume();
    assert_eq!(converted, Err("no such version"));
    assert_eq!(server.visit(|server| server.state.clone()).await.unwrap(), "old");
    assert_eq!(server.number(1).ask().await.unwrap(), 1);
    assert!(!handle.is_ended());
}

/// gen_server_SUITE: call_format_status. A reference shows the server's type, its number and its
/// waiting calls without asking it, with or without a name, and never its state.
#[tokio::test]
async fn a_server_is_shown_without_its_state() {
    let (server, _said) = server();
    server.visit(|server| server.state = "secret".to_owned()).await.unwrap();
    let handle = server.handle().unwrap();
    let shown = format!("{handle:?}");
    assert_eq!(shown, format!("Server #{}", handle.number()));
    handle.suspend();
    server.note("waits").try_tell().unwrap();
    assert_eq!((handle.waiting(), handle.is_ended(), handle.reason()), (1, false, None));
    assert!(!format!("{server:?}").contains("secret"));
    handle.resume();
}
