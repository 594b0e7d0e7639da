//! A transport on the connections of the example `exec`, over pipes, with both ends in one process.
//! The example itself has its listener in another process, so the promises are tested here.

use std::collections::HashMap;
use std::io::{self, PipeReader, PipeWriter};
use std::sync::{LazyLock, Mutex, Once};

use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::mpsc;
use wigwag::Address;
use wigwag::transport::{
    Boxed, Connection, DialOptions, ListenOptions, Listener, NetError, NetErrorKind, Transport,
    register,
};

#[path = "../../../../wigwag/examples/exec/pipes.rs"]
mod pipes;

/// The ends that a dialer gives to the listener: the pipe to read from, and the one to write to.
type Ends = (PipeReader, PipeWriter);

/// The listeners by name.
static DOORS: LazyLock<Mutex<HashMap<String, mpsc::Sender<Ends>>>> = LazyLock::new(Mutex::default);

/// Registers `piped://`, once.
pub(crate) fn make_known() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| register(&Piped).expect("nobody else has the scheme"));
}

struct Piped;

impl Transport for Piped {
    fn scheme(&self) -> &'static str {
        "piped"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let mut doors = DOORS.lock().expect("no panic under the lock");
            if doors.get(address.rest()).is_some_and(|door| !door.is_closed()) {
                return Err(NetError::new(address, NetErrorKind::InUse));
            }
            let (door, arrivals) = mpsc::channel(options.get_backlog().max(1) as usize);
            doors.insert(address.rest().to_owned(), door);
            let arrivals = tokio::sync::Mutex::new(arrivals);
            Ok(Box::new(Arrivals { address: address.clone(), arrivals }) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        _options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let nobody = || NetError::new(address, NetErrorKind::NobodyListens);
            let door = DOORS.lock().expect("no panic under the lock").get(address.rest()).cloned();
            let pipes = || Ok((io::pipe()?, io::pipe()?));
            let ((from_them, to_us), (from_us, to_them)) =
                pipes().map_err(|error: io::Error| NetError::new(address, error))?;
            door.ok_or_else(nobody)?.send((from_us, to_us)).await.map_err(|_| nobody())?;
            connection(from_them, to_them, address)
        })
    }
}

/// One end, which belongs to the runtime of its caller.
fn connection(from: PipeReader, to: PipeWriter, peer: &Address) -> Result<Connection, NetError> {
    let ends = || Ok((Receiver::from_owned_fd(from.into())?, Sender::from_owned_fd(to.into())?));
    let (from, to) = ends().map_err(|error: io::Error| NetError::new(peer, error))?;
    Ok(pipes::connection(from, to, peer.to_string()).0)
}

struct Arrivals {
    address: Address,
    arrivals: tokio::sync::Mutex<mpsc::Receiver<Ends>>,
}

impl Listener for Arrivals {
    fn address(&self) -> &Address {
        &self.address
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            let closed = NetErrorKind::Closed { when: "while listening" };
            let arrived = self.arrivals.lock().await.recv().await;
            let (from, to) = arrived.ok_or_else(|| NetError::new(&self.address, closed))?;
            connection(from, to, &self.address)
        })
    }
}
