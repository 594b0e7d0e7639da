//! Servers that fail during a call or at their end, and the errors and reasons that others get.

use wigwag::{Actor, CallErrorKind, Local, Reason, lifecycle::Alive};

use super::server::{Manner, Server, ended, failure, is_gone, server, soon, watcher};

/// gen_server_SUITE: crash. A server stops during a call without answering it: the caller gets an
/// error, watchers get the reason, and the hook at the end runs.
#[tokio::test]
async fn an_asker_of_a_server_that_stops_gets_an_error() {
    for reason in [Reason::Shutdown, Reason::failed("a reason"), Reason::Normal] {
        let ((server, said), (watcher, mut heard)) = (server(), watcher());
        watcher.monitor(Local(server.handle().unwrap())).ask().await.unwrap();
        let asked = server.stop_silently(Local(reason.clone())).try_ask().unwrap();
        let behind = server.number(1).try_ask().unwrap();
        assert_eq!(soon(asked).await.unwrap_err().kind, CallErrorKind::ReplyDropped);
        assert_eq!(soon(behind).await.unwrap_err().kind, CallErrorKind::ActorStopped);
        assert_eq!(soon(heard.recv()).await, Some(reason.clone()));
        assert_eq!(ended(&server).await, reason);
        let last = [format!("stopped, {reason}"), "dropped".to_owned()];
        assert_eq!(said.rest().await, last);
    }
}

/// gen_server_SUITE: crash, error_format_status, undef_in_handle_info. After a panic its caller is
/// told of a panic, other callers that the server has stopped, and watchers get the panic message;
/// the hook at the end does not run.
#[tokio::test]
async fn a_panic_ends_the_server_and_its_words_are_the_reason() {
    for told in [false, true] {
        let ((server, said), (watcher, mut heard)) = (server(), watcher());
        let handle = server.handle().unwrap();
        watcher.monitor(Local(handle.clone())).ask().await.unwrap();
        handle.suspend();
        let asked = match told {
            true => server.panic("crashed").try_tell().map(|()| None).unwrap(),
            false => Some(server.panic("crashed").try_ask().unwrap()),
        };
        let behind = server.number(1).try_ask().unwrap();
        handle.resume();
        if let Some(asked) = asked {
            assert_eq!(soon(asked).await.unwrap_err().kind, CallErrorKind::Panicked);
        }
        assert_eq!(soon(behind).await.unwrap_err().kind, CallErrorKind::ActorStopped);
        let reason = Reason::Panicked("crashed".into());
        assert_eq!(soon(heard.recv()).await, Some(reason.clone()));
        assert_eq!(handle.reason(), Some(reason));
        is_gone(&server).await;
        assert_eq!(said.rest().await, ["dropped"]);
    }
}

/// gen_server_SUITE: terminate_crash_format, undef_in_terminate. A panic in the hook at the end
/// replaces the reason for which the server was to end.
#[tokio::test]
async fn a_panic_at_the_end_is_the_reason() {
    let (panics, said) = Server::new(Manner::PanicsAtEnd);
    let (server, (watcher, mut heard)) = (panics.spawn(), watcher());
    let handle = server.handle().unwrap();
    watcher.monitor(Local(handle.clone())).ask().await.unwrap();
    assert!(server.stop(Local(Reason::Normal)).ask().await.unwrap());
    let reason = Reason::Panicked("at the end".into());
    assert_eq!(soon(heard.recv()).await, Some(reason.clone()));
    assert_eq!(handle.reason(), Some(reason));
    assert_eq!(said.rest().await, ["stopped, it was done", "dropped"]);
}

/// gen_server_SUITE: crash. The server is killed while its handler waits.
#[tokio::test]
async fn an_asker_of_a_killed_server_gets_an_error() {
    let (server, said) = server();
    let asked = server.hang().try_ask().unwrap();
    let handle = server.handle().unwrap();
    tokio::task::yield_now().await;
    assert!(handle.kill());
    assert_eq!(soon(asked).await.unwrap_err().kind, CallErrorKind::ActorStopped);
    assert_eq!(failure(server.hang().ask()).await, CallErrorKind::ActorStopped);
    assert_eq!(handle.reason(), Some(Reason::Killed));
    assert_eq!(said.rest().await, ["dropped"]);
}
