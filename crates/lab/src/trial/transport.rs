//! The transport between two programs of sp or remote: its name in orders, and the files that it needs.

use std::fmt;

use crate::process::certificates::Certificates;
use crate::process::socket_file::SocketFile;
use crate::trial::TrialFiles;

/// The transport between the programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Transport {
    /// Two processes, over the loopback device.
    Tcp,
    /// Two processes, over a socket of the file system.
    Ipc,
    /// Both ends in one process.
    Inproc,
    /// Two processes, over memory that they share.
    Shm,
    /// [`Shm`](Self::Shm), but an end looks at empty memory for 200 µs before it sleeps.
    ShmSpin,
    /// [`Tcp`](Self::Tcp), encrypted by TLS 1.3.
    Tls,
    /// [`Tcp`](Self::Tcp), in frames of WebSocket.
    Ws,
    /// Frames of WebSocket within TLS.
    Wss,
}

impl fmt::Display for Transport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Orders for one program.
type FileOrders = Vec<(&'static str, String)>;

impl Transport {
    /// Its name in orders, and in the files of peers.
    pub fn name(self) -> &'static str {
        match self {
            Transport::Tcp => "tcp",
            Transport::Ipc => "ipc",
            Transport::Inproc => "inproc",
            Transport::Shm => "shm",
            Transport::ShmSpin => "shm-spin",
            Transport::Tls => "tls",
            Transport::Ws => "ws",
            Transport::Wss => "wss",
        }
    }

    /// Whether its bytes cross the loopback device, where they can be counted.
    pub(crate) fn crosses_device(self) -> bool {
        matches!(self, Transport::Tcp | Transport::Tls | Transport::Ws | Transport::Wss)
    }

    /// The files that a trial needs, and what orders the server and the client are given about them.
    pub(crate) fn files(self) -> (TrialFiles, FileOrders, FileOrders) {
        let text = |path: &std::path::Path| path.display().to_string();
        match self {
            Transport::Ipc | Transport::Shm | Transport::ShmSpin => {
                let file = SocketFile::unused();
                let order = vec![("SOCKET", text(file.path()))];
                let files = TrialFiles { socket: Some(file), ..TrialFiles::default() };
                (files, order.clone(), order)
            }
            Transport::Tls | Transport::Wss => {
                let made = Certificates::unused();
                let server = vec![("CERT", text(&made.certificate())), ("KEY", text(&made.key()))];
                let client = vec![("CA", text(&made.authority()))];
                let files = TrialFiles { certificates: Some(made), ..TrialFiles::default() };
                (files, server, client)
            }
            Transport::Tcp | Transport::Ws | Transport::Inproc => Default::default(),
        }
    }
}
