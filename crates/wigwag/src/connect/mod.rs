//! How a connection becomes one of a session: the handshake from either side, and the redial after a
//! cut.

pub(crate) mod handshake;
pub(crate) mod redial;
