//! Trace context: which trace a call belongs to, as the header `traceparent` of the W3C says it.
//!
//! If both nodes are created with [`NodeOptions::trace_context`](crate::NodeOptions::trace_context), a
//! call to an actor of another process carries the context that its caller has set, or that of the call
//! which the caller handles. The handler reads it with [`This::trace_context`](crate::This::trace_context)
//! and makes it the parent of its span, for example with the crates of OpenTelemetry. Calls within a
//! process carry none.
//!
//! ```
//! use wigwag::trace::{self, TraceContext};
//! use wigwag::{Actor, Node, NodeOptions, This};
//!
//! struct Shop;
//!
//! #[wigwag::actor]
//! impl Shop {
//!     /// The trace that the call belongs to.
//!     pub fn order(&self, this: &This<Self>) -> Option<String> {
//!         this.trace_context().map(|context| context.to_string())
//!     }
//! }
//!
//! # #[wigwag::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let node = || Node::with(NodeOptions::default().trace_context(true));
//! let (service, client) = (node(), node());
//! service.export("shop", &Shop.spawn())?;
//! let bound = service.listen("tcp://127.0.0.1:0").await?;
//! let shop = client.actor::<Shop>(&format!("{bound}/shop")).await?;
//!
//! let header = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
//! let context: TraceContext = header.parse()?;
//! let ordered = trace::within(context, async { shop.order().ask().await });
//! assert_eq!(ordered.await?.as_deref(), Some(header));
//! assert_eq!(shop.order().ask().await?, None);
//! # Ok(()) }
//! ```

pub use wigwag_actor::trace::{NotTraceparent, TraceContext, current, with, within};
