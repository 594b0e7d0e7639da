//! `wigwag req`, `rep`, `pub` and the others: an SP socket from the shell.
//!
//! [`arguments`] says what may be typed and [`start`] what comes of it; [`role`] is what a socket can
//! be, [`place`] where it is. [`connect`] connects it, [`work`] is what each role does then, and
//! [`session`] is around all of it until [`summary`] sums up.

mod any;
mod arguments;
mod connect;
mod exec;
mod format;
mod input;
mod jobs;
mod event_log;
mod endpoint;
mod role;
mod session;
mod start;
mod summary;
mod work;

pub(crate) use any::Socket;
pub(crate) use arguments::SocketCommand;
pub(crate) use connect::{ConnectPlan, Connectable, DIAL_WAIT};
pub(crate) use endpoint::{ConnectMode, Endpoint};
pub(crate) use event_log::{EventLog, Verbosity};
pub(crate) use role::Role;
pub(crate) use session::Interrupt;
pub(crate) use summary::{in_microseconds, percentiles};
