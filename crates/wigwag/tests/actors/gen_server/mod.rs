//! The cases of OTP's `gen_server_SUITE` for an actor: one test for each case that has a meaning
//! here. The table in `docs/otp-cases.md` has all cases, with those that are left out and why.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

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
