//! How a session gets a connection: the handshake from either side, and the redial after a cut.

pub(crate) mod authenticate;
pub(crate) mod handshake;
pub(crate) mod redial;
