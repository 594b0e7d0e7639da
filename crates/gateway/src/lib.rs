//! An HTTP gateway to the actors of a node.
//!
//! `POST /{actor}/ask/{method}` asks with arguments in JSON and answers with the reply in JSON,
//! `POST /{actor}/tell/{method}` tells, `GET /{actor}/stream/{method}` sends the items of a stream as
//! server-sent events. `GET /` lists the actors, `GET /{actor}` describes one, `/openapi.json` all of
//! them. A method may have a route of its own, so that a plain service is an actor with one method.
//! `docs/gateway.md` has the rules of each, and the limits.
//!
//! ```
//! use wigwag::{Actor, Message, Node};
//! use wigwag_gateway::Gateway;
//!
//! #[derive(Clone, Message)]
//! struct Greeting {
//!     id: u64,
//! }
//!
//! struct Hello;
//!
//! #[wigwag::actor]
//! impl Hello {
//!     #[wigwag(get = "/")]
//!     pub fn greet(&self) -> Greeting {
//!         Greeting { id: 1 }
//!     }
//! }
//!
//! # #[wigwag::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let node = Node::new();
//! node.export("hello", &Hello.spawn())?;
//! let gateway = Gateway::new(&node);
//! let address = gateway.listen("http://127.0.0.1:0").await?;
//! println!("curl {address}/"); // {"id":1}
//! # let port = address.rest().rsplit_once(':').map(|(_, port)| port.parse::<u16>()).unwrap()?;
//! # let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await?;
//! # use tokio::io::{AsyncReadExt, AsyncWriteExt};
//! # stream.write_all(b"GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await?;
//! # let mut answer = String::new();
//! # stream.read_to_string(&mut answer).await?;
//! # assert!(answer.ends_with("\r\n\r\n{\"id\":1}"), "{answer}");
//! # Ok(()) }
//! ```
#![forbid(unsafe_code)]

/// The snippets of the page, which `cargo test --doc` compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/gateway.md")]
mod page {}

pub mod limits;
mod error;
mod options;
mod counters;
mod http;
mod client;
mod routes;
mod carriers;
mod snapshots;
mod shared;
mod request;
mod server;
mod gateway;

pub use error::GatewayError;
pub use gateway::Gateway;
pub use http::body::Body;
pub use options::GatewayOptions;
