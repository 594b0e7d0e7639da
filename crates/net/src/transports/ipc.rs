//! `ipc://path`: the SP mapping onto Unix domain sockets.
//!
//! The socket file belongs to its owner alone (mode 0600 before any peer can connect) unless an
//! option says otherwise. A file left by a program that died is taken over, as nanomsg and NNG do:
//! the listener connects first, and removes the file only if the connection is refused and the file
//! is a socket.
//!
//! `ipc://@name` is an abstract name and no file, as in mangos; see `abstract_name.rs`. A path has
//! at most 107 bytes.

use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::{Instant, sleep};
use wigwag_wire::Framing;

use crate::addresses::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::transport::{Boxed, Connection, DialOptions, ListenOptions, Listener, Transport};
use crate::transports::abstract_name;
use crate::transports::stream;

/// The `ipc://` transport.
pub struct Ipc;

impl Transport for Ipc {
    fn scheme(&self) -> &'static str {
        "ipc"
    }

    fn listen<'a>(
        &'a self,
        address: &'a Address,
        options: ListenOptions,
    ) -> Boxed<'a, Result<Box<dyn Listener>, NetError>> {
        Box::pin(async move {
            let listener = listen_at(address, options)?;
            Ok(Box::new(listener) as Box<dyn Listener>)
        })
    }

    fn dial<'a>(
        &'a self,
        address: &'a Address,
        options: DialOptions,
    ) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move { Ok(dialled(dial_at(address).await?, &options, address)) })
    }
}

/// The connection over a socket that was dialled, which may move to shared memory.
pub(crate) fn dialled(stream: UnixStream, options: &DialOptions, address: &Address) -> Connection {
    #[cfg(feature = "shm")]
    if options.shm.upgrades_ipc() {
        return crate::transports::shm::upgrade::dialled(stream, options.shm, address.to_string());
    }
    let _ = options;
    stream::unix(stream, Framing::Ipc, address.to_string())
}

/// The connection over a socket that was accepted, which may move to shared memory.
fn accepted(stream: UnixStream, options: &ListenOptions, peer: String) -> Connection {
    #[cfg(feature = "shm")]
    if options.shm.upgrades_ipc() {
        let admits_others = options.permissions.admit_others();
        return crate::transports::shm::upgrade::accepted(stream, admits_others, options.shm, peer);
    }
    let _ = options;
    stream::unix(stream, Framing::Ipc, peer)
}

/// Listens at the path of `address`, or at the abstract name behind `@`.
pub(crate) fn listen_at(
    address: &Address,
    options: ListenOptions,
) -> Result<BoundUnixListener, NetError> {
    if let Some(name) = address.rest().strip_prefix('@') {
        return abstract_name::listen(address, name.as_bytes(), options);
    }
    let path = path(address)?;
    let bound = take_over(&path).and_then(|()| bind(&path, &options));
    let (listener, file) = bound.map_err(|error| NetError::new(address, listen_kind(error)))?;
    Ok(BoundUnixListener { listener, address: address.clone(), options, _file: Some(file) })
}

/// Connects to the path of `address`, or to the abstract name behind `@`.
pub(crate) async fn dial_at(address: &Address) -> Result<UnixStream, NetError> {
    match address.rest().strip_prefix('@') {
        Some(name) => connect(address, &abstract_name::path(address, name.as_bytes())?).await,
        None => connect(address, &path(address)?).await,
    }
}

/// The path of an address. A zero byte would end it for the system, which reports it as it reports a path
/// that is too long.
fn path(address: &Address) -> Result<PathBuf, NetError> {
    if address.rest().contains('\0') {
        let rule = "an ipc path has no zero byte";
        return Err(NetError::new(address, NetErrorKind::BadAddress { rule }));
    }
    Ok(PathBuf::from(address.rest()))
}

/// The longest wait for room in the backlog of a listener.
const BACKLOG_TIME: Duration = Duration::from_secs(5);

/// Connects to a path, or to an abstract name with its zero byte in front. While the backlog of the
/// listener is full, it tries again: nothing tells that there is room.
pub(crate) async fn connect(address: &Address, path: &Path) -> Result<UnixStream, NetError> {
    let (begun, mut pause) = (Instant::now(), Duration::from_millis(1));
    loop {
        let kind = match UnixStream::connect(path).await {
            Ok(stream) => return Ok(stream),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                NetErrorKind::TimedOut(BACKLOG_TIME)
            }
            Err(error) => return Err(NetError::new(address, dial_kind(error))),
        };
        if begun.elapsed() >= BACKLOG_TIME {
            return Err(NetError::new(address, kind));
        }
        sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(100));
    }
}

/// The error for a path or name that is too long.
const TOO_LONG: NetErrorKind =
    NetErrorKind::BadAddress { rule: "an ipc path or name has at most 107 bytes" };

/// Maps an error of a dial. A path or name that is too long is the caller's doing, although the
/// operating system reports it.
pub(crate) fn dial_kind(error: io::Error) -> NetErrorKind {
    if error.kind() == io::ErrorKind::InvalidInput { TOO_LONG } else { error.into() }
}

/// Maps an error of the calls that create a listener.
pub(crate) fn listen_kind(error: io::Error) -> NetErrorKind {
    match error.kind() {
        io::ErrorKind::InvalidInput => TOO_LONG,
        _ => NetErrorKind::of_listen(error),
    }
}

/// Removes the file of a listener that no longer exists; an address in use is left alone.
fn take_over(path: &Path) -> io::Result<()> {
    let probe = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // A listener whose backlog is full does not answer.
    probe.set_nonblocking(true)?;
    match probe.connect(&SockAddr::unix(path)?) {
        Ok(()) => Err(io::ErrorKind::AddrInUse.into()),
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
            Err(io::ErrorKind::AddrInUse.into())
        }
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            if std::fs::symlink_metadata(path)?.file_type().is_socket() {
                std::fs::remove_file(path)
            } else {
                Err(taken(path))
            }
        }
        Err(_) => Ok(()),
    }
}

/// The error for a path that something has at which nobody can be seen to listen.
fn taken(path: &Path) -> io::Error {
    match std::fs::symlink_metadata(path) {
        Ok(found) if !found.file_type().is_socket() => io::Error::other(NetErrorKind::NotASocket),
        _ => io::ErrorKind::AddrInUse.into(),
    }
}

fn bind(path: &Path, options: &ListenOptions) -> io::Result<(UnixListener, SocketFile)> {
    let socket = make(path, options)?;
    let file = SocketFile::made(path)?;
    Ok((listen(socket, options.backlog)?, file))
}

/// Creates a socket with its name and permissions. No peer can connect before it listens.
fn make(path: &Path, options: &ListenOptions) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => taken(path),
        _ => error,
    })?;
    let rights = std::fs::Permissions::from_mode(options.permissions.mode());
    std::fs::set_permissions(path, rights)?;
    Ok(socket)
}

/// Makes a bound socket listen.
pub(crate) fn listen(socket: Socket, backlog: u32) -> io::Result<UnixListener> {
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)?;
    UnixListener::from_std(socket.into())
}

/// A listening Unix socket and its address.
pub(crate) struct BoundUnixListener {
    pub(crate) listener: UnixListener,
    pub(crate) address: Address,
    pub(crate) options: ListenOptions,
    /// Removed when the listener is dropped.
    pub(crate) _file: Option<SocketFile>,
}

impl Listener for BoundUnixListener {
    fn address(&self) -> &Address {
        &self.address
    }

    fn is_local(&self) -> bool {
        true
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            let (stream, peer) = self.accept_stream().await?;
            Ok(accepted(stream, &self.options, peer))
        })
    }
}

impl BoundUnixListener {
    /// Accepts the next peer, with its name in errors.
    pub(crate) async fn accept_stream(&self) -> Result<(UnixStream, String), NetError> {
        let accepted = self.listener.accept().await;
        let failed = |error| NetError::new(&self.address, NetErrorKind::Io(error));
        let (stream, _) = accepted.map_err(failed)?;
        let peer = match stream.peer_cred() {
            Ok(of) => {
                format!("{} (uid {}, pid {})", self.address, of.uid(), of.pid().unwrap_or(0))
            }
            Err(_) => self.address.to_string(),
        };
        Ok((stream, peer))
    }
}

/// The file of a listening socket. Dropping it removes the file, unless another one has its path: of a
/// listener that came when this file had been removed.
pub(crate) struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    identity: (u64, u64),
}

impl SocketFile {
    /// The file at `path`, which was made just now.
    fn made(path: &Path) -> io::Result<SocketFile> {
        Ok(SocketFile { path: path.to_owned(), identity: identity_of(path)? })
    }
}

fn identity_of(path: &Path) -> io::Result<(u64, u64)> {
    let file = std::fs::symlink_metadata(path)?;
    Ok((file.dev(), file.ino()))
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if identity_of(&self.path).is_ok_and(|found| found == self.identity) {
            // It may have been removed in between, which is fine.
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests;
