//! Addresses that nobody else uses.

use std::path::PathBuf;
use std::process;
use std::sync::Mutex;

use tokio::net::TcpSocket;

/// Rooms made so far in this process.
static ROOMS: Mutex<u32> = Mutex::new(0);

/// A place for one test: its addresses are its own, and its files go when it does.
///
/// The pattern is an address in which `{dir}` stands for a fresh folder and `{name}` for a fresh
/// name.
#[derive(Debug)]
pub struct Room {
    pattern: &'static str,
    name: String,
    folder: PathBuf,
}

impl Room {
    /// A fresh place.
    pub fn new(pattern: &'static str) -> Room {
        let number = {
            let mut rooms = ROOMS.lock().expect("no test panics here");
            *rooms += 1;
            *rooms
        };
        let name = format!("wigwag-{}-{number}", process::id());
        let folder = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&folder).expect("a fresh folder");
        Room { pattern, name, folder }
    }

    /// Where to listen. The address that the listener says is the one to dial.
    pub fn address(&self) -> String {
        self.pattern.replace("{dir}", &self.folder.to_string_lossy()).replace("{name}", &self.name)
    }

    /// Another place to listen, for a test that needs several.
    pub fn other(&self, name: &str) -> String {
        let address = self.address();
        // A port of 0 is another port each time.
        if address.starts_with("tcp:") { address } else { format!("{address}-{name}") }
    }

    /// An address at which nobody listens, and what keeps it so.
    pub fn nobody(&self) -> (String, Option<TcpSocket>) {
        let address = self.address();
        let Some(local) = address.strip_prefix("tcp://") else {
            return (address, None);
        };
        // A port that is bound but not listened at cannot be given to anybody else.
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.bind(local.parse().expect("numbers")).expect("a free port");
        let bound = socket.local_addr().expect("bound");
        (format!("tcp://{bound}"), Some(socket))
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // What a failed test has left open stays; the system's cleaner takes it.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
