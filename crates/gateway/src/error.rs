//! The errors of a gateway itself; those of requests are [problems](crate::problem).

use wigwag::NodeError;
use wigwag::transport::NetError;

/// Why a gateway cannot listen.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum GatewayError {
    /// The address is malformed or cannot be listened at.
    #[error(transparent)]
    Net(#[from] NetError),
    /// The node is closed, or refuses sessions.
    #[error(transparent)]
    Node(#[from] Box<NodeError>),
    /// `https://` needs a certificate.
    #[error("{address} needs a certificate: set it with `GatewayOptions::tls`")]
    NoCertificate {
        /// The address that was to be listened at.
        address: String,
    },
    /// Other machines reach the address, and nothing identifies the clients.
    #[error(
        "other machines reach {address}, and nothing identifies the clients: set tokens with \
         `GatewayOptions::token`, or TLS with client certificates, or say that it is \
         `GatewayOptions::insecure`"
    )]
    Unprotected {
        /// The address that was to be listened at.
        address: String,
    },
    /// The gateway is closed.
    #[error("the gateway is closed")]
    Closed,
}
