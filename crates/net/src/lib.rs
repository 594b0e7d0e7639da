//! The only crate of wigwag with sockets and a clock.
//!
//! A [`transport`] makes [`Connection`]s; the [`driver`] runs a protocol on one of them. Decisions
//! of the protocols are made in `sp` and `link`, never here.
#![forbid(unsafe_code)]

pub mod address;
pub mod error;
pub mod clock;
pub mod options;
pub mod backoff;
pub mod transport;
mod stream;
mod halves;
pub mod layered;
mod interface;
mod resolve;
mod happy_eyeballs;
pub mod tcp;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(feature = "ws")]
pub mod ws;
pub mod ipc;
pub mod abstract_name;
pub mod inproc;
#[cfg(feature = "shm")]
pub mod shm;
pub mod descriptor;
mod sync;
pub mod source;
pub mod places;
pub mod acceptor;
pub mod handover;
pub mod driver;
pub mod handshake;
pub mod socket;

pub use address::Address;
pub use error::{NetError, NetErrorKind};
pub use options::{DialOptions, KeepAlive, ListenOptions, Permissions, Redial, TcpOptions};
#[cfg(feature = "shm")]
pub use shm::ShmOptions;
#[cfg(feature = "tls")]
pub use tls::{TlsClientConfig, TlsError, TlsServerConfig, TlsSource};
pub use transport::{Connection, Credentials, Inlet, Listener, Outlet, PeerCertificate, Transport};
#[cfg(feature = "ws")]
pub use ws::{WsDialOptions, WsListenOptions};
