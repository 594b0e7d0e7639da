//! Options of one dialer or one listener.
//!
//! Numbers with bounds have types that enforce them, so an error appears where the number is given
//! and not where it is used. `docs/options.md` lists all options with the names that nanomsg, NNG
//! and mangos use.

mod receive_limit;
mod redial;
mod tcp;
mod permissions;
mod dial;
mod listen;

pub use dial::DialOptions;
pub use listen::ListenOptions;
pub use permissions::Permissions;
pub(crate) use receive_limit::ReceiveLimit;
pub use redial::Redial;
pub use tcp::{KeepAlive, TcpOptions};
