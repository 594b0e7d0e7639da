//! WebSocket byte by byte: what the sockets make of the requests, answers and frames of any peer.

#![expect(clippy::unwrap_used, reason = "a test ends at the step that fails")]

mod raw;
mod frames;
mod limits;
mod requests;
mod answers;
mod endpoint;
mod noise;
