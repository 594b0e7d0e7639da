//! Starts: successful, failing and hanging ones, and the name after a failed start.

use tokio::time::{Instant, timeout};
use wigwag::registry::{find, find_any, register, unregister};
use wigwag::{Actor, Life, Local, Reason, This, lifecycle::Alive, registry::NameError};

use super::server::{Manner, Server, ended, is_gone, ms, server, soon, watcher};

/// gen_server_SUITE: start. A server without a supervisor serves until it is asked to end, and is
/// gone then.
#[tokio::test]
async fn a_server_serves_until_it_is_stopped() {
    let (alone, heard) = Server::new(Manner::Good);
    let server = alone.start().await.unwrap();
    assert_eq!(server.number(7).ask().await.unwrap(), 7);
    assert!(server.stop(Local(Reason::Normal)).ask().await.unwrap());
    assert_eq!(ended(&server).await, Reason::Normal);
    is_gone(&server).await;
    assert_eq!(heard.rest().await, ["stopped, it was done", "dropped"]);
}

/// gen_server_SUITE: start. A time limit for the start belongs to the caller: one that is met, and
/// one that expires. The server whose start was given up handles no calls and ends when its start
/// does.
#[tokio::test(start_paused = true)]
async fn a_start_may_be_given_up() {
    let (slow, _heard) = Server::new(Manner::StartsAfter(ms(50)));
    let server = timeout(ms(1000), slow.start()).await.unwrap().unwrap();
    assert_eq!(server.number(7).ask().await.unwrap(), 7);
    let (slower, heard) = Server::new(Manner::StartsAfter(ms(1000)));
    let begun = Instant::now();
    assert!(timeout(ms(100), slower.start()).await.is_err());
    assert_eq!(begun.elapsed(), ms(100));
    assert_eq!(heard.rest().await, ["stopped, it was done", "dropped"]);
    assert_eq!(begun.elapsed(), ms(1000));
}

/// gen_server_SUITE: start, loop_start_fail. Five times each: a start that fails, declines, or
/// panics returns its reason, the hook at the end does not run, and the state is dropped before the
/// caller is told.
#[tokio::test]
async fn a_start_that_fails_says_why_and_leaves_nothing() {
    for (manner, expected) in [
        (Manner::FailsToStart(Reason::failed("no luck")), Reason::failed("no luck")),
        (Manner::FailsToStart(Reason::Normal), Reason::Normal),
        (Manner::FailsToStart(Reason::Shutdown), Reason::Shutdown),
        (Manner::PanicsInStart, Reason::Panicked("bail out".into())),
    ] {
        for _ in 0..5 {
            let (failing, mut heard) = Server::new(manner.clone());
            let outcome = soon(failing.start()).await.map(|_| ());
            assert_eq!(outcome, Err(expected.clone()));
            assert_eq!(heard.by_now(), ["dropped"]);
            let (failing, heard) = Server::new(manner.clone());
            let server = failing.spawn();
            let waits = server.number(1).try_ask().unwrap();
            assert_eq!(ended(&server).await, expected);
            assert!(soon(waits).await.is_err(), "it was never handled");
            is_gone(&server).await;
            assert_eq!(heard.rest().await, ["dropped"]);
        }
    }
}

/// gen_server_SUITE: start. Monitors and linked actors get the reason, once.
#[tokio::test]
async fn a_watcher_of_a_server_learns_why_it_ended() {
    for links in [false, true] {
        let (server, _said) = server();
        let (watcher, mut heard) = watcher();
        let handle = server.handle().unwrap();
        match links {
            true => watcher.link(Local(handle)).ask().await.unwrap(),
            false => watcher.monitor(Local(handle)).ask().await.unwrap(),
        }
        assert!(server.stop(Local(Reason::failed("stopped"))).ask().await.unwrap());
        assert_eq!(soon(heard.recv()).await, Some(Reason::failed("stopped")));
        watcher.handle().unwrap().drain();
        drop(watcher);
        assert_eq!(soon(heard.recv()).await, None);
    }
}

/// gen_server_SUITE: start. A second server that wants the name is told of the owner, and may take
/// the name when the first has ended.
#[tokio::test]
async fn a_name_has_one_server() {
    let ((first, _said), (second, _too)) = (server(), server());
    register("my test name", &first).unwrap();
    let found = find::<Server>("my test name").unwrap();
    assert_eq!(found.number(3).ask().await.unwrap(), 3);
    let taken = register("my test name", &second);
    let by = first.handle().unwrap();
    assert_eq!(taken, Err(NameError::Taken { name: "my test name".into(), by }));
    assert!(found.stop(Local(Reason::Normal)).ask().await.unwrap());
    ended(&first).await;
    assert!(find_any("my test name").is_none());
    is_gone(&found).await;
    register("my test name", &second).unwrap();
    assert_eq!(unregister("my test name"), second.handle().ok());
}

/// Takes a name in its start, and returns the given outcome.
struct Named(&'static str, Result<(), Reason>);

#[wigwag::actor(life)]
impl Named {
    pub fn nothing(&self) {}
}

impl Life for Named {
    async fn started(&mut self, this: &This<Named>) -> Result<(), Reason> {
        register(self.0, &this.reference()).map_err(Reason::failed)?;
        self.1.clone()
    }
}

/// gen_server_SUITE: otp_7669. A hundred times, on two threads: a caller whose start failed finds
/// the name free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_name_of_a_start_that_failed_is_free() {
    for reason in [Reason::Normal, Reason::failed("stopped")] {
        for _ in 0..100 {
            let failed = Named("otp_7669", Err(reason.clone())).start().await.map(|_| ());
            assert_eq!(failed, Err(reason.clone()), "the name was free");
            assert!(find_any("otp_7669").is_none());
        }
    }
}

/// gen_server_SUITE: spec_init, otp_5854. An actor's start may do anything: take a name, or fail
/// when another actor has the name, which keeps it.
#[tokio::test]
async fn a_start_may_take_a_name_of_its_own_and_no_other() {
    let named = Named("armitage", Ok(())).start().await.unwrap();
    assert_eq!(find_any("armitage"), named.handle().ok());
    let second = Named("armitage", Ok(())).start().await.map(|_| ());
    let by = named.handle().unwrap();
    let taken = NameError::Taken { name: "armitage".into(), by: by.clone() };
    assert_eq!(second, Err(Reason::failed(taken)));
    assert_eq!(find_any("armitage"), Some(by));
    named.nothing().ask().await.unwrap();
    unregister("armitage");
}

/// gen_server_SUITE: spec_init_local_registered_parent, spec_init_global_registered_parent. The
/// server of a parent with a name ends with the parent, and its hook at the end runs.
#[tokio::test]
async fn a_linked_server_ends_in_good_order_with_its_parent() {
    let ((server, said), (parent, _)) = (server(), watcher());
    register("foobar", &parent).unwrap();
    parent.link(Local(server.handle().unwrap())).ask().await.unwrap();
    parent.handle().unwrap().stop_with(Reason::failed("at the parent"));
    let reason = Reason::Linked(std::sync::Arc::new(Reason::failed("at the parent")));
    assert_eq!(ended(&server).await, reason);
    assert_eq!(said.rest().await, [format!("stopped, {reason}"), "dropped".to_owned()]);
    assert!(find_any("foobar").is_none());
}

/// gen_server_SUITE: spec_init. A server that its own start stops has started, and has ended.
#[tokio::test]
async fn a_start_may_be_the_end() {
    let (brief, heard) = Server::new(Manner::StopsInStart(Reason::Shutdown));
    let server = brief.start().await.unwrap();
    assert_eq!(ended(&server).await, Reason::Shutdown);
    is_gone(&server).await;
    assert_eq!(heard.rest().await, ["stopped, it was asked to stop", "dropped"]);
}
