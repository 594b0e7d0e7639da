//! `stdio://-`: a program that was started by `exec://` listens at its standard input and output.
//!
//! The one connection is there when the program begins, and nothing follows it.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::watch;
use wigwag::Address;
use wigwag::transport::{
    Boxed, Connection, DialOptions, ListenOptions, Listener, NetError, NetErrorKind, Transport,
};

use crate::pipes::connection;

/// Becomes true when the connection at `stdio://-` is gone.
static ENDED: LazyLock<watch::Sender<bool>> = LazyLock::new(|| watch::Sender::new(false));

/// Waits for the end of the connection at `stdio://-`.
pub(crate) async fn ended() {
    // The sender is never dropped.
    let _ = ENDED.subscribe().wait_for(|ended| *ended).await;
}

/// Standard input and output. There is one pair, and it serves one connection.
enum Place {
    /// As the process got them.
    Untouched,
    /// Of a listener that was dropped before its connection came.
    Free(Pipes),
    Taken,
}

static PLACE: Mutex<Place> = Mutex::new(Place::Untouched);

fn place() -> MutexGuard<'static, Place> {
    PLACE.lock().unwrap_or_else(PoisonError::into_inner)
}

struct Pipes {
    input: OwnedFd,
    output: OwnedFd,
}

impl Pipes {
    /// Takes standard input and output out of the way of everything else: what the program prints
    /// goes to standard error from now on, and its standard input is empty. The handles that are
    /// returned are the only ones, so a direction ends when its handle is dropped.
    fn take() -> io::Result<Self> {
        let input = io::stdin().as_fd().try_clone_to_owned()?;
        let output = io::stdout().as_fd().try_clone_to_owned()?;
        rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
        rustix::stdio::dup2_stdout(io::stderr())?;
        Ok(Self { input, output })
    }
}

/// The transport, for [`register`](wigwag::transport::register).
pub(crate) struct Stdio;

impl Transport for Stdio {
    fn scheme(&self) -> &'static str {
        "stdio"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        _options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            if address.rest() != "-" {
                let rule = "the address is stdio://-";
                return Err(NetError::new(address, NetErrorKind::BadAddress { rule }));
            }
            let mut place = place();
            let pipes = match std::mem::replace(&mut *place, Place::Taken) {
                Place::Taken => return Err(NetError::new(address, NetErrorKind::InUse)),
                Place::Free(pipes) => pipes,
                Place::Untouched => Pipes::take().map_err(|error| {
                    *place = Place::Untouched;
                    NetError::new(address, error)
                })?,
            };
            let pipes = Mutex::new(Some(pipes));
            Ok(Box::new(StdioListener { address: address.clone(), pipes }) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        _options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        let rule = "a program listens at stdio://-; it is dialed by exec://";
        Box::pin(async move { Err(NetError::new(address, NetErrorKind::BadAddress { rule })) })
    }
}

struct StdioListener {
    address: Address,
    pipes: Mutex<Option<Pipes>>,
}

impl StdioListener {
    fn pipes(&self) -> Option<Pipes> {
        self.pipes.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl Listener for StdioListener {
    fn address(&self) -> &Address {
        &self.address
    }

    /// The program that has started this one.
    fn is_local(&self) -> bool {
        true
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            let Some(Pipes { input, output }) = self.pipes() else {
                // No second connection will ever come.
                return std::future::pending().await;
            };
            let ends = || Ok((Receiver::from_owned_fd(input)?, Sender::from_owned_fd(output)?));
            let (from, to) =
                ends().map_err(|error: io::Error| NetError::new(&self.address, error))?;
            let (connection, gone) = connection(from, to, "the parent process".to_owned());
            tokio::spawn(async {
                gone.await;
                ENDED.send_replace(true);
            });
            Ok(connection)
        })
    }
}

impl Drop for StdioListener {
    fn drop(&mut self) {
        if let Some(pipes) = self.pipes() {
            *place() = Place::Free(pipes);
        }
    }
}
