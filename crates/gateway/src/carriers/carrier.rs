//! The carriers of sessions over long poll: two directions of bytes, moved by requests.
//!
//! A carrier is as good as a connection: what has gone wrong once ends it, and the session resumes over
//! another one. So nothing is sent twice on it, and each request says how many bytes came before.

use std::collections::HashMap;
use std::future::{Future, ready};
use std::io::{self, IoSlice};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use tokio::io::AsyncReadExt;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Notify, mpsc};
use tokio::time::{Instant, sleep, timeout};
use wigwag::access::Principal;
use wigwag::transport::{Connection, Inlet, Outlet};
use wigwag_net::inproc;
use wigwag_net::places::Places;
use wigwag_net::source::Source;

use crate::http::problem::Problem;
use crate::limits::{CARRIER_BYTES_MAX, CARRIER_IDLE_MAX, CARRIERS_MAX};

/// The carriers that are open, by their ids.
pub(crate) struct Carriers {
    arrivals: mpsc::Sender<Connection>,
    places: Arc<Places>,
    table: Mutex<HashMap<Box<str>, Arc<Carrier>>>,
}

/// One carrier.
pub(crate) struct Carrier {
    principal: Principal,
    outlet: Arc<dyn Outlet>,
    up: tokio::sync::Mutex<u64>,
    down: tokio::sync::Mutex<Down>,
    /// Requests that are being answered.
    open: AtomicUsize,
    /// Milliseconds since `begun` at the end of the last request.
    used: AtomicU64,
    begun: Instant,
    closed: Notify,
}

/// The direction to the client.
struct Down {
    reader: Box<dyn Inlet>,
    sent: u64,
}

/// Why a request did nothing, and ended the carrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// It does not continue where the one before ended, or comes beside it.
    OutOfStep,
    /// The node has closed the session's connection.
    Closed,
}

impl Carriers {
    /// A table whose carriers go to the node through `arrivals`.
    pub(crate) fn new(arrivals: mpsc::Sender<Connection>) -> Arc<Carriers> {
        Arc::new(Carriers { arrivals, places: Places::new(CARRIERS_MAX), table: Mutex::default() })
    }

    /// Opens a carrier for a client, and returns its id. It lasts until `end` at the latest.
    pub(crate) fn open(
        self: &Arc<Carriers>,
        principal: &Principal,
        peer: &str,
        prepare: impl FnOnce(&mut Connection),
        end: impl Future<Output = ()> + Send + 'static,
    ) -> Result<String, Problem> {
        let (ours, mut theirs) = inproc::pair(peer);
        prepare(&mut theirs);
        let place = self.places.enter(Source::of(&theirs));
        self.arrivals.try_send(theirs).map_err(|error| not_taken(&error))?;
        let carrier = Arc::new(Carrier {
            principal: principal.clone(),
            outlet: ours.outlet,
            up: tokio::sync::Mutex::new(0),
            down: tokio::sync::Mutex::new(Down { reader: ours.reader, sent: 0 }),
            open: AtomicUsize::new(0),
            used: AtomicU64::new(0),
            begun: Instant::now(),
            closed: Notify::new(),
        });
        let id = id();
        self.table().insert(id.as_str().into(), carrier.clone());
        let (carriers, key) = (self.clone(), id.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = carrier.idle() => {}
                () = place.evicted() => {}
                // Its place is for others.
                () = carrier.closed.notified() => {}
                () = end => {}
            }
            carriers.close(&key);
        });
        Ok(id)
    }

    /// The carrier with this id, for the client that has opened it.
    pub(crate) fn find(&self, id: &str, principal: &Principal) -> Option<Arc<Carrier>> {
        let carrier = self.table().get(id).cloned();
        carrier.filter(|carrier| carrier.principal == *principal)
    }

    /// Closes a carrier: the node sees the end of its connection.
    pub(crate) fn close(&self, id: &str) {
        let carrier = self.table().remove(id);
        if let Some(carrier) = carrier {
            carrier.outlet.close();
            carrier.closed.notify_one();
        }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Box<str>, Arc<Carrier>>> {
        // The table is consistent between two calls, so a panic elsewhere has broken nothing.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Carrier {
    /// Takes what the client sends behind `at` bytes, when the node has room for it.
    pub(crate) async fn send(&self, at: u64, bytes: &[u8]) -> Result<(), Fault> {
        let _used = Used::begin(self);
        let mut sent = self.up.try_lock().map_err(|_| Fault::OutOfStep)?;
        if *sent != at {
            return Err(Fault::OutOfStep);
        }
        let mut rest = bytes;
        while !rest.is_empty() {
            match self.outlet.try_write(&[IoSlice::new(rest)]) {
                Ok(written) => rest = &rest[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    self.outlet.writable().await.map_err(|_| Fault::Closed)?;
                }
                Err(_) => return Err(Fault::Closed),
            }
        }
        *sent += bytes.len() as u64;
        Ok(())
    }

    /// The bytes that the node sends behind `at` bytes; none if none come within `limit`.
    pub(crate) async fn poll(&self, at: u64, limit: Duration) -> Result<Option<Bytes>, Fault> {
        let _used = Used::begin(self);
        let mut down = self.down.try_lock().map_err(|_| Fault::OutOfStep)?;
        if down.sent != at {
            return Err(Fault::OutOfStep);
        }
        let mut bytes = BytesMut::with_capacity(4096);
        let reading = async {
            let first = down.reader.read_buf(&mut bytes).await;
            if !matches!(first, Ok(1..)) {
                return Err(Fault::Closed);
            }
            Ok(())
        };
        match timeout(limit, reading).await {
            Ok(read) => read?,
            Err(_) => return Ok(None),
        }
        // And all others that are there already. Nothing waits between a read and the answer: a
        // request that is given up in between would take bytes along that no other one is told of.
        while bytes.len() < CARRIER_BYTES_MAX {
            bytes.reserve((CARRIER_BYTES_MAX - bytes.len()).min(64 * 1024));
            let more = tokio::select! {
                biased;
                more = down.reader.read_buf(&mut bytes) => more,
                () = ready(()) => break,
            };
            if !matches!(more, Ok(1..)) {
                break;
            }
        }
        down.sent += bytes.len() as u64;
        Ok(Some(bytes.freeze()))
    }

    /// Waits until no request has come for the longest time that a carrier may be idle.
    async fn idle(&self) {
        loop {
            let last = self.begun + Duration::from_millis(self.used.load(Ordering::Relaxed));
            let over = last + CARRIER_IDLE_MAX;
            let is_open = self.open.load(Ordering::Relaxed) > 0;
            match over.checked_duration_since(Instant::now()) {
                _ if is_open => sleep(CARRIER_IDLE_MAX).await,
                Some(left) if !left.is_zero() => sleep(left).await,
                _ => return,
            }
        }
    }
}

/// Why a carrier was not handed over.
fn not_taken(error: &TrySendError<Connection>) -> Problem {
    match error {
        TrySendError::Full(_) => Problem::overloaded("the node takes no more sessions now"),
        TrySendError::Closed(_) => Problem::overloaded("the node is closed"),
    }
}

/// Marks a carrier as used while a request of it is answered.
struct Used<'a>(&'a Carrier);

impl<'a> Used<'a> {
    fn begin(carrier: &'a Carrier) -> Used<'a> {
        carrier.open.fetch_add(1, Ordering::Relaxed);
        Used(carrier)
    }
}

impl Drop for Used<'_> {
    fn drop(&mut self) {
        let used = self.0.begun.elapsed().as_millis() as u64;
        self.0.used.store(used, Ordering::Relaxed);
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// 128 random bits, so that nobody guesses the id of another client's carrier.
fn id() -> String {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).expect("the operating system has random numbers");
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::future::pending;
    use std::net::{IpAddr, Ipv4Addr};
    use std::pin::pin;

    use super::*;
    use crate::limits::POLL_TIME;

    /// A gateway's carriers, with one of a client that has no identity, and the node's end of it.
    async fn opened() -> (Arc<Carriers>, String, Arc<Carrier>, Connection) {
        let (arrivals, mut arrived) = mpsc::channel(1);
        let carriers = Carriers::new(arrivals);
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST).to_string();
        let id =
            carriers.open(&Principal::Anonymous, &peer, |_| {}, pending()).expect("there is room");
        let node = arrived.recv().await.expect("the carrier");
        let carrier = carriers.find(&id, &Principal::Anonymous).expect("it is open");
        (carriers, id, carrier, node)
    }

    /// A request that its client gives up must not have taken bytes along, or the next one would have
    /// those behind them in their place.
    #[tokio::test]
    async fn a_poll_waits_for_nothing_once_it_has_taken_bytes() {
        let (_carriers, _, carrier, node) = opened().await;
        let mut poll = pin!(carrier.poll(0, POLL_TIME));
        for text in [&b"first"[..], b" second"] {
            node.outlet.try_write(&[IoSlice::new(text)]).expect("there is room");
        }
        let answer = tokio::select! {
            biased;
            answer = &mut poll => answer,
            () = ready(()) => panic!("it has taken bytes, and waits"),
        };
        assert_eq!(answer, Ok(Some(Bytes::from_static(b"first second"))));
    }

    /// Or a client that opens and closes one after the other would push the others out.
    #[tokio::test(start_paused = true)]
    async fn a_carrier_that_is_closed_leaves_its_place_before_it_would_be_idle() {
        let (carriers, id, carrier, _node) = opened().await;
        carriers.close(&id);
        sleep(Duration::from_millis(1)).await;
        assert_eq!(carriers.places.count(), 0);
        assert_eq!(Arc::strong_count(&carrier), 1, "a task has it");
    }

    /// Also while a request lasts longer than a carrier may be idle.
    #[tokio::test(start_paused = true)]
    async fn a_carrier_is_idle_from_the_end_of_its_last_request() {
        let (carriers, id, carrier, _node) = opened().await;
        let is_open = || carriers.find(&id, &Principal::Anonymous).is_some();
        let long = CARRIER_IDLE_MAX * 5 / 2;
        assert_eq!(carrier.poll(0, long).await, Ok(None));
        sleep(CARRIER_IDLE_MAX - Duration::from_secs(1)).await;
        assert!(is_open());
        sleep(CARRIER_IDLE_MAX).await;
        assert!(!is_open());
        assert_eq!(carrier.poll(0, long).await, Err(Fault::Closed));
    }
}
