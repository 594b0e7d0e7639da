//! Stopping a server from outside: with reasons, with a time limit, by name, and from another node.

use std::sync::mpsc::channel;

use tokio::time::{Instant, timeout};
use wigwag::registry::{find, find_any, register};
use wigwag::{Actor, CallErrorKind, Local, Node, Reason, lifecycle::Alive, registry::NameError};

use super::server::{
    Manner, Server, apart, ended, failure, is_gone, is_way_gone, ms, server, soon, watcher,
};

/// gen_server_SUITE: stop1. The usual reason; a second stop reports that the server has ended.
#[tokio::test]
async fn a_server_is_stopped_once() {
    let (server, said) = server();
    let handle = server.handle().unwrap();
    assert!(handle.stop());
    assert_eq!(ended(&server).await, Reason::Shutdown);
    assert!(handle.is_ended() && !handle.stop());
    is_gone(&server).await;
    assert_eq!(said.rest().await, ["stopped, it was asked to stop", "dropped"]);
}

/// gen_server_SUITE: stop2, undef_terminate2. Any reason: the hook, the waiting caller and the
/// watcher all get that one.
#[tokio::test]
async fn a_server_is_stopped_for_any_reason() {
    for reason in [Reason::Normal, Reason::Killed, Reason::failed("another reason")] {
        let ((server, said), (watcher, mut heard)) = (server(), watcher());
        let handle = server.handle().unwrap();
        watcher.monitor(Local(handle.clone())).ask().await.unwrap();
        assert!(handle.stop_with(reason.clone()));
        assert_eq!(ended(&server).await, reason);
        assert_eq!(soon(heard.recv()).await, Some(reason.clone()));
        let mut expected = vec![format!("stopped, {reason}"), "dropped".to_owned()];
        if reason == Reason::Killed {
            expected.remove(0);
        }
        assert_eq!(said.rest().await, expected);
    }
}

/// gen_server_SUITE: stop3. An invalid time limit does not exist, since the type has none. A limit
/// that is too short leaves the server to end in its own time, and a longer one is met.
#[tokio::test(start_paused = true)]
async fn a_wait_for_an_end_may_be_given_up_and_begun_again() {
    let (slow, said) = Server::new(Manner::EndsAfter(ms(500)));
    let server = slow.spawn();
    let handle = server.handle().unwrap();
    let begun = Instant::now();
    handle.stop_with(Reason::failed("another reason"));
    assert!(timeout(ms(100), handle.ended()).await.is_err());
    assert!(!handle.is_ended(), "its hook runs");
    assert!(timeout(ms(1000), handle.ended()).await.is_ok());
    assert_eq!(begun.elapsed(), ms(500));
    assert_eq!(said.rest().await, ["stopped, it failed: another reason", "dropped"]);
}

/// gen_server_SUITE: stop3. A caller whose limit expires kills the server.
#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_stop_in_time_is_killed() {
    let (slow, said) = Server::new(Manner::EndsAfter(ms(3_600_000)));
    let server = slow.spawn();
    let handle = server.handle().unwrap();
    handle.stop();
    assert!(timeout(ms(100), handle.ended()).await.is_err());
    assert!(handle.kill());
    assert_eq!(handle.reason(), Some(Reason::Killed));
    assert_eq!(said.rest().await, ["stopped, it was asked to stop", "dropped"]);
}

/// gen_server_SUITE: stop4, stop5, stop6, stop7. By name, of which there is one kind; the name is
/// free a moment later.
#[tokio::test]
async fn a_server_is_stopped_by_its_name() {
    let (server, _said) = server();
    register("to stop", &server).unwrap();
    let handle = find_any("to stop").unwrap();
    assert!(handle.stop());
    soon(handle.ended()).await;
    assert!(server.handle().unwrap().is_ended());
    assert!(find_any("to stop").is_none());
    let unknown = find::<Server>("to stop").map(|_| ());
    assert_eq!(unknown, Err(NameError::Unknown("to stop".into())));
}

/// gen_server_SUITE: stop8, stop9, stop10. A remote actor has no handle: it ends by one of its own
/// calls, and is gone for all callers then; once its node is gone, errors name that instead.
#[tokio::test]
async fn a_server_elsewhere_is_stopped_by_a_call() {
    let (local, said) = server();
    let (service, client, there, address) = apart(&local).await;
    assert_eq!(there.handle().unwrap_err().kind, CallErrorKind::Remote);
    there.shut_down().ask().await.unwrap();
    assert_eq!(ended(&local).await, Reason::Shutdown);
    assert_eq!(said.rest().await, ["stopped, it was asked to stop", "dropped"]);
    assert_eq!(failure(there.shut_down().ask()).await, CallErrorKind::ActorStopped);
    service.close(ms(5000)).await;
    let kind = failure(there.shut_down().ask()).await;
    assert!(is_way_gone(kind), "{kind:?}");
    assert!(soon(client.actor::<Server>(&address)).await.is_err());
    assert!(soon(Node::new().actor::<Server>(&address)).await.is_err());
}

/// An actor without hooks.
struct Plain(std::sync::mpsc::Sender<()>);

#[wigwag::actor]
impl Plain {
    pub fn nothing(&self) {
        let _ = self.0.send(());
    }
}

/// gen_server_SUITE: undef_terminate1, undef_terminate2. An actor without a hook at its end ends
/// for the given reason.
#[tokio::test]
async fn a_server_without_a_hook_ends_for_the_reason_given() {
    for reason in [Reason::Normal, Reason::failed("test")] {
        let (says, heard) = channel();
        let plain = Plain(says).spawn();
        plain.nothing().ask().await.unwrap();
        let handle = plain.handle().unwrap();
        handle.stop_with(reason.clone());
        assert_eq!(soon(handle.ended()).await, reason);
        drop(plain);
        assert_eq!(heard.iter().count(), 1);
    }
}
