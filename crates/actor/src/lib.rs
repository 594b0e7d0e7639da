//! Actors: bounded mailboxes, tell and ask, one reference type for here and elsewhere.
