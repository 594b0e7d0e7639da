//! The serving process of the remote workload: two actors on a node, and the raw limit beside
//! them.
//!
//! It tells on its standard output where it listens, one line of JSON, and ends when its standard
//! input does: so it cannot outlive the process that started it, however that one ends.

use std::io::{self, BufRead, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use wigwag::{Actor, Node, NodeError};

use crate::actors::{Counter, Sum};
use crate::raw;

/// How long the service may take until it listens.
const START_MAX: Duration = Duration::from_secs(10);

/// Where a service listens.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Places {
    /// The node: actors `counter` and `sum`.
    pub node: String,
    /// The raw limit: a host and port.
    pub raw: String,
}

/// Exports the two actors on `node`.
pub fn export(node: &Node) -> Result<(), NodeError> {
    node.export("counter", &Counter::default().spawn())?;
    node.export("sum", &Sum.spawn())
}

/// Serves until standard input ends.
pub async fn serve() -> io::Result<()> {
    let node = Node::new();
    export(&node).map_err(io::Error::other)?;
    let bound = node.listen("tcp://127.0.0.1:0").await.map_err(io::Error::other)?;
    let raw = TcpListener::bind("127.0.0.1:0")?;
    let places = Places { node: bound.to_string(), raw: raw.local_addr()?.to_string() };
    thread::spawn(move || serve_raw(&raw));
    let mut line = serde_json::to_string(&places)?;
    line.push('\n');
    io::stdout().lock().write_all(line.as_bytes())?;
    io::stdout().flush()?;
    let (ended, end) = tokio::sync::oneshot::channel();
    thread::spawn(move || {
        // Whatever comes, an end or an error, means that nobody is there any more.
        let _ = io::stdin().lock().read_to_end(&mut Vec::new());
        let _ = ended.send(());
    });
    let _ = end.await;
    Ok(())
}

fn serve_raw(listener: &TcpListener) {
    for stream in listener.incoming().flatten() {
        // A driver that goes away in the middle ends its own run only.
        let _ = raw_run(stream);
    }
}

/// What a raw run begins with: what it measures, and the bytes of a request and a reply.
fn raw_run(mut stream: TcpStream) -> io::Result<()> {
    let mut order = [0; 9];
    stream.read_exact(&mut order)?;
    let size = |at: usize| {
        let bytes = [order[at], order[at + 1], order[at + 2], order[at + 3]];
        u32::from_le_bytes(bytes) as usize
    };
    match order[0] {
        b'T' => raw::serve_tell(&stream, size(1)),
        _ => raw::serve_ask(&stream, [size(1), size(5)]),
    }
}

/// Opens a connection for a raw run: `T` tells, `A` asks.
pub fn raw_stream(place: &str, what: u8, sizes: [usize; 2]) -> io::Result<TcpStream> {
    let mut stream = TcpStream::connect(place)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(Duration::from_secs(20)))?;
    let [request, reply] = sizes.map(|size| (size as u32).to_le_bytes());
    let order: Vec<u8> = [what].into_iter().chain(request).chain(reply).collect();
    stream.write_all(&order)?;
    Ok(stream)
}

/// A service in a process of its own. Dropping it ends the process.
pub struct Service {
    child: Child,
    input: Option<ChildStdin>,
    /// Where it listens.
    pub places: Places,
}

impl Service {
    /// Starts `command`, which must come to [`serve`].
    pub fn start(mut command: Command) -> io::Result<Service> {
        use std::os::unix::process::CommandExt;
        // A group of its own: Ctrl-C on the terminal reaches the first process, which decides.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn()?;
        let input = child.stdin.take();
        let output = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        let (said, saying) = std::sync::mpsc::channel();
        thread::spawn(move || {
            let mut line = String::new();
            let read = io::BufReader::new(output).read_line(&mut line);
            let _ = said.send(read.map(|_| line));
        });
        let said = saying.recv_timeout(START_MAX).map_err(|_| io::ErrorKind::TimedOut);
        let places = said.map_err(io::Error::from).and_then(|line| line).and_then(|line| {
            serde_json::from_str(&line).map_err(|_| io::Error::other("the service did not start"))
        });
        match places {
            Ok(places) => Ok(Service { child, input, places }),
            Err(error) => {
                let _ = child.kill();
                let _ = child.wait();
                Err(error)
            }
        }
    }

    /// The process, for reading its usage.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.input.take());
        // It ends by itself when its input does; if it hangs it is ended.
        let begun = std::time::Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begun.elapsed() > Duration::from_secs(2) {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            thread::sleep(Duration::from_millis(2));
        }
    }
}
