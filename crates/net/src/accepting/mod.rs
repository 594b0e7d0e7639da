//! Connections of peers that are not known yet: accepted, counted by their origin, and closed when
//! others need their place.

pub mod source;
pub mod places;
pub mod acceptor;
