//! Access control: identities of peers, shared keys, permissions and limits.
//!
//! A peer is identified by what it has proven: a certificate that TLS has checked, a
//! [shared key](SharedKey), or, over a Unix socket, its user. Beyond this machine a node
//! [listens](crate::Node::listen) only where peers are identified, or where its options say that it is
//! [insecure](crate::NodeOptions::insecure). By default every peer that is let in may call every actor
//! that is exported; [`Access`] names those that may.
//!
//! ```
//! use wigwag::access::{Access, Peers, Principal, SharedKey};
//! use wigwag::{Actor, CallErrorKind, Node, NodeOptions, This};
//!
//! struct Door {
//!     opened_by: Vec<String>,
//! }
//!
//! #[wigwag::actor]
//! impl Door {
//!     pub fn open(&mut self, this: &This<Self>) {
//!         let caller = this.caller().map(|caller| caller.principal.to_string());
//!         self.opened_by.extend(caller);
//!     }
//!
//!     pub fn opened_by(&self) -> Vec<String> {
//!         self.opened_by.clone()
//!     }
//! }
//!
//! # #[wigwag::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let [guest, owner] = ["guest", "owner"].map(SharedKey::generate);
//! let access = Access::new()
//!     .allow_methods(Peers::Authenticated, "door", ["open"])
//!     .allow(Principal::key("owner"), "door");
//! let keys = [guest.clone(), owner];
//! let house = Node::with(NodeOptions::default().accept_keys(keys).access(access));
//! house.export("door", &Door { opened_by: Vec::new() }.spawn())?;
//! let bound = house.listen("tcp://127.0.0.1:0").await?;
//!
//! let visitor = Node::with(NodeOptions::default().shared_key(guest));
//! let door = visitor.actor::<Door>(&format!("{bound}/door")).await?;
//! door.open().ask().await?;
//! let refused = door.opened_by().ask().await.unwrap_err();
//! assert_eq!(refused.kind(), CallErrorKind::NoSuchMethod);
//! # Ok(()) }
//! ```

mod key;
mod rules;
mod identities;
mod gate;
mod connection;
mod node_access;

pub use connection::identify;
pub use identities::IdentityLimits;
pub use key::{KeyError, SharedKey};
pub use rules::{Access, Peers};
pub use wigwag_actor::{Caller, Principal};

/// The reserved name of the actor that lets peers follow groups. It checks itself which of them a peer
/// may follow.
pub(crate) const GROUPS: &str = "/groups";

pub(crate) use connection::{binding, is_protected, principal_of};
pub(crate) use gate::MethodGate;
pub(crate) use identities::IdentityPlace;
pub(crate) use node_access::{AccessOptions, NodeAccess};
pub(crate) use rules::Permitted;
