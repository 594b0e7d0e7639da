//! WebSocket byte by byte: what the sockets make of the requests, answers and frames of any peer.

mod raw;
mod frames;
mod limits;
mod requests;
mod answers;
mod endpoint;
mod noise;
