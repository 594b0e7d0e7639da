//! Options and errors of transports, and the trait for a transport of your own.
//!
//! Addresses such as `tcp://127.0.0.1:7001` choose a transport by their scheme. [`DialOptions`] and
//! [`ListenOptions`] set what a single dialer or listener does differently; `docs/transports.md` leads
//! through a transport of your own.

#[cfg(feature = "shm")]
pub use wigwag_net::ShmOptions;
pub use wigwag_net::descriptor::{HandedOver, hand_over};
#[cfg(feature = "tls")]
pub use wigwag_net::tls::{
    CertificateFault, PeerRefusal, TlsClientBuilder, TlsClientConfig, TlsError, TlsServerBuilder,
    TlsServerConfig, TlsSource,
};
pub use wigwag_net::transport::*;
#[cfg(feature = "ws")]
pub use wigwag_net::ws::{
    BadHeader, HttpEndpoint, NotTaken, WsDialOptions, WsError, WsListenOptions,
};
pub use wigwag_net::{
    Credentials, DialOptions, KeepAlive, ListenOptions, NetError, NetErrorKind, Permissions,
    Redial, TcpOptions,
};
pub use wigwag_wire::framing::Peeked;
pub use wigwag_wire::{Batch, BufferSlice, Framing, FramingError, ReadBuf};
