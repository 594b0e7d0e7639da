//! The options of a listener.

use wigwag_sp::Priority;

use super::permissions::Permissions;
use super::receive_limit::ReceiveLimit;
use super::tcp::TcpOptions;
use crate::transport::BACKLOG;
#[cfg(feature = "shm")]
use crate::transports::shm::ShmOptions;
#[cfg(feature = "tls")]
use crate::transports::tls::TlsServerConfig;
#[cfg(feature = "ws")]
use crate::transports::ws::WsListenOptions;

/// Options of a listener. A node uses those of the transport; priorities and the receive limit are
/// for sockets, and for the SP clients of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListenOptions {
    pub(crate) backlog: u32,
    pub(crate) permissions: Permissions,
    pub(crate) receive_limit: Option<usize>,
    /// The limit of the socket, which counts where this has none.
    pub(crate) socket_limit: Option<ReceiveLimit>,
    pub(crate) send_priority: Priority,
    pub(crate) receive_priority: Priority,
    pub(crate) tcp: TcpOptions,
    #[cfg(feature = "shm")]
    pub(crate) shm: ShmOptions,
    #[cfg(feature = "ws")]
    pub(crate) ws: WsListenOptions,
    #[cfg(feature = "tls")]
    pub(crate) tls: Option<TlsServerConfig>,
}

impl Default for ListenOptions {
    fn default() -> ListenOptions {
        ListenOptions {
            backlog: BACKLOG,
            permissions: Permissions::default(),
            receive_limit: None,
            socket_limit: None,
            send_priority: Priority::default(),
            receive_priority: Priority::default(),
            tcp: TcpOptions::default(),
            #[cfg(feature = "shm")]
            shm: ShmOptions::default(),
            #[cfg(feature = "ws")]
            ws: WsListenOptions::default(),
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

impl ListenOptions {
    /// Sets how many connections may wait to be accepted. The kernel limits it to
    /// `net.core.somaxconn`, and makes 1 of 0.
    #[must_use]
    pub fn backlog(mut self, connections: u32) -> ListenOptions {
        self.backlog = connections;
        self
    }

    /// Sets the permissions of an ipc socket file, which decide which processes may connect.
    #[must_use]
    pub fn permissions(mut self, permissions: Permissions) -> ListenOptions {
        self.permissions = permissions;
        self
    }

    /// Limits the bytes of a received message, protocol header included; by default the limit of
    /// the socket. `usize::MAX` is no limit.
    #[must_use]
    pub fn receive_limit(mut self, bytes: usize) -> ListenOptions {
        self.receive_limit = Some(bytes);
        self
    }

    /// Sets the rank of these peers when the socket chooses a receiver.
    #[must_use]
    pub fn send_priority(mut self, rank: Priority) -> ListenOptions {
        self.send_priority = rank;
        self
    }

    /// Sets the rank of these peers' messages when the user receives.
    #[must_use]
    pub fn receive_priority(mut self, rank: Priority) -> ListenOptions {
        self.receive_priority = rank;
        self
    }

    /// Sets the options for tcp.
    #[must_use]
    pub fn tcp(mut self, options: TcpOptions) -> ListenOptions {
        self.tcp = options;
        self
    }

    /// Sets the options for ws.
    #[cfg(feature = "ws")]
    #[must_use]
    pub fn ws(mut self, options: WsListenOptions) -> ListenOptions {
        self.ws = options;
        self
    }

    /// Sets the certificate and the accepted clients with TLS; a listener with TLS needs it.
    #[cfg(feature = "tls")]
    #[must_use]
    pub fn tls(mut self, config: TlsServerConfig) -> ListenOptions {
        self.tls = Some(config);
        self
    }

    /// Returns how many connections may wait to be accepted, for a transport.
    pub fn get_backlog(&self) -> u32 {
        self.backlog
    }

    /// Returns the permissions of a socket file, for a transport.
    pub fn get_permissions(&self) -> Permissions {
        self.permissions
    }

    /// Returns what is presented with TLS, if anything is.
    #[cfg(feature = "tls")]
    pub fn get_tls(&self) -> Option<&TlsServerConfig> {
        self.tls.as_ref()
    }

    /// Returns the options for tcp, for a transport.
    pub fn get_tcp(&self) -> TcpOptions {
        self.tcp
    }

    /// Sets the options for shared memory.
    #[cfg(feature = "shm")]
    #[must_use]
    pub fn shm(mut self, options: ShmOptions) -> ListenOptions {
        self.shm = options;
        self
    }
}
