//! The methods of [`Node`](super::Node), by what they are for.

mod export;
mod listen;
mod fetch;
mod observe;
