//! SP at a path of a port that belongs to an HTTP server.
//!
//! The server accepts and reads the head of each request; one for an upgrade at the endpoint's path
//! it hands over, with the bytes that it has read. The socket or node that listens at the endpoint's
//! address checks and answers it like any other.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpStream;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::{Mutex as AsyncMutex, mpsc};

use crate::addresses::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::options::TcpOptions;
use crate::sync::{AtomicBool, Ordering};
use crate::transport::{BACKLOG, Connection};
use crate::transports::stream;

/// Endpoints of a process at which nothing listens yet.
const WAITING_MAX: usize = 1024;

type Waiting = (u64, HashMap<String, Arrivals>);

/// The endpoints at which nothing listens yet, and the number that was given out last.
static WAITING: LazyLock<Mutex<Waiting>> = LazyLock::new(Mutex::default);

/// A connection, and the bytes of it that were read.
pub(super) struct Arrival {
    pub(super) below: Connection,
    pub(super) read: Vec<u8>,
}

/// A path of an HTTP server at which SP is spoken.
///
/// ```
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// use wigwag_net::socket::Rep;
/// use wigwag_net::ws::HttpEndpoint;
///
/// let endpoint = HttpEndpoint::new("/rep")?;
/// let rep = Rep::new();
/// rep.listen(&endpoint.address().to_string()).await?;
/// // For each request for an upgrade at /rep, the server calls `endpoint.hand_over(stream, head)`.
/// # Ok::<(), wigwag_net::NetError>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct HttpEndpoint {
    address: Address,
    arrivals: mpsc::Sender<Arrival>,
    is_local: Arc<AtomicBool>,
}

/// A connection that an endpoint did not take: nothing listens there, or does not accept fast enough.
/// The server may answer it with 503.
#[derive(Debug, thiserror::Error)]
#[error("the endpoint takes no connection now")]
pub struct NotTaken<S>(pub S);

impl HttpEndpoint {
    /// An endpoint at `path`. Its [address](Self::address) can be listened at once.
    ///
    /// # Errors
    /// `BadAddress` if the path does not begin with `/` or is not printable ASCII without `?` and
    /// `#`; `TooMany` if 1,024 endpoints wait to be listened at.
    pub fn new(path: &str) -> Result<HttpEndpoint, NetError> {
        let error = |kind| Err(NetError::new(format!("ws://{path}"), kind));
        let is_path = path.bytes().all(|byte| byte.is_ascii_graphic() && !b"?#".contains(&byte));
        if !path.starts_with('/') || !is_path {
            let rule = "a path begins with / and is printable ASCII without ? and #";
            return error(NetErrorKind::BadAddress { rule });
        }
        let (arrivals, receiver) = mpsc::channel(BACKLOG as usize);
        let mut waiting = waiting();
        if waiting.1.len() >= WAITING_MAX {
            let what = "endpoints at which nothing listens";
            return error(NetErrorKind::TooMany { what, most: WAITING_MAX });
        }
        waiting.0 += 1;
        let rest = format!("@{}{path}", waiting.0);
        let is_local = Arc::new(AtomicBool::new(false));
        let receiver = AsyncMutex::new(receiver);
        waiting.1.insert(rest.clone(), Arrivals { receiver, is_local: is_local.clone() });
        Ok(HttpEndpoint { address: Address::new("ws", rest), arrivals, is_local })
    }

    /// Says that only programs of this machine reach the server, so that a node may listen at the
    /// endpoint as at a loopback address.
    #[must_use]
    pub fn local(self) -> HttpEndpoint {
        // Relaxed: set before the address is listened at.
        self.is_local.store(true, Ordering::Relaxed);
        self
    }

    /// The address to listen at.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Hands a connection over, of which `read` is what was read: the head of a request, whole or in
    /// part, and nothing of an earlier one.
    ///
    /// # Errors
    /// If it is not taken, which returns it.
    pub fn hand_over(&self, stream: TcpStream, read: &[u8]) -> Result<(), NotTaken<TcpStream>> {
        let Ok(place) = self.arrivals.try_reserve() else { return Err(NotTaken(stream)) };
        let peer =
            stream.peer_addr().map_or_else(|_| "ws://".into(), |peer| format!("ws://{peer}"));
        // An error is one of a connection that has ended already.
        if let Ok(below) = stream::tcp(stream, "ws", peer, TcpOptions::default()) {
            place.send(Arrival { below, read: read.to_vec() });
        }
        Ok(())
    }

    /// [`hand_over`](Self::hand_over) of a connection that is not plain tcp.
    ///
    /// # Errors
    /// If it is not taken, which returns it.
    #[expect(clippy::result_large_err, reason = "the error is the connection, which comes back")]
    pub fn hand_over_connection(
        &self,
        below: Connection,
        read: &[u8],
    ) -> Result<(), NotTaken<Connection>> {
        let arrival = Arrival { below, read: read.to_vec() };
        self.arrivals.try_send(arrival).map_err(|error| match error {
            TrySendError::Full(arrival) | TrySendError::Closed(arrival) => NotTaken(arrival.below),
        })
    }
}

impl fmt::Display for HttpEndpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.address.fmt(f)
    }
}

impl Drop for HttpEndpoint {
    fn drop(&mut self) {
        waiting().1.remove(self.address.rest());
    }
}

fn waiting() -> MutexGuard<'static, Waiting> {
    // The table is consistent between two calls, so a panic elsewhere has broken nothing.
    WAITING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The connections that are handed over at one endpoint.
pub(super) struct Arrivals {
    receiver: AsyncMutex<mpsc::Receiver<Arrival>>,
    is_local: Arc<AtomicBool>,
}

impl Arrivals {
    /// The connections of the endpoint at `address`, where nothing else listens.
    pub(super) fn at(address: &Address) -> Result<Arrivals, NetError> {
        let arrivals = waiting().1.remove(address.rest());
        let none = || NetError::new(address, NetErrorKind::NobodyListens);
        arrivals.ok_or_else(none)
    }

    /// True if only programs of this machine reach the server.
    pub(super) fn is_local(&self) -> bool {
        self.is_local.load(Ordering::Relaxed)
    }

    /// The next connection; `None` if the endpoint is gone, so that no more come.
    pub(super) async fn next(&self) -> Option<Arrival> {
        self.receiver.lock().await.recv().await
    }

    /// True if the endpoint is gone.
    pub(super) fn have_ended(&self) -> bool {
        self.receiver.try_lock().is_ok_and(|receiver| receiver.is_closed() && receiver.is_empty())
    }
}
