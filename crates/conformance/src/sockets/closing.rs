//! The promise of a socket's close to a call that waits without a time limit: the call ends with
//! [`Closed`](SocketErrorKind::Closed).
//!
//! Each promise is tried in every way in which a socket may be closed, with calls of both forms,
//! with and without a peer, and once with calls that wait and once while they begin.

use std::sync::Arc;
use std::thread;

use tokio::sync::oneshot;
use wigwag_net::socket::raw::Rep as RawRep;
use wigwag_net::socket::{
    Bus, Pair, Pair0, PairMany, Pub, Pull, Push, Rep, Req, Respondent, SocketError,
    SocketErrorKind, Star, Sub, Surveyor,
};

use crate::{TestEnv, pause};

/// A call that should end, and the result it ended with; `None` when it did something else.
type PendingCall = (&'static str, oneshot::Receiver<Option<SocketError>>);

#[derive(Clone, Copy, Debug)]
enum CallKind {
    Async,
    Blocking,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CloseMethod {
    Close,
    BlockingClose,
    /// The last handle of the socket is dropped.
    Drop,
}

/// A situation in which each call is tried.
#[derive(Clone, Copy, Debug)]
struct CloseCase {
    number: usize,
    kind: CallKind,
    method: CloseMethod,
    /// A silent peer is connected.
    peer: bool,
    /// The calls had time to begin before the close.
    calls_started: bool,
}

fn cases(methods: &[CloseMethod]) -> Vec<CloseCase> {
    let mut all = Vec::new();
    for kind in [CallKind::Async, CallKind::Blocking] {
        for method in methods.iter().copied() {
            for peer in [true, false] {
                for calls_started in [true, false] {
                    all.push(CloseCase { number: all.len(), kind, method, peer, calls_started });
                }
            }
        }
    }
    all
}

fn refused<T>(outcome: Result<T, impl Into<SocketError>>) -> Option<SocketError> {
    outcome.err().map(Into::into)
}

/// Begins one call, on a task or on a thread of its own.
macro_rules! start_call {
    ($kind:expr, $caller:expr, $call:ident or $blocking:ident($($word:expr)?)) => {{
        let caller = $caller;
        let (done, ended) = oneshot::channel();
        match $kind {
            CallKind::Async => drop(tokio::spawn(async move {
                // The receiver is gone when the test has failed already.
                let _ = done.send(refused(caller.$call($($word)?).await));
            })),
            CallKind::Blocking => drop(thread::spawn(move || {
                let _ = done.send(refused(caller.$blocking($($word)?)));
            })),
        }
        (concat!(stringify!($caller), ".", stringify!($call)), ended)
    }};
}

/// The socket under test, and a peer that is connected to it if the case has one.
macro_rules! connected_pair {
    ($env:expr, $case:expr, $socket:ident, $peer:ident) => {{
        let (socket, peer) = ($socket::new(), $peer::new());
        if $case.peer {
            // There is no way to wait until a dropped socket has released its address.
            let name = format!("{}-{}", stringify!($socket), $case.number);
            let address = socket.listen(&$env.named_address(&name)).await.expect("listens");
            peer.dial(&address.to_string()).await.expect("dials");
            while socket.statistics().pipes_open == 0 {
                pause().await;
            }
        }
        (Arc::new(socket), peer)
    }};
}

/// Closes the socket as the case says, and checks the promise for the calls.
macro_rules! close_and_check {
    ($case:expr, $socket:expr, $peer:expr, $pending:expr) => {{
        let (case, socket, pending): (CloseCase, _, Vec<PendingCall>) = ($case, $socket, $pending);
        if case.calls_started {
            // No event announces that a call waits; the other half of the cases does not pause.
            for _ in 0..3 {
                pause().await;
            }
        }
        match case.method {
            CloseMethod::Close => socket.close().await,
            CloseMethod::BlockingClose => {
                let socket = socket.clone();
                tokio::task::spawn_blocking(move || socket.blocking_close()).await.expect("closes");
            }
            CloseMethod::Drop => assert!(Arc::into_inner(socket).is_some(), "the last handle"),
        }
        for (call, ended) in pending {
            let said = ended.await.unwrap_or_else(|_| panic!("{call} panicked: {case:?}"));
            let error = said.unwrap_or_else(|| panic!("{call} was served: {case:?}"));
            let closed = matches!(error.kind, SocketErrorKind::Closed);
            assert!(closed, "{call} ended with {error}: {case:?}");
        }
        $peer.close().await;
    }};
}

/// The calls of a context end when its socket is closed in any way, even when the context is the
/// last handle that is left.
pub async fn closing_ends_the_contexts_that_wait(env: &TestEnv) {
    for case in cases(&[CloseMethod::Close, CloseMethod::BlockingClose, CloseMethod::Drop]) {
        let kind = case.kind;

        let (rep, peer) = connected_pair!(env, case, Rep, Req);
        let pending = (0..2)
            .map(|_| start_call!(kind, rep.context().expect("one"), recv or blocking_recv()))
            .collect();
        close_and_check!(case, rep, peer, pending);

        let (req, peer) = connected_pair!(env, case, Req, Rep);
        let mut pending = vec![
            start_call!(kind, req.context().expect("one"), ask or blocking_ask("for nothing")),
        ];
        if !case.peer {
            let send =
                start_call!(kind, req.context().expect("two"), send or blocking_send("to nobody"));
            pending.push(send);
        }
        close_and_check!(case, req, peer, pending);

        let (sub, peer) = connected_pair!(env, case, Sub, Pub);
        let listener = sub.context().expect("one");
        listener.subscribe("").expect("a topic");
        close_and_check!(
            case,
            sub,
            peer,
            vec![start_call!(kind, listener, recv or blocking_recv())]
        );

        let (surveyor, peer) = connected_pair!(env, case, Surveyor, Respondent);
        let asker = surveyor.context().expect("one");
        asker.set_survey_time(None);
        asker.send("who?").await.expect("sent");
        close_and_check!(
            case,
            surveyor,
            peer,
            vec![start_call!(kind, asker, recv or blocking_recv())]
        );

        let (respondent, peer) = connected_pair!(env, case, Respondent, Surveyor);
        let pending = (0..2)
            .map(|_| start_call!(kind, respondent.context().expect("one"), recv or blocking_recv()))
            .collect();
        close_and_check!(case, respondent, peer, pending);
    }
}

/// The socket's own calls end when it is closed. Each call holds a handle, so the drop of the last
/// handle is not tried.
pub async fn closing_ends_the_sockets_own_calls(env: &TestEnv) {
    for case in cases(&[CloseMethod::Close, CloseMethod::BlockingClose]) {
        let kind = case.kind;
        macro_rules! check_recv {
            ($($socket:ident of $peer:ident),*) => {$({
                let (socket, peer) = connected_pair!(env, case, $socket, $peer);
                let call = start_call!(kind, socket.clone(), recv or blocking_recv());
                close_and_check!(case, socket, peer, vec![call]);
            })*};
        }
        check_recv!(Rep of Req, Respondent of Surveyor, Pull of Push, Sub of Pub);
        check_recv!(Bus of Bus, Star of Star, Pair of Pair, Pair0 of Pair0, PairMany of Pair);
        check_recv!(RawRep of Req);

        let (req, peer) = connected_pair!(env, case, Req, Rep);
        let call = start_call!(kind, req.clone(), ask or blocking_ask("for nothing"));
        close_and_check!(case, req, peer, vec![call]);

        let (surveyor, peer) = connected_pair!(env, case, Surveyor, Respondent);
        surveyor.set_survey_time(None);
        surveyor.send("who?").await.expect("sent");
        let call = start_call!(kind, surveyor.clone(), recv or blocking_recv());
        close_and_check!(case, surveyor, peer, vec![call]);

        if !case.peer {
            let (push, peer) = connected_pair!(env, case, Push, Pull);
            let pending = (0..2)
                .map(|_| start_call!(kind, push.clone(), send or blocking_send("to nobody")))
                .collect();
            close_and_check!(case, push, peer, pending);
        }
    }
}

/// Threads without a runtime ask and answer as fast as they can, and the sockets are closed one
/// after the other: the answering threads end, and then the asking ones.
pub async fn closing_ends_threads_at_work(env: &TestEnv) {
    for round in 0..20 {
        let (at, kept) = (env.named_address(&round.to_string()), round % 2 == 0);
        let (done, over) = oneshot::channel();
        thread::spawn(move || {
            work_and_close(&at, kept);
            // The receiver is gone when the test has failed already.
            let _ = done.send(());
        });
        over.await.expect("no thread panics");
    }
}

/// Closes the rep, or drops its last handle, and then the req.
fn work_and_close(at: &str, kept: bool) {
    let (rep, req) = (Rep::new(), Req::new());
    let address = rep.blocking_listen(at).expect("listens").to_string();
    req.blocking_dial(&address).expect("dials");
    let mut answering = Vec::new();
    for _ in 0..3 {
        let worker = rep.context().expect("a context");
        answering.push(thread::spawn(move || {
            let served =
                || worker.blocking_send(worker.blocking_recv()?).map_err(SocketError::from);
            (0..).find_map(|_| served().err()).expect("it ends")
        }));
    }
    let mut asking = Vec::new();
    for _ in 0..3 {
        let asker = req.context().expect("a context");
        let ask = move || (0..).find_map(|_| asker.blocking_ask("?").err()).expect("it ends");
        asking.push(thread::spawn(ask));
    }
    while req.statistics().counters.received < 20 {
        thread::yield_now();
    }
    let end = |threads: Vec<thread::JoinHandle<SocketError>>| {
        for one in threads {
            let error = one.join().expect("no panic");
            assert!(matches!(error.kind, SocketErrorKind::Closed), "{error}");
        }
    };
    let closing = kept.then(|| rep.blocking_close());
    drop((closing, rep));
    end(answering);
    req.blocking_close();
    end(asking);
}
