//! Options and errors of transports, and the trait for a transport of your own.
//!
//! Addresses such as `tcp://127.0.0.1:7001` choose a transport by their scheme. [`DialOptions`] and
//! [`ListenOptions`] set what a single dialer or listener does differently; `docs/transports.md` leads
//! through a transport of your own.

#[cfg(feature = "shm")]
pub use wigwag_net::ShmOptions;
pub use wigwag_net::descriptor::{HandedOver, hand_over};
pub use wigwag_net::transport::*;
pub use wigwag_net::{
    Credentials, DialOptions, KeepAlive, ListenOptions, NetError, NetErrorKind, Permissions,
    Redial, TcpOptions,
};
pub use wigwag_wire::framing::Peeked;
pub use wigwag_wire::{Batch, BufferSlice, Framing, FramingError, ReadBuf};
