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
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::{UnixListener, UnixStream};
use wigwag_wire::Framing;

use crate::abstract_name;
use crate::address::Address;
use crate::error::{NetError, NetErrorKind};
use crate::stream;
use crate::transport::{Boxed, Connection, DialOptions, ListenOptions, Listener, Transport};

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
        return crate::shm::upgrade::dialled(stream, options.shm, address.to_string());
    }
    let _ = options;
    stream::unix(stream, Framing::Ipc, address.to_string())
}

/// The connection over a socket that was accepted, which may move to shared memory.
fn accepted(stream: UnixStream, options: &ListenOptions, peer: String) -> Connection {
    #[cfg(feature = "shm")]
    if options.shm.upgrades_ipc() {
        let admits_others = options.permissions.admit_others();
        return crate::shm::upgrade::accepted(stream, admits_others, options.shm, peer);
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
    let path = PathBuf::from(address.rest());
    let listener = take_over(&path)
        .and_then(|()| bind(&path, &options))
        .map_err(|error| NetError::new(address, listen_kind(error)))?;
    let (address, file) = (address.clone(), Some(SocketFile(path)));
    Ok(BoundUnixListener { listener, address, options, _file: file })
}

/// Connects to the path of `address`, or to the abstract name behind `@`.
pub(crate) async fn dial_at(address: &Address) -> Result<UnixStream, NetError> {
    match address.rest().strip_prefix('@') {
        Some(name) => connect(address, &abstract_name::path(name.as_bytes())).await,
        None => connect(address, Path::new(address.rest())).await,
    }
}

/// Connects to a path, or to an abstract name with its zero byte in front.
pub(crate) async fn connect(address: &Address, path: &Path) -> Result<UnixStream, NetError> {
    let connected = UnixStream::connect(path).await;
    connected.map_err(|error| NetError::new(address, dial_kind(error)))
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
    match std::os::unix::net::UnixStream::connect(path) {
        Ok(_) => Err(io::ErrorKind::AddrInUse.into()),
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
            if std::fs::symlink_metadata(path)?.file_type().is_socket() {
                std::fs::remove_file(path)
            } else {
                Err(io::ErrorKind::AddrInUse.into())
            }
        }
        Err(_) => Ok(()),
    }
}

fn bind(path: &Path, options: &ListenOptions) -> io::Result<UnixListener> {
    listen(make(path, options)?, options.backlog)
}

/// Creates a socket with its name and permissions. No peer can connect before it listens.
fn make(path: &Path, options: &ListenOptions) -> io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
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

/// The file of a listening socket; dropping it removes the file.
pub(crate) struct SocketFile(PathBuf);

impl Drop for SocketFile {
    fn drop(&mut self) {
        // The file may have been removed already, which is fine.
        let _ = std::fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Permissions;

    #[tokio::test]
    async fn the_file_has_the_chosen_permissions() {
        let folder = std::env::temp_dir().join(format!("wigwag-rights-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("socket");
        let address = Address::new("ipc", path.to_string_lossy());
        for mode in [0o600, 0o660, 0o666] {
            let permissions = Permissions::new(mode).unwrap();
            let options = ListenOptions::default().permissions(permissions);
            let listener = Ipc.listen(&address, options).await.unwrap();
            let found = std::fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(found & 0o777, mode);
            drop(listener);
            assert!(!path.exists());
        }
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[tokio::test]
    async fn a_missing_directory_is_named_to_a_listener_and_is_no_listener_to_a_dialer() {
        let file = std::env::temp_dir().join(format!("wigwag-file-{}", std::process::id()));
        std::fs::write(&file, "a file is no directory").unwrap();
        for path in ["/no/such/directory/socket".into(), file.join("socket")] {
            let address = Address::new("ipc", path.to_string_lossy());
            let refused = Ipc.listen(&address, ListenOptions::default()).await.err().unwrap();
            assert!(matches!(refused.kind, NetErrorKind::NoDirectory), "{refused}");
            assert!(refused.hint().contains("make the directory"), "{refused}");
        }
        std::fs::remove_file(&file).unwrap();
        let address = Address::new("ipc", "/no/such/directory/socket");
        let refused = Ipc.dial(&address, DialOptions::default()).await.err().unwrap();
        assert!(matches!(refused.kind, NetErrorKind::NobodyListens), "{refused}");
    }

    #[tokio::test]
    async fn permissions_are_set_before_a_peer_can_connect() {
        let path = std::env::temp_dir().join(format!("wigwag-before-{}", std::process::id()));
        let options = ListenOptions::default().permissions(Permissions::new(0o600).unwrap());
        let socket = make(&path, &options).unwrap();
        let mode = || std::fs::metadata(&path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(), 0o600);
        let refused = std::os::unix::net::UnixStream::connect(&path).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::ConnectionRefused);
        let _listener = listen(socket, 1).unwrap();
        std::os::unix::net::UnixStream::connect(&path).unwrap();
        assert_eq!(mode(), 0o600);
        std::fs::remove_file(&path).unwrap();
    }

    /// Only a socket without a listener is taken over.
    #[tokio::test]
    async fn a_file_that_is_no_socket_is_left_alone() {
        let folder = std::env::temp_dir().join(format!("wigwag-kept-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("folder")).unwrap();
        std::fs::write(folder.join("file"), "of the user").unwrap();
        std::os::unix::fs::symlink(folder.join("file"), folder.join("link")).unwrap();
        for name in ["file", "folder", "link"] {
            let address = Address::new("ipc", folder.join(name).to_string_lossy());
            let refused = Ipc.listen(&address, ListenOptions::default()).await.err().unwrap();
            assert!(matches!(refused.kind, NetErrorKind::InUse), "{name}: {refused}");
        }
        assert_eq!(std::fs::read_to_string(folder.join("link")).unwrap(), "of the user");
        assert!(folder.join("folder").is_dir());
        std::fs::remove_dir_all(&folder).unwrap();
    }

    #[tokio::test]
    async fn the_kernel_reports_the_credentials_of_the_peer() {
        let address = Address::new("ipc", format!("@wigwag-who-{}", std::process::id()));
        let listener = Ipc.listen(&address, ListenOptions::default()).await.unwrap();
        let dialled = Ipc.dial(&address, DialOptions::default()).await.unwrap();
        let accepted = listener.accept().await.unwrap();
        for end in [&dialled, &accepted] {
            let who = end.credentials.unwrap();
            assert_eq!(who.pid, i32::try_from(std::process::id()).ok());
        }
        assert_eq!(dialled.credentials, accepted.credentials);
        let local = accepted.local.unwrap();
        assert!(local.starts_with("abstract://wigwag-who-"), "{local}");
    }

    #[tokio::test]
    async fn a_name_that_is_too_long_is_a_bad_address() {
        for text in [format!("/tmp/{}", "x".repeat(200)), format!("@{}", "x".repeat(200))] {
            let address = Address::new("ipc", text);
            let listened = Ipc.listen(&address, ListenOptions::default()).await.err().unwrap();
            let dialled = Ipc.dial(&address, DialOptions::default()).await.err().unwrap();
            for refused in [listened, dialled] {
                assert!(matches!(refused.kind, NetErrorKind::BadAddress { .. }), "{refused}");
            }
        }
    }
}
