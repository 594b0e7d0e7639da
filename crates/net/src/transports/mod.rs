//! The transports, a file or folder for each, and what several of them share: the streams of tokio,
//! and the layers over another connection.

pub(crate) mod stream;
mod halves;
pub mod layered;
pub mod tcp;
#[cfg(feature = "tls")]
pub mod tls;
#[cfg(feature = "ws")]
pub mod ws;
pub mod ipc;
pub mod abstract_name;
pub mod inproc;
#[cfg(feature = "shm")]
pub mod shm;
pub mod descriptor;
