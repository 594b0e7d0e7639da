//! Addresses that nobody else uses.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process;
use std::sync::Mutex;

use tokio::net::TcpSocket;

/// Rooms made so far in this process.
static CREATED: Mutex<u32> = Mutex::new(0);

/// A place for one test: its addresses are its own, and its files go when it does.
///
/// The pattern is an address in which `{dir}` stands for a fresh folder and `{name}` for a fresh
/// name.
#[derive(Debug)]
pub struct TestEnv {
    pattern: &'static str,
    name: String,
    folder: PathBuf,
}

impl TestEnv {
    /// A fresh place.
    pub fn new(pattern: &'static str) -> TestEnv {
        let number = {
            let mut created = CREATED.lock().expect("no test panics here");
            *created += 1;
            *created
        };
        let name = format!("wigwag-{}-{number}", process::id());
        let folder = std::env::temp_dir().join(&name);
        std::fs::create_dir_all(&folder).expect("a fresh folder");
        TestEnv { pattern, name, folder }
    }

    /// Another place of the same kind, for a second listener.
    pub fn fresh(&self) -> TestEnv {
        TestEnv::new(self.pattern)
    }

    /// Where to listen. The address that the listener says is the one to dial.
    pub fn address(&self) -> String {
        self.pattern.replace("{dir}", &self.folder.to_string_lossy()).replace("{name}", &self.name)
    }

    /// Another place to listen, for a test that needs several.
    pub fn named_address(&self, name: &str) -> String {
        let address = self.address();
        // A port of 0 is another port each time.
        if address.starts_with("tcp:") { address } else { format!("{address}-{name}") }
    }

    /// An address at which nobody listens, and what keeps it so.
    pub fn unused_address(&self) -> (String, Option<TcpSocket>) {
        let address = self.address();
        let Some(local) = address.strip_prefix("tcp://") else {
            return (address, None);
        };
        // A port that is bound but not listened at cannot be given to anybody else.
        let local: SocketAddr = local.parse().expect("numbers");
        let socket = if local.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let socket = socket.expect("a socket");
        socket.bind(local).expect("a free port");
        let bound = socket.local_addr().expect("bound");
        (format!("tcp://{bound}"), Some(socket))
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        // Files of a failed test stay; the system's cleaner removes them.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
