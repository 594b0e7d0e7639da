//! `ipc://path`: the SP mapping onto Unix domain sockets.
//!
//! The socket file belongs to its owner alone (mode 0600 before anybody can connect). A file left
//! by a program that died is taken over, as nanomsg and NNG do: connect first, and only when the
//! answer is "refused" and the file is a socket, remove it.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use socket2::{Domain, SockAddr, SockRef, Socket, Type};
use tokio::net::unix::OwnedWriteHalf;
use tokio::net::{UnixListener, UnixStream};
use wigwag_wire::Framing;

use crate::address::Address;
use crate::error::NetError;
use crate::tcp::write_blocking;
use crate::transport::{Boxed, Connection, ListenOptions, Listener, Outlet, Transport};

/// The transport.
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
            let path = PathBuf::from(address.rest());
            take_over(&path).map_err(|error| NetError::new(address, error))?;
            let listener = bind(&path, options).map_err(|error| NetError::new(address, error))?;
            Ok(Box::new(Accepting { listener, address: address.clone(), path })
                as Box<dyn Listener>)
        })
    }

    fn dial<'a>(&'a self, address: &'a Address) -> Boxed<'a, Result<Connection, NetError>> {
        Box::pin(async move {
            let stream = UnixStream::connect(address.rest())
                .await
                .map_err(|error| NetError::new(address, error))?;
            Ok(connection(stream, address.to_string().into()))
        })
    }
}

/// Removes the file of a listener that is gone; an address in use is left alone.
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

fn bind(path: &Path, options: ListenOptions) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.bind(&SockAddr::unix(path)?)?;
    // Between bind and listen nobody can connect: the rights are set before the door opens.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600))?;
    socket.listen(i32::try_from(options.backlog).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)?;
    UnixListener::from_std(socket.into())
}

fn connection(stream: UnixStream, peer: Arc<str>) -> Connection {
    let (reader, writer) = stream.into_split();
    Connection {
        reader: Box::new(reader),
        outlet: Arc::new(IpcOutlet(writer)),
        framing: Framing::Ipc,
        peer,
    }
}

struct Accepting {
    listener: UnixListener,
    address: Address,
    path: PathBuf,
}

impl Listener for Accepting {
    fn address(&self) -> &Address {
        &self.address
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    let who = match stream.peer_cred() {
                        Ok(of) => format!(
                            "{} (uid {}, pid {})",
                            self.address,
                            of.uid(),
                            of.pid().unwrap_or(0)
                        ),
                        Err(_) => self.address.to_string(),
                    };
                    Ok(connection(stream, who.into()))
                }
                Err(error) => Err(NetError::new(&self.address, crate::NetErrorKind::Io(error))),
            }
        })
    }
}

impl Drop for Accepting {
    fn drop(&mut self) {
        // Somebody may have removed the file already; then it is as we want it.
        let _ = std::fs::remove_file(&self.path);
    }
}

struct IpcOutlet(OwnedWriteHalf);

impl Outlet for IpcOutlet {
    fn try_write(&self, parts: &[IoSlice<'_>]) -> io::Result<usize> {
        self.0.try_write_vectored(parts)
    }

    fn writable(&self) -> Boxed<'_, io::Result<()>> {
        Box::pin(self.0.writable())
    }

    fn write_blocking(&self, bytes: &[u8], limit: Duration) -> io::Result<usize> {
        write_blocking(SockRef::from(self.0.as_ref()), bytes, limit)
    }

    fn close(&self) {
        // The peer may be gone already; then there is nothing left to end.
        let _ = SockRef::from(self.0.as_ref()).shutdown(Shutdown::Both);
    }
}
