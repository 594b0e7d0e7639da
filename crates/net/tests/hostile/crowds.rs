//! Peers that take time or memory: silent ones, slow ones, a thousand of them, those that never
//! read, and those that announce more than they send.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::timeout;
use wigwag_net::ListenOptions;
use wigwag_net::socket::{Pub, Pull, Push, Rep, Req, SocketErrorKind, UNAUTHENTICATED_MAX};
use wigwag_wire::ProtocolNumber;
use wigwag_wire::state_machine::HANDSHAKE_MAX;

use crate::memory::{Memory, status};
use crate::peer::{Peer, Place, header};
use crate::row::AT_ONCE;
use crate::run::pause;
use crate::subject::{SocketKind, Subject};

/// Factor by which a loaded machine may exceed promised times.
const GRACE: u32 = 5;

const PLACES: [Place; 2] = [Place::Tcp, Place::Ipc];

async fn eventually(what: &str, happened: impl Fn() -> bool) {
    let waiting = async {
        while !happened() {
            pause().await;
        }
    };
    assert!(timeout(HANDSHAKE_MAX * GRACE, waiting).await.is_ok(), "no sign of {what}");
}

/// A pull socket, and a sound peer that pushes to it.
struct Served {
    pull: Pull,
    push: Push,
    address: String,
}

impl Served {
    async fn new(place: Place) -> Served {
        let (pull, push) = (Pull::new(), Push::new());
        let address = pull.listen(&place.address()).await.unwrap().to_string();
        push.dial(&address).await.unwrap();
        Served { pull, push, address }
    }

    async fn goes_on(&self) {
        self.push.send("sound").await.unwrap();
        assert_eq!(timeout(AT_ONCE, self.pull.recv()).await.unwrap().unwrap(), "sound");
    }

    fn timed_out(&self) -> u64 {
        self.pull.statistics().handshakes.timed_out
    }
}

/// The time limit is for the whole header: single bytes that arrive do not extend it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_peer_whose_header_is_not_complete_in_time_is_disconnected() {
    for place in PLACES {
        let served = Served::new(place).await;
        let mut silent = JoinSet::new();
        for said in [0, 3, 7] {
            let mut peer = Peer::connect(&served.address).await;
            silent.spawn(async move {
                let begun = Instant::now();
                peer.say(&header(ProtocolNumber::PUSH)[..said]).await;
                peer.rest().await;
                begun.elapsed()
            });
        }
        let mut peer = Peer::connect(&served.address).await;
        silent.spawn(async move {
            let begun = Instant::now();
            for byte in header(ProtocolNumber::PUSH) {
                // Eight of these pauses take longer than the handshake may.
                let rejected = timeout(HANDSHAKE_MAX / 6, peer.rest()).await.is_ok();
                if rejected {
                    break;
                }
                peer.say(&[byte]).await;
            }
            peer.rest().await;
            begun.elapsed()
        });
        while let Ok(left) = timeout(HANDSHAKE_MAX / 50, silent.join_next()).await {
            let Some(took) = left else { break };
            // The clocks of the peers began a little after ours.
            assert!(took.unwrap() > HANDSHAKE_MAX * 9 / 10);
        }
        eventually("the end of the silent peers", || served.timed_out() == 4).await;
        assert_eq!(served.pull.statistics().handshakes_failed, 4);
        served.goes_on().await;
        while let Some(took) = silent.join_next().await {
            assert!(took.unwrap() > HANDSHAKE_MAX * 9 / 10);
        }
    }
}

/// Twice as many silent peers as there are places: a partner is served at once at any time, and
/// when the time of the silent peers is over, nothing of them is left.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_peers_beyond_all_places_hold_up_no_partner() {
    let count = (2 * UNAUTHENTICATED_MAX).min(files_max() / 4);
    for place in PLACES {
        let memory = Memory::of_self();
        let served = Served::new(place).await;
        let mut silent = Vec::new();
        for _ in 0..count {
            let mut peer = Peer::connect(&served.address).await;
            // The peer gets a header for its first byte, so it has a place.
            peer.say(&header(ProtocolNumber::PUSH)[..1]).await;
            timeout(AT_ONCE, peer.greeting()).await.unwrap().unwrap();
            silent.push(peer);
            if silent.len() % 256 == 255 || silent.len() == count {
                let partner = Push::new();
                timeout(AT_ONCE, partner.dial(&served.address)).await.unwrap().unwrap();
                partner.send("beside them").await.unwrap();
                let heard = timeout(AT_ONCE, served.pull.recv()).await.unwrap();
                assert_eq!(heard.unwrap(), "beside them");
            }
        }
        served.goes_on().await;
        let gone = || {
            let handshakes = served.pull.statistics().handshakes;
            handshakes.timed_out + handshakes.evicted
        };
        eventually("the end of all", || gone() == count as u64).await;
        if count > UNAUTHENTICATED_MAX {
            let evicted = served.pull.statistics().handshakes.evicted;
            assert!(evicted >= (count - UNAUTHENTICATED_MAX) as u64, "{evicted} evicted");
        }
        assert_eq!(served.pull.statistics().pipes_open, 1, "the sound one");
        memory.check("silent peers beyond all places");
    }
}

/// Files that this process may have open.
fn files_max() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files"));
    let soft = line.and_then(|line| line.split_whitespace().nth(3)).unwrap();
    soft.parse().unwrap_or(usize::MAX)
}

/// Sixty peers announce 512 MiB each to a socket that would accept them, and send a little: memory
/// follows the bytes that arrived.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_announced_length_allocates_nothing() {
    const CLAIM: u64 = 512 << 20;
    const PEERS: u64 = 60;
    for place in PLACES {
        let memory = Memory::of_self();
        let virtual_before = status("VmPeak:");
        let served = Served::new(place).await;
        served.pull.set_receive_limit(1 << 30);
        let mut peers = Vec::new();
        for _ in 0..PEERS {
            let mut peer = Peer::connect(&served.address).await;
            let said = [header(ProtocolNumber::PUSH), place.claim(CLAIM), vec![7; 10_000]].concat();
            peer.say(&said).await;
            peers.push(peer);
        }
        eventually("all of them", || served.pull.statistics().pipes_open == PEERS + 1).await;
        served.goes_on().await;
        memory.check("announced messages");
        let grown = status("VmPeak:").saturating_sub(virtual_before);
        assert!(grown * 1024 < CLAIM, "{grown} KiB of address space");
        drop(peers);
        eventually("their end", || served.pull.statistics().pipes_open == 1).await;
    }
}

/// A push socket with a peer that never reads is held up with little in memory; another peer gets
/// the messages sent then; and the close ends with the linger time.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_never_reads_stops_its_own_queue_only() {
    const LINGER: Duration = Duration::from_millis(200);
    for place in PLACES {
        let memory = Memory::of_self();
        let push = Push::new();
        push.set_send_timeout(Some(Duration::from_millis(200)));
        push.set_linger(Some(LINGER));
        let address = push.listen(&place.address()).await.unwrap().to_string();
        let mut silent = Peer::connect(&address).await;
        silent.say(&header(ProtocolNumber::PULL)).await;
        let body = vec![7; 64 * 1024];
        let mut sent = 0_u64;
        let error = loop {
            match push.send(body.clone()).await {
                Ok(()) => sent += 1,
                Err(refused) => break refused.error.kind,
            }
            assert!(sent < 4096, "nothing holds the sender back");
        };
        assert!(matches!(error, SocketErrorKind::TimedOut(_)), "{error}");
        let worker = Pull::new();
        worker.dial(&address).await.unwrap();
        for number in 0..100 {
            push.send(number.to_string()).await.unwrap();
            assert_eq!(worker.recv().await.unwrap(), number.to_string());
        }
        memory.check("a queue that nobody reads");
        let begun = Instant::now();
        push.close().await;
        assert!(begun.elapsed() < LINGER * GRACE, "{:?}", begun.elapsed());
        let statistics = push.statistics();
        let lost = statistics.counters.dropped() + statistics.messages_cut_off;
        assert!(lost > 0, "{statistics:?}");
        assert_eq!(statistics.counters.sent, sent + 100);
        drop(silent);
    }
}

/// A subscriber that never reads misses messages, which are counted; the others miss none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_subscriber_that_never_reads_misses_messages_alone() {
    for place in PLACES {
        let memory = Memory::of_self();
        let publisher = Pub::new();
        publisher.set_linger(Some(Duration::ZERO));
        let address = publisher.listen(&place.address()).await.unwrap().to_string();
        let mut silent = Peer::connect(&address).await;
        let mut sound = Peer::connect(&address).await;
        for peer in [&mut silent, &mut sound] {
            peer.say(&header(ProtocolNumber::SUB)).await;
        }
        eventually("two subscribers", || publisher.statistics().pipes_open == 2).await;
        let mut body = vec![7; 16 * 1024];
        for number in 0..2000_u32 {
            body[..4].copy_from_slice(&number.to_be_bytes());
            publisher.send(body.clone()).await.unwrap();
            let heard = timeout(AT_ONCE, sound.hear()).await.unwrap().unwrap();
            assert!(heard == body, "message {number}");
        }
        let statistics = publisher.statistics();
        let missed = statistics.counters.dropped_peer_slow;
        assert!(missed > 0 && missed < 2000, "{statistics:?}");
        assert_eq!(statistics.counters.dropped(), missed);
        memory.check("a subscriber that never reads");
    }
}

/// A client asks without end and never reads a reply: the others are answered.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_holds_up_no_other() {
    for place in PLACES {
        let memory = Memory::of_self();
        let rep = Rep::new();
        rep.set_linger(Some(Duration::ZERO));
        let address = rep.listen(&place.address()).await.unwrap().to_string();
        let serving = tokio::spawn(async move {
            let reply = vec![7; 16 * 1024];
            while rep.recv().await.is_ok() {
                let _ = rep.send(reply.clone()).await;
            }
        });
        let mut flood = Peer::connect(&address).await;
        flood.say(&header(ProtocolNumber::REQ)).await;
        let request = place.framed(b"\x80\0\0\x01more");
        let flooding = tokio::spawn(async move {
            for _ in 0..200_000 {
                flood.say(&request).await;
            }
        });
        let sound = Req::new();
        sound.dial(&address).await.unwrap();
        for _ in 0..300 {
            let reply = timeout(AT_ONCE, sound.ask("sound")).await.unwrap().unwrap();
            assert_eq!(reply.len(), 16 * 1024);
        }
        memory.check("a client that never reads");
        flooding.abort();
        serving.abort();
    }
}

/// Ids count up, so a peer that was asked once can guess the next: a reply to a question of another
/// peer is dropped and counted, and the true one is accepted.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reply_of_a_peer_that_was_never_asked_is_dropped() {
    for place in PLACES {
        let req = Req::new();
        let address = req.listen(&place.address()).await.unwrap().to_string();
        let mut asked = Peer::connect(&address).await;
        asked.say(&header(ProtocolNumber::REP)).await;
        req.send("whom?").await.unwrap();
        let question = timeout(AT_ONCE, asked.hear()).await.unwrap().unwrap();
        let mut forger = Peer::connect(&address).await;
        let forged = [&question[..4], b"me"].concat();
        let said = [header(ProtocolNumber::REP), place.framed(&forged)].concat();
        forger.say(&said).await;
        eventually("the forged reply", || req.statistics().counters.dropped_late == 1).await;
        asked.say(&place.framed(&[&question[..4], b"you"].concat())).await;
        assert_eq!(timeout(AT_ONCE, req.recv()).await.unwrap().unwrap(), "you");
        assert_eq!(req.statistics().counters.dropped(), 1);
    }
}

/// A socket is closed while peers are in their handshake and its pipes hold partial messages.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn closing_waits_for_no_hostile_peer() {
    for place in PLACES {
        for ours in [
            SocketKind::Pull,
            SocketKind::Rep,
            SocketKind::Bus,
            SocketKind::Surveyor,
            SocketKind::RawRep,
        ] {
            let subject: Box<dyn Subject> = ours.open();
            let address = subject.listen(place.address(), ListenOptions::default()).await;
            let mut peers = Vec::new();
            let greeting = header(ours.partner());
            let torn = [greeting.clone(), place.claim(100)].concat();
            for said in [&greeting[..1], &greeting[..4], &greeting, &torn] {
                let mut peer = Peer::connect(&address).await;
                peer.say(said).await;
                peer.greeting().await;
                peers.push(peer);
            }
            eventually("two pipes", || subject.statistics().pipes_open == 2).await;
            let closed = timeout(AT_ONCE, subject.close()).await;
            assert!(closed.is_ok(), "{ours:?} over {place:?}");
            assert_eq!(subject.statistics().pipes_open, 0);
            for peer in &mut peers {
                assert!(timeout(AT_ONCE, peer.rest()).await.unwrap().is_empty());
            }
        }
    }
}
