//! `wigwag req`, `rep`, `pub` and the others: an SP socket from the shell.
//!
//! [`arguments`] defines the command line and [`start`] turns it into a session. [`role`] lists the
//! roles of a socket, [`endpoint`] its addresses. [`connections::connect`] connects the socket, [`work`] has the
//! loop of each role, [`session`] runs from the first connection to the [`summary`].

mod any;
mod arguments;
mod connections;
mod messages;
mod interrupt;
mod endpoint;
mod role;
mod session;
mod start;
mod summary;
mod work;
mod unread;

pub(crate) use any::Socket;
pub(crate) use arguments::SocketCommand;
pub(crate) use connections::connect::{ConnectPlan, Connectable, DIAL_WAIT};
pub(crate) use connections::event_log::{EventLog, Verbosity};
pub(crate) use endpoint::{ConnectMode, Endpoint, quoted};
pub(crate) use interrupt::Interrupt;
pub(crate) use messages::exec::kill_all;
pub(crate) use role::Role;
pub(crate) use summary::{in_microseconds, percentiles};
