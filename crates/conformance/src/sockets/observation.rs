//! The events and numbers that a socket reports about its pipes.

use std::sync::{Arc, Mutex};

use wigwag_net::NetErrorKind;
use wigwag_net::handshake::{greet, send_message, write_all};
use wigwag_net::socket::{
    Pair, PipeEnd, PipeInfo, PipeStatistics, PipeWatcher, Pull, Push, Rep, Req, Side,
};
use wigwag_net::transport;
use wigwag_wire::{ProtocolNumber, ReadBuf};

use crate::transport::read_to_end;
use crate::{TestEnv, eventually};

/// An observer that records the events of all pipes, and accepts a limited number of peers.
#[derive(Default)]
struct PipeEventLog {
    remaining: Mutex<usize>,
    events: Mutex<Vec<(u32, String)>>,
}

impl PipeEventLog {
    fn accepting(remaining: usize) -> Arc<PipeEventLog> {
        Arc::new(PipeEventLog { remaining: Mutex::new(remaining), events: Mutex::default() })
    }

    fn record(&self, pipe: &PipeInfo, what: impl Into<String>) {
        self.events.lock().expect("no panic").push((pipe.id.0, what.into()));
    }

    fn events(&self) -> Vec<(u32, String)> {
        self.events.lock().expect("no panic").clone()
    }
}

struct RecordingWatcher(Arc<PipeEventLog>);

impl PipeWatcher for RecordingWatcher {
    fn arriving(&self, pipe: &PipeInfo) -> Result<(), String> {
        self.0.record(pipe, "arriving");
        let mut remaining = self.0.remaining.lock().expect("no panic");
        *remaining = remaining.checked_sub(1).ok_or("the house is full")?;
        Ok(())
    }

    fn admitted(&self, pipe: &PipeInfo) {
        self.0.record(pipe, "admitted");
    }

    fn refused(&self, pipe: &PipeInfo, why: &str) {
        self.0.record(pipe, format!("refused: {why}"));
    }

    fn closed(&self, pipe: &PipeInfo, end: &PipeEnd, statistics: &PipeStatistics) {
        let traffic = statistics.traffic;
        self.0.record(pipe, format!("{end}, {} received", traffic.messages_received));
    }
}

/// The events of a pipe arrive in order, and the last one has the counts of its messages.
pub async fn a_watcher_gets_the_events_of_each_pipe_in_order(env: &TestEnv) {
    let log = PipeEventLog::accepting(1);
    let (pull, push) = (Pull::new(), Push::new());
    pull.watch_pipes(RecordingWatcher(log.clone()));
    let address = pull.listen(&env.address()).await.expect("listens");
    push.dial(&address.to_string()).await.expect("dials");
    for _ in 0..3 {
        push.send("x").await.expect("sent");
        pull.recv().await.expect("a message");
    }
    let report = pull.pipes();
    let [pipe] = &report[..] else { panic!("one pipe: {report:?}") };
    assert_eq!((pipe.info.side, &pipe.info.through), (Side::Accepted, address.address()));
    let (local, credentials) = (pipe.info.local.is_some(), pipe.info.credentials.is_some());
    match address.scheme() {
        "tcp" | "inproc" => assert_eq!((local, credentials), (true, false)),
        "ipc" | "abstract" => assert_eq!((local, credentials), (true, true)),
        // Other transports may not know it.
        _ => {}
    }
    let dialled = push.pipes().remove(0).info;
    assert_eq!((dialled.side, dialled.peer.as_ref()), (Side::Dialled, &*address.to_string()));
    push.close().await;
    eventually(|| log.events().len() == 3).await;
    let events: Vec<String> = log.events().into_iter().map(|(_, what)| what).collect();
    let end = "the peer closed the connection, 3 received";
    assert_eq!(events, ["arriving", "admitted", end]);
    assert!(log.events().iter().all(|(id, _)| *id == pipe.info.id.0));
}

/// A peer that the watcher refuses never becomes a pipe, and both ends report it.
pub async fn a_watcher_may_refuse(env: &TestEnv) {
    let log = PipeEventLog::accepting(1);
    let pull = Pull::new();
    pull.watch_pipes(RecordingWatcher(log.clone()));
    let address = pull.listen(&env.address()).await.expect("listens");
    let (first, second) = (Push::new(), Push::new());
    first.dial(&address.to_string()).await.expect("dials");
    eventually(|| pull.statistics().pipes_open == 1).await;
    second.dial(&address.to_string()).await.expect("its handshake is right");
    eventually(|| pull.statistics().pipes_turned_away >= 1).await;
    eventually(|| second.statistics().pipes_closed >= 1).await;
    assert_eq!(pull.statistics().pipes_opened, 1);
    let refused = "refused: the peer was turned away: the house is full".to_owned();
    assert!(log.events().iter().any(|(_, what)| *what == refused), "{:?}", log.events());
    // On the dialing side, the caller gets the error.
    let push = Push::new();
    push.watch_pipes(RecordingWatcher(PipeEventLog::accepting(0)));
    let error = push.dial(&address.to_string()).await.expect_err("nobody is let in");
    assert!(matches!(error.kind, NetErrorKind::TurnedAway { .. }), "{error}");
}

/// Refusals by the protocol are reported, too.
pub async fn a_watcher_is_notified_of_refusals_by_the_protocol(env: &TestEnv) {
    let log = PipeEventLog::accepting(9);
    let pair = Pair::new();
    pair.watch_pipes(RecordingWatcher(log.clone()));
    let address = pair.listen(&env.address()).await.expect("listens");
    let (first, second) = (Pair::new(), Pair::new());
    first.dial(&address.to_string()).await.expect("dials");
    eventually(|| pair.statistics().pipes_open == 1).await;
    second.dial(&address.to_string()).await.expect("its handshake is right");
    eventually(|| pair.statistics().pipes_refused >= 1).await;
    eventually(|| log.events().iter().any(|(_, what)| what.contains("one peer at a time"))).await;
}

/// The counts of messages and bytes are the same at both ends, and those of a socket are the sums
/// of those of its pipes.
pub async fn messages_and_bytes_are_counted_both_ways(env: &TestEnv) {
    const HEADER: u64 = 4;
    let (rep, req) = (Rep::new(), Req::new());
    let address = rep.listen(&env.address()).await.expect("listens");
    req.dial(&address.to_string()).await.expect("dials");
    for length in [0_usize, 10, 100_000] {
        req.send(vec![1; length]).await.expect("sent");
        rep.recv().await.expect("a request");
        rep.send("reply").await.expect("sent");
        req.recv().await.expect("a reply");
    }
    let (asked, answered) = (req.statistics().traffic, rep.statistics().traffic);
    assert_eq!((asked.messages_sent, asked.bytes_sent), (3, 100_010 + 3 * HEADER));
    assert_eq!((asked.messages_received, asked.bytes_received), (3, 15 + 3 * HEADER));
    let turned = (answered.messages_received, answered.bytes_received);
    assert_eq!(turned, (asked.messages_sent, asked.bytes_sent));
    assert_eq!(answered.bytes_sent, asked.bytes_received);
    assert_eq!(req.pipes().remove(0).statistics.traffic, asked);
}

/// Each failed handshake is counted by its reason.
pub async fn failed_handshakes_are_counted_by_reason(env: &TestEnv) {
    let pull = Pull::new();
    let address: wigwag_net::Address = pull.listen(&env.address()).await.expect("listens").into();
    // Where a connection opens with a request, what is no SP header cannot be sent.
    let not_sp = u64::from(!env.opens_with_a_request());
    for header in [&b"\0SP\0\0\x51\0\0"[..], b"\0SP", b"GET / HT"] {
        if header.starts_with(b"GET") && not_sp == 0 {
            continue;
        }
        let before = pull.statistics().handshakes_failed;
        let mut stranger = transport::dial(&address).await.expect("a connection");
        write_all(&*stranger.outlet, header).await.expect("written");
        if header.len() < 8 {
            stranger.outlet.close();
        }
        // A handshake of the transport goes on while the stranger reads.
        read_to_end(&mut stranger).await;
        eventually(|| pull.statistics().handshakes_failed == before + 1).await;
    }
    let numbers = pull.statistics();
    let by_reason = numbers.handshakes;
    let seen = (by_reason.wrong_protocol, by_reason.not_sp, by_reason.closed);
    assert_eq!((seen, numbers.handshakes_failed), ((1, not_sp, 1), 2 + not_sp));
}

/// Closing a pipe by its number disconnects the peer, which redials as after any other disconnect.
pub async fn one_pipe_can_be_closed(env: &TestEnv) {
    let (pull, push) = (Pull::new(), Push::new());
    let address = pull.listen(&env.address()).await.expect("listens");
    push.dial(&address.to_string()).await.expect("dials");
    eventually(|| pull.pipes().len() == 1).await;
    let pipe = pull.pipes().remove(0).info.id;
    assert!(pull.close_pipe(pipe));
    eventually(|| push.statistics().pipes_opened == 2).await;
    assert!(!pull.close_pipe(pipe));
    push.send("again").await.expect("sent");
    assert_eq!(pull.recv().await.expect("a message"), "again");
}

/// Each unwanted message of a peer is counted by its pipe and by the socket.
pub async fn unwanted_messages_of_a_peer_are_counted_by_reason(env: &TestEnv) {
    let rep = Rep::new();
    let address: wigwag_net::Address = rep.listen(&env.address()).await.expect("listens").into();
    let mut by_hand = transport::dial(&address).await.expect("a connection");
    greet(&mut by_hand, &mut ReadBuf::new(), ProtocolNumber::REQ).await.expect("a partner");
    let ring = [&[0, 0, 0, 1].repeat(8)[..], b"\x80\0\0\x01"].concat();
    for message in [&b""[..], b"\0\0", &ring, b"\x80\0\0\x02last"] {
        send_message(&by_hand, message).await.expect("sent");
    }
    assert_eq!(rep.recv().await.expect("a request"), "last");
    let dropped = rep.pipes().remove(0).statistics.dropped;
    assert_eq!((dropped.dropped_malformed, dropped.dropped_too_many_hops), (2, 1));
    assert_eq!(rep.statistics().counters.dropped(), 3);
    assert_eq!(rep.statistics().traffic.messages_received, 4);
}

/// A push whose peer accepts 4 KiB: from the second longer message on, the end of the connection
/// has the length of the message as its reason. A short message arrives over the next connection.
pub async fn a_message_that_the_peer_does_not_accept_is_reported(env: &TestEnv) {
    const LIMIT: usize = 4096;
    let log = PipeEventLog::accepting(usize::MAX);
    let (pull, push) = (Pull::new(), Push::new());
    pull.set_receive_limit(LIMIT);
    push.watch_pipes(RecordingWatcher(log.clone()));
    let address = pull.listen(&env.address()).await.expect("listens");
    push.dial(&address.to_string()).await.expect("dials");
    let mut closed = 0;
    while push.statistics().pipes_refused_by_length == 0 {
        push.send(vec![7; LIMIT + 1]).await.expect("sent");
        closed += 1;
        eventually(|| push.statistics().pipes_closed == closed).await;
    }
    assert!(closed >= 2, "one end may be chance");
    let reasons = || {
        let events = log.events();
        events.iter().filter(|(_, what)| what.contains("a message of 4097 bytes")).count()
    };
    eventually(|| reasons() > 0).await;
    assert_eq!(reasons(), 1);
    push.send(vec![7; LIMIT]).await.expect("sent");
    assert_eq!(pull.recv().await.expect("a message").len(), LIMIT);
    assert_eq!(push.statistics().pipes_closed, closed);
}
