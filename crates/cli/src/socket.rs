//! `wigwag req`, `rep`, `pub` and the others: an SP socket from the shell.
//!
//! [`arguments`] defines the command line and [`start`] turns it into a session. [`role`] lists the
//! roles of a socket, [`endpoint`] its addresses. [`connect`] connects the socket, [`work`] has the
//! loop of each role, [`session`] runs from the first connection to the [`summary`].

mod any;
mod arguments;
mod connect;
mod exec;
mod format;
mod input;
mod interrupt;
mod jobs;
mod event_log;
mod endpoint;
mod role;
mod session;
mod start;
mod summary;
mod work;
mod unread;

pub(crate) use any::Socket;
pub(crate) use arguments::SocketCommand;
pub(crate) use connect::{ConnectPlan, Connectable, DIAL_WAIT};
pub(crate) use endpoint::{ConnectMode, Endpoint, quoted};
pub(crate) use event_log::{EventLog, Verbosity};
pub(crate) use exec::kill_all;
pub(crate) use interrupt::Interrupt;
pub(crate) use role::Role;
pub(crate) use summary::{in_microseconds, percentiles};
pub(crate) use unread::end_at_signals;
