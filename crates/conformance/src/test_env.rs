//! Addresses for tests that no other test uses.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process;
use std::sync::Mutex;

use tokio::net::TcpSocket;

/// The number of environments created so far in this process.
static CREATED: Mutex<u32> = Mutex::new(0);

/// The environment of one test: its addresses are unique, and its files are removed with it.
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
    /// Creates an environment.
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

    /// Another environment with the same pattern, for a second listener.
    pub fn fresh(&self) -> TestEnv {
        TestEnv::new(self.pattern)
    }

    /// The address to listen at. The address to dial is the one that the listener returns.
    pub fn address(&self) -> String {
        self.pattern.replace("{dir}", &self.folder.to_string_lossy()).replace("{name}", &self.name)
    }

    /// Another address to listen at, for a test that needs several.
    pub fn named_address(&self, name: &str) -> String {
        let address = self.address();
        // A port of 0 is another port each time.
        if self.has_port() { address } else { format!("{address}-{name}") }
    }

    /// An address without a listener, and the socket that keeps it reserved.
    pub fn unused_address(&self) -> (String, Option<TcpSocket>) {
        let address = self.address();
        if !self.has_port() {
            return (address, None);
        }
        let (scheme, rest) = address.split_once("://").expect("an address");
        let (local, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        // A port that is bound without a listener cannot be assigned to another socket.
        let local: SocketAddr = local.parse().expect("numbers");
        let socket = if local.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() };
        let socket = socket.expect("a socket");
        socket.bind(local).expect("a free port");
        let bound = socket.local_addr().expect("bound");
        (format!("{scheme}://{bound}{path}"), Some(socket))
    }

    fn has_port(&self) -> bool {
        ["tcp://", "ws://", "wss://"].iter().any(|scheme| self.pattern.contains(scheme))
    }

    /// True if a connection opens with a request that names the protocol: only a valid SP header can
    /// be sent.
    pub(crate) fn opens_with_a_request(&self) -> bool {
        ["ws://", "wss://"].iter().any(|scheme| self.pattern.contains(scheme))
    }

    /// True if a listener sends its header to a peer that has sent nothing. Over ipc it waits for the
    /// dialer's first byte, which may come with shared memory.
    pub(crate) fn greets_silent_peers(&self) -> bool {
        let waits = ["ipc://", "abstract://", "handed://"]
            .iter()
            .any(|scheme| self.pattern.starts_with(scheme));
        !waits && !self.opens_with_a_request()
    }
}

impl Drop for TestEnv {
    fn drop(&mut self) {
        // Files of a failed test stay; the system's cleaner removes them.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
