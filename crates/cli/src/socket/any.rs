//! A socket of any role behind one type, so that code common to all roles is written once.

use wigwag::sp::{SocketErrorKind, Statistics};
use wigwag::{
    Address, Bytes,
    sp::{
        Bus, Pair, Pair0, Pub, Pull, Push, Rep, Req, Respondent, SocketError, Star, Sub, Surveyor,
    },
    transport::{DialOptions, ListenOptions, NetError},
};

use super::role::Role;
use crate::socket::connections::connect::Connectable;

/// A socket of any role.
pub(crate) enum Socket {
    Req(Req),
    Rep(Rep),
    Pub(Pub),
    Sub(Sub),
    Push(Push),
    Pull(Pull),
    Survey(Surveyor),
    Respond(Respondent),
    Pair(Pair),
    Pair0(Pair0),
    Bus(Bus),
    Star(Star),
}

/// Evaluates one expression for the socket of any role.
macro_rules! each {
    ($any:expr, $socket:ident => $words:expr) => {
        match $any {
            Socket::Req($socket) => $words,
            Socket::Rep($socket) => $words,
            Socket::Pub($socket) => $words,
            Socket::Sub($socket) => $words,
            Socket::Push($socket) => $words,
            Socket::Pull($socket) => $words,
            Socket::Survey($socket) => $words,
            Socket::Respond($socket) => $words,
            Socket::Pair($socket) => $words,
            Socket::Pair0($socket) => $words,
            Socket::Bus($socket) => $words,
            Socket::Star($socket) => $words,
        }
    };
}

impl Socket {
    /// Creates a socket without connections.
    pub(crate) fn new(role: Role) -> Socket {
        match role {
            Role::Req => Socket::Req(Req::new()),
            Role::Rep => Socket::Rep(Rep::new()),
            Role::Pub => Socket::Pub(Pub::new()),
            Role::Sub => Socket::Sub(Sub::new()),
            Role::Push => Socket::Push(Push::new()),
            Role::Pull => Socket::Pull(Pull::new()),
            Role::Survey => Socket::Survey(Surveyor::new()),
            Role::Respond => Socket::Respond(Respondent::new()),
            Role::Pair => Socket::Pair(Pair::new()),
            Role::Pair0 => Socket::Pair0(Pair0::new()),
            Role::Bus => Socket::Bus(Bus::new()),
            Role::Star => Socket::Star(Star::new()),
        }
    }

    /// Sends a message, waiting for room.
    pub(crate) async fn send(&self, body: Bytes) -> Result<(), SocketError> {
        let sent = match self {
            Socket::Req(socket) => socket.send(body).await,
            Socket::Rep(socket) => socket.send(body).await,
            Socket::Pub(socket) => socket.send(body).await,
            Socket::Push(socket) => socket.send(body).await,
            Socket::Survey(socket) => socket.send(body).await,
            Socket::Respond(socket) => socket.send(body).await,
            Socket::Pair(socket) => socket.send(body).await,
            Socket::Pair0(socket) => socket.send(body).await,
            Socket::Bus(socket) => socket.send(body).await,
            Socket::Star(socket) => socket.send(body).await,
            Socket::Sub(_) | Socket::Pull(_) => return Err(wrong_way("it only receives")),
        };
        sent.map_err(SocketError::from)
    }

    /// Receives the next message.
    pub(crate) async fn recv(&self) -> Result<Bytes, SocketError> {
        match self {
            Socket::Req(socket) => socket.recv().await,
            Socket::Rep(socket) => socket.recv().await,
            Socket::Sub(socket) => socket.recv().await,
            Socket::Pull(socket) => socket.recv().await,
            Socket::Survey(socket) => socket.recv().await,
            Socket::Respond(socket) => socket.recv().await,
            Socket::Pair(socket) => socket.recv().await,
            Socket::Pair0(socket) => socket.recv().await,
            Socket::Bus(socket) => socket.recv().await,
            Socket::Star(socket) => socket.recv().await,
            Socket::Pub(_) | Socket::Push(_) => Err(wrong_way("it only sends")),
        }
    }

    pub(crate) fn set_receive_limit(&self, bytes: usize) {
        each!(self, socket => socket.set_receive_limit(bytes));
    }

    /// The socket's statistics.
    pub(crate) fn statistics(&self) -> Statistics {
        each!(self, socket => socket.statistics())
    }

    /// Closes the socket after writing the accepted messages.
    pub(crate) async fn close(&self) {
        each!(self, socket => socket.close().await);
    }
}

impl Connectable for Socket {
    async fn dial(&self, address: &str, options: DialOptions) -> Result<(), NetError> {
        each!(self, socket => socket.dial_with(address, options).await.map(drop))
    }

    async fn listen(&self, address: &str, options: ListenOptions) -> Result<Address, NetError> {
        each!(self, socket => socket.listen_with(address, options).await.map(Address::from))
    }
}

fn wrong_way(at: &str) -> SocketError {
    SocketError { at: at.to_owned(), kind: SocketErrorKind::WrongDirection }
}
