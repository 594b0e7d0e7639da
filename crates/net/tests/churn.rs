//! Sockets and pipes open and close by the thousand while others pass numbered messages: nothing is
//! lost or duplicated, every close ends within its promised time, and nothing is left behind,
//! neither files nor threads nor tasks nor memory.
//!
//! `WIGWAG_NIGHTLY` opens and closes ten times as many.
#![allow(clippy::unwrap_used, reason = "a test may panic, and so may its helpers")]

#[path = "support/memory.rs"]
mod memory;

use std::env;
use std::fs;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::timeout;
use wigwag_net::Redial;
use wigwag_net::socket::{LINGER_MAX, PairMany, Pub, Pull, Push, Rep, Req, Sub};

use memory::status;

/// Openings and closings in total: each round of [`churn`] has four, over three transports.
const OPENINGS: u32 = 10_000;
const OPENINGS_NIGHTLY: u32 = 100_000;
const A_ROUND: u32 = 4;

/// Factor by which a loaded machine may exceed promised times.
const GRACE: u32 = 5;

/// Growth of resident memory between the first tenth and the end, in KiB.
const GROWTH_KIB_MAX: u64 = 24 * 1024;

/// The transport of a group of sockets.
#[derive(Clone, Copy, Debug)]
enum Place {
    Tcp,
    Ipc,
    Inproc,
}

const PLACES: [Place; 3] = [Place::Tcp, Place::Ipc, Place::Inproc];

impl Place {
    fn address(self, name: &str) -> String {
        let process = std::process::id();
        match self {
            Place::Tcp => "tcp://127.0.0.1:0".to_owned(),
            Place::Ipc => {
                let path = env::temp_dir().join(format!("wigwag-churn-{process}-{name}"));
                format!("ipc://{}", path.display())
            }
            Place::Inproc => format!("inproc://churn-{name}"),
        }
    }
}

/// Resources that the process holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    files: usize,
    tasks: usize,
    threads: u64,
}

impl Held {
    fn now() -> Held {
        let files = fs::read_dir("/proc/self/fd").unwrap().count();
        let tasks = Handle::current().metrics().num_alive_tasks();
        Held { files, tasks, threads: status("Threads:") }
    }

    /// Waits until the process holds no more than this; a closed socket's task releases it a moment
    /// later.
    async fn comes_back_to(self, what: &str) {
        let back = async {
            while Held::now().files > self.files || Held::now().tasks > self.tasks {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        if timeout(LINGER_MAX * GRACE, back).await.is_err() {
            panic!("{what}: {self:?} before, {:?} now", Held::now());
        }
        assert_eq!(Held::now().threads, self.threads, "{what}: threads");
    }
}

/// Sockets that stay open until the end and pass numbered messages all the while.
struct Traffic {
    over: oneshot::Sender<()>,
    sending: JoinHandle<u64>,
    receiving: JoinHandle<u64>,
}

impl Traffic {
    async fn begin(place: Place) -> Traffic {
        let (pull, push) = (Pull::new(), Push::new());
        let address = pull.listen(&place.address("traffic")).await.unwrap().to_string();
        push.dial(&address).await.unwrap();
        let (over, mut stop) = oneshot::channel();
        let sending = tokio::spawn(async move {
            let mut sent = 0_u64;
            while stop.try_recv().is_err() {
                push.send(sent.to_be_bytes()).await.unwrap();
                sent += 1;
                if sent.is_multiple_of(16) {
                    // Some traffic, less than there is room for.
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
            push.send("over").await.unwrap();
            push.close().await;
            sent
        });
        let receiving = tokio::spawn(async move {
            let mut heard = 0_u64;
            loop {
                let message = pull.recv().await.unwrap();
                if message == "over" {
                    pull.close().await;
                    return heard;
                }
                assert_eq!(message, heard.to_be_bytes().to_vec(), "in order, each once");
                heard += 1;
            }
        });
        Traffic { over, sending, receiving }
    }

    async fn end(self) -> u64 {
        self.over.send(()).unwrap();
        let (sent, heard) = (self.sending.await.unwrap(), self.receiving.await.unwrap());
        assert_eq!(sent, heard);
        heard
    }
}

/// Checks that a close ends within its promised time: a second at most.
async fn within_promise(closing: impl Future<Output = ()>, what: &str) {
    let closed = timeout(LINGER_MAX * GRACE, closing).await;
    assert!(closed.is_ok(), "{what}: not closed within {:?}", LINGER_MAX * GRACE);
}

/// A server that stays, and is asked by one client after the other.
struct Server {
    address: String,
    serving: JoinHandle<()>,
}

impl Server {
    async fn begin(place: Place) -> Server {
        let rep = Rep::new();
        let address = rep.listen(&place.address("server")).await.unwrap().to_string();
        let serving = tokio::spawn(async move {
            loop {
                let question = rep.recv().await.unwrap();
                rep.send(question).await.unwrap();
            }
        });
        Server { address, serving }
    }
}

/// One round, of four openings and closings.
async fn churn(place: Place, server: &Server, number: u32) {
    // A client connects, asks, and leaves; every third is dropped with its question under way.
    let req = Req::new();
    req.dial(&server.address).await.unwrap();
    let question = number.to_string();
    if number.is_multiple_of(3) {
        req.send(question).await.unwrap();
        drop(req);
    } else {
        assert_eq!(req.ask(question.clone()).await.unwrap(), question);
        within_promise(req.close(), "req").await;
    }
    // A listener opens, is heard, and closes, together with its address.
    let (publisher, sub) = (Pub::new(), Sub::new());
    sub.subscribe("").unwrap();
    let address = publisher.listen(&place.address("round")).await.unwrap().to_string();
    sub.dial(&address).await.unwrap();
    while publisher.statistics().pipes_open == 0 {
        tokio::task::yield_now().await;
    }
    publisher.send("heard").await.unwrap();
    assert_eq!(sub.recv().await.unwrap(), "heard");
    if number.is_multiple_of(2) {
        within_promise(publisher.close(), "pub").await;
        within_promise(sub.close(), "sub").await;
    } else {
        within_promise(sub.close(), "sub").await;
        within_promise(publisher.close(), "pub").await;
    }
    // A socket is closed while a call waits in it.
    let waiting = Arc::new(Pull::new());
    waiting.listen(&place.address("waiting")).await.unwrap();
    let call = tokio::spawn({
        let waiting = waiting.clone();
        async move { waiting.recv().await.is_err() }
    });
    tokio::task::yield_now().await;
    within_promise(waiting.close(), "pull").await;
    assert!(timeout(LINGER_MAX * GRACE, call).await.unwrap().unwrap());
}

/// Closes pipes of sockets that stay, so that they are dialled again.
async fn close_pipes(place: Place, count: u32) {
    let (hub, spoke) = (PairMany::new(), PairMany::new());
    spoke.set_redial(Redial::new(Duration::from_millis(1), Duration::from_millis(1)).unwrap());
    let address = hub.listen(&place.address("hub")).await.unwrap().to_string();
    spoke.dial(&address).await.unwrap();
    for closed in 0..u64::from(count) {
        let opened = async {
            while hub.statistics().pipes_opened <= closed || hub.pipes().is_empty() {
                tokio::time::sleep(Duration::from_micros(200)).await;
            }
        };
        timeout(LINGER_MAX * GRACE, opened).await.expect("dialled again");
        for pipe in hub.pipes() {
            hub.close_pipe(pipe.info.id);
        }
    }
    within_promise(hub.close(), "hub").await;
    within_promise(spoke.close(), "spoke").await;
    assert!(hub.statistics().pipes_opened >= count.into());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_openings_and_closings_leave_nothing_behind() {
    let openings = match env::var_os("WIGWAG_NIGHTLY") {
        Some(_) => OPENINGS_NIGHTLY,
        None => OPENINGS,
    };
    let rounds = openings / A_ROUND / PLACES.len() as u32;
    let begun = Instant::now();
    let nothing = Held::now();
    let mut traffic = Vec::new();
    for place in PLACES {
        traffic.push((Traffic::begin(place).await, Server::begin(place).await, place));
    }
    let before = Held::now();
    let mut resident = 0;
    for round in 0..rounds {
        for (_, server, place) in &traffic {
            churn(*place, server, round).await;
        }
        if round == rounds / 10 {
            resident = status("VmRSS:");
        }
    }
    before.comes_back_to("sockets").await;
    for place in PLACES.into_iter().take(2) {
        close_pipes(place, rounds / 10).await;
    }
    before.comes_back_to("pipes").await;
    let grown = status("VmRSS:").saturating_sub(resident);
    assert!(grown < GROWTH_KIB_MAX, "resident memory has grown by {grown} KiB");
    let mut heard = 0;
    for (traffic, server, _) in traffic {
        server.serving.abort();
        heard += traffic.end().await;
    }
    nothing.comes_back_to("everything").await;
    eprintln!(
        "{openings} openings in {:?}, {heard} messages beside them, {grown} KiB more",
        begun.elapsed()
    );
}
