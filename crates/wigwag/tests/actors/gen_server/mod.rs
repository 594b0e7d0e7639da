//! What OTP's `gen_server_SUITE` holds of a server, held of an actor: a test for each case that has
//! a meaning here. `docs/otp-cases.md` has the table of all cases, with those that are left out and
//! why.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]

mod server;
mod start;
mod stop;
mod crash;
mod call;
mod answers;
mod requests;
mod cast;
mod after;
mod many;
mod elsewhere;
mod queue;
mod state;
mod undefined;
