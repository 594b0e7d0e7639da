//! Sockets of the Scalability Protocols (SP), which talk to nanomsg, NNG and mangos programs.
//!
//! They need no node and no actor. There is one type for each protocol: [`Pair`], [`Req`] and [`Rep`],
//! [`Pub`] and [`Sub`], [`Push`] and [`Pull`], [`Surveyor`] and [`Respondent`], [`Bus`], [`Star`].
//! [Contexts](contexts) hold many exchanges on one socket, [`raw`] sockets show the headers, and a
//! [`Forwarder`] passes messages on between two raw sockets.
//!
//! ```
//! use wigwag::sp::{Rep, Req};
//!
//! # #[wigwag::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let (rep, req) = (Rep::new(), Req::new());
//! let address = rep.listen("tcp://127.0.0.1:0").await?;
//! req.dial(&address.to_string()).await?;
//! req.send("ping").await?;
//! assert_eq!(rep.recv().await?, "ping");
//! rep.send("pong").await?;
//! assert_eq!(req.recv().await?, "pong");
//! # Ok(()) }
//! ```

pub use wigwag_net::socket::*;
pub use wigwag_sp::contexts::ContextError;
pub use wigwag_sp::counters::DropReason;
pub use wigwag_sp::protocol::{RecvError, Refusal, SettingError};
pub use wigwag_wire::{Header, HeaderError, ProtocolNumber};
