//! The only crate of wigwag with sockets and a clock.
//!
//! A [`transport`] makes [`Connection`]s; the [`driver`] runs a protocol on one of them. Decisions
//! of the protocols are made in `sp` and `link`, never here.
#![forbid(unsafe_code)]

pub mod error;
pub mod clock;
pub mod options;
pub mod backoff;
mod sync;
mod addresses;
pub mod transport;
mod transports;
mod accepting;
pub mod driver;
pub mod handshake;
pub mod socket;

pub use accepting::{acceptor, places, source};
pub use addresses::address;
pub use addresses::address::Address;
pub use error::{NetError, NetErrorKind};
pub use options::{DialOptions, KeepAlive, ListenOptions, Permissions, Redial, TcpOptions};
pub use transport::{Connection, Credentials, Inlet, Listener, Outlet, PeerCertificate, Transport};
#[cfg(feature = "shm")]
pub use transports::shm;
#[cfg(feature = "shm")]
pub use transports::shm::ShmOptions;
#[cfg(feature = "tls")]
pub use transports::tls;
#[cfg(feature = "tls")]
pub use transports::tls::{TlsClientConfig, TlsError, TlsServerConfig, TlsSource};
#[cfg(feature = "ws")]
pub use transports::ws;
#[cfg(feature = "ws")]
pub use transports::ws::{WsDialOptions, WsListenOptions};
pub use transports::{abstract_name, descriptor, inproc, ipc, layered, tcp};
