//! What the close of a socket promises to whoever waits in a call without a time limit: the call
//! ends and says [`Closed`](SocketErrorKind::Closed).
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

use crate::{Room, pause};

/// A call that should end, and what it ended with; nothing when it did something else.
type Waiting = (&'static str, oneshot::Receiver<Option<SocketError>>);

#[derive(Clone, Copy, Debug)]
enum Form {
    Async,
    Blocking,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Close,
    BlockingClose,
    /// The last handle of the socket is dropped.
    Drop,
}

/// One of the situations in which every call is tried.
#[derive(Clone, Copy, Debug)]
struct Case {
    number: usize,
    form: Form,
    way: Way,
    /// A peer is connected, which says nothing.
    peer: bool,
    /// The calls had time to begin before the close.
    waits: bool,
}

fn cases(ways: &[Way]) -> Vec<Case> {
    let mut all = Vec::new();
    for form in [Form::Async, Form::Blocking] {
        for way in ways.iter().copied() {
            for peer in [true, false] {
                for waits in [true, false] {
                    all.push(Case { number: all.len(), form, way, peer, waits });
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
macro_rules! begin {
    ($form:expr, $caller:expr, $call:ident or $blocking:ident($($word:expr)?)) => {{
        let caller = $caller;
        let (done, ended) = oneshot::channel();
        match $form {
            Form::Async => drop(tokio::spawn(async move {
                // Nobody listens any more when the test has failed already.
                let _ = done.send(refused(caller.$call($($word)?).await));
            })),
            Form::Blocking => drop(thread::spawn(move || {
                let _ = done.send(refused(caller.$blocking($($word)?)));
            })),
        }
        (concat!(stringify!($caller), ".", stringify!($call)), ended)
    }};
}

/// A socket of ours, and a peer that is connected to it if the case has one.
macro_rules! joined {
    ($room:expr, $case:expr, $socket:ident, $peer:ident) => {{
        let (socket, peer) = ($socket::new(), $peer::new());
        if $case.peer {
            // Nobody can wait until a dropped socket has let go of its address.
            let name = format!("{}-{}", stringify!($socket), $case.number);
            let address = socket.listen(&$room.other(&name)).await.expect("listens");
            peer.dial(&address.to_string()).await.expect("dials");
            while socket.statistics().pipes_open == 0 {
                pause().await;
            }
        }
        (Arc::new(socket), peer)
    }};
}

/// Closes the socket as the case says, and holds the calls to the promise.
macro_rules! end {
    ($case:expr, $socket:expr, $peer:expr, $waiting:expr) => {{
        let (case, socket, waiting): (Case, _, Vec<Waiting>) = ($case, $socket, $waiting);
        if case.waits {
            // That a call waits is told to nobody; the other half of the cases does without.
            for _ in 0..3 {
                pause().await;
            }
        }
        match case.way {
            Way::Close => socket.close().await,
            Way::BlockingClose => {
                let socket = socket.clone();
                tokio::task::spawn_blocking(move || socket.blocking_close()).await.expect("closes");
            }
            Way::Drop => assert!(Arc::into_inner(socket).is_some(), "the last handle"),
        }
        for (call, ended) in waiting {
            let said = ended.await.unwrap_or_else(|_| panic!("{call} panicked: {case:?}"));
            let error = said.unwrap_or_else(|| panic!("{call} was served: {case:?}"));
            let closed = matches!(error.kind, SocketErrorKind::Closed);
            assert!(closed, "{call} ended with {error}: {case:?}");
        }
        $peer.close().await;
    }};
}

/// A context ends with its socket, whoever closes it, and even when only the context is left of it.
pub async fn closing_ends_the_contexts_that_wait(room: &Room) {
    for case in cases(&[Way::Close, Way::BlockingClose, Way::Drop]) {
        let form = case.form;

        let (rep, peer) = joined!(room, case, Rep, Req);
        let waiting = (0..2)
            .map(|_| begin!(form, rep.context().expect("one"), recv or blocking_recv()))
            .collect();
        end!(case, rep, peer, waiting);

        let (req, peer) = joined!(room, case, Req, Rep);
        let mut waiting =
            vec![begin!(form, req.context().expect("one"), ask or blocking_ask("for nothing"))];
        if !case.peer {
            let send =
                begin!(form, req.context().expect("two"), send or blocking_send("to nobody"));
            waiting.push(send);
        }
        end!(case, req, peer, waiting);

        let (sub, peer) = joined!(room, case, Sub, Pub);
        let listener = sub.context().expect("one");
        listener.subscribe("").expect("a topic");
        end!(case, sub, peer, vec![begin!(form, listener, recv or blocking_recv())]);

        let (surveyor, peer) = joined!(room, case, Surveyor, Respondent);
        let asker = surveyor.context().expect("one");
        asker.set_survey_time(None);
        asker.send("who?").await.expect("sent");
        end!(case, surveyor, peer, vec![begin!(form, asker, recv or blocking_recv())]);

        let (respondent, peer) = joined!(room, case, Respondent, Surveyor);
        let waiting = (0..2)
            .map(|_| begin!(form, respondent.context().expect("one"), recv or blocking_recv()))
            .collect();
        end!(case, respondent, peer, waiting);
    }
}

/// The socket's own calls end, whoever closes it; while they run, no handle is the last.
pub async fn closing_ends_the_sockets_own_calls(room: &Room) {
    for case in cases(&[Way::Close, Way::BlockingClose]) {
        let form = case.form;
        macro_rules! receives {
            ($($socket:ident of $peer:ident),*) => {$({
                let (socket, peer) = joined!(room, case, $socket, $peer);
                let call = begin!(form, socket.clone(), recv or blocking_recv());
                end!(case, socket, peer, vec![call]);
            })*};
        }
        receives!(Rep of Req, Respondent of Surveyor, Pull of Push, Sub of Pub);
        receives!(Bus of Bus, Star of Star, Pair of Pair, Pair0 of Pair0, PairMany of Pair);
        receives!(RawRep of Req);

        let (req, peer) = joined!(room, case, Req, Rep);
        let call = begin!(form, req.clone(), ask or blocking_ask("for nothing"));
        end!(case, req, peer, vec![call]);

        let (surveyor, peer) = joined!(room, case, Surveyor, Respondent);
        surveyor.set_survey_time(None);
        surveyor.send("who?").await.expect("sent");
        let call = begin!(form, surveyor.clone(), recv or blocking_recv());
        end!(case, surveyor, peer, vec![call]);

        if !case.peer {
            let (push, peer) = joined!(room, case, Push, Pull);
            let waiting = (0..2)
                .map(|_| begin!(form, push.clone(), send or blocking_send("to nobody")))
                .collect();
            end!(case, push, peer, waiting);
        }
    }
}

/// Threads without a runtime ask and answer as fast as they can, and either socket is closed in the
/// middle of it: those who answered end, and so do those who asked when theirs is closed too.
pub async fn closing_ends_threads_at_work(room: &Room) {
    for round in 0..20 {
        let (at, kept) = (room.other(&round.to_string()), round % 2 == 0);
        let (done, over) = oneshot::channel();
        thread::spawn(move || {
            work_and_close(&at, kept);
            // Nobody listens any more when the test has failed already.
            let _ = done.send(());
        });
        over.await.expect("no thread panics");
    }
}

/// The rep is closed, or its last handle dropped; then the req.
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
