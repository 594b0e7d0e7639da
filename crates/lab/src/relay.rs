//! A relay between a client and a server: what comes in at one side goes out at the other, in its
//! order, and a while later if that is ordered. It also cuts connections when so much has passed.
//!
//! A network that takes time cannot be ordered from the kernel by everybody, so this lies in user
//! space, within a process of its own. It costs processor time that those who are measured do not
//! have; so a cell with a delay is held against the same relay without one, never against none.

mod traffic_log;
mod queue;
mod direction;

use std::collections::BTreeMap;
use std::io;
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;

use queue::PieceQueue;
use traffic_log::TrafficLog;
pub use traffic_log::{POINTS_MAX, RelayAccount, RelayCut};

/// Connections that it passes on side by side, four threads each; one more is reset.
pub const CONNECTIONS_MAX: usize = 1_024;
/// Of one of its threads, which call nothing deep.
const STACK_BYTES: usize = 128 * 1_024;
/// A thread that waits for room to write looks this often whether the connection was cut meanwhile.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Room for a moment in which no connection or thread can be made; then it is tried again.
const BREATH: Duration = Duration::from_millis(10);

/// Orders of a relay.
#[derive(Clone, Copy, Debug, Default)]
pub struct RelayPlan {
    /// Where the server listens on 127.0.0.1.
    pub server: u16,
    /// Added each way.
    pub delay: Duration,
    /// It cuts whenever so many bytes more went to the server; 0: never.
    pub cut_bytes: u64,
    /// And at most so often.
    pub cuts: usize,
}

/// A relay at work. Dropping it resets whatever still runs through it.
pub struct Relay {
    port: u16,
    state: Arc<RelayState>,
    accepting: Option<JoinHandle<()>>,
}

impl Relay {
    /// Listens on a free port of 127.0.0.1.
    pub fn start(plan: RelayPlan) -> io::Result<Relay> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let port = listener.local_addr()?.port();
        let ledger = Mutex::new(TrafficLog::new(plan));
        let state = RelayState {
            plan,
            ledger,
            writing: RwLock::default(),
            live: Mutex::default(),
            closing: AtomicBool::new(false),
        };
        let state = Arc::new(state);
        let own = state.clone();
        let accepting = thread::Builder::new().spawn(move || accept(&listener, &own))?;
        Ok(Relay { port, state, accepting: Some(accepting) })
    }

    /// Where clients connect.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Bytes and cuts count from now on.
    pub fn begin(&self) {
        self.state.ledger().begin(Instant::now());
    }

    /// The account since then, with every byte that the server could read before this call. Waits
    /// for writes that have begun, each of which takes `LOOK_EVERY` at most. The processor time is
    /// left at zero: the relay's process fills it in.
    pub fn account(&self) -> RelayAccount {
        let _none_is_writing = self.state.writing.write().unwrap_or_else(PoisonError::into_inner);
        self.state.ledger().account()
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.state.closing.store(true, Ordering::SeqCst);
        // Wakes whoever accepts. If that fails there is nobody to wake.
        let _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(accepting) = self.accepting.take() {
            // A panic there was told on standard error, and there is nothing left to end.
            let _ = accepting.join();
        }
        self.state.live().values().for_each(|connection| connection.sever());
    }
}

/// State that all connections share.
struct RelayState {
    plan: RelayPlan,
    ledger: Mutex<TrafficLog>,
    /// Held for reading from before a write to the server until the ledger has its bytes. Taken
    /// before the other locks.
    writing: RwLock<()>,
    /// By number: a later connection has a higher one.
    live: Mutex<BTreeMap<u64, Arc<Connection>>>,
    closing: AtomicBool,
}

/// One client and its way to the server.
struct Connection {
    number: u64,
    client: TcpStream,
    server: TcpStream,
    there: PieceQueue,
    back: PieceQueue,
    /// Both ends get a reset when it is closed.
    severed: AtomicBool,
}

fn accept(listener: &TcpListener, state: &Arc<RelayState>) {
    let mut number = 0;
    while !state.closing.load(Ordering::SeqCst) {
        let Ok((client, _)) = listener.accept() else {
            // Out of descriptors, as a rule: those that end give theirs back.
            thread::sleep(BREATH);
            continue;
        };
        number += 1;
        if state.live().len() >= CONNECTIONS_MAX {
            state.ledger().refused += 1;
            reset_when_closed(&client);
            continue;
        }
        // Fast, for the server is on this machine.
        let Ok(server) = TcpStream::connect((Ipv4Addr::LOCALHOST, state.plan.server)) else {
            reset_when_closed(&client);
            continue;
        };
        let (there, back) = (PieceQueue::default(), PieceQueue::default());
        let severed = AtomicBool::new(false);
        let connection = Arc::new(Connection { number, client, server, there, back, severed });
        state.live().insert(number, connection.clone());
        state.ledger().connections += 1;
        let own = state.clone();
        let carrying = small_thread().spawn(move || forward(&own, connection));
        if carrying.is_err() {
            state.forget(number);
        }
    }
}

/// Both ways of a connection, until both have ended.
fn forward(state: &RelayState, connection: Arc<Connection>) {
    let number = connection.number;
    let carried = connection.prepare().and_then(|()| {
        let (it, delay) = (&*connection, state.plan.delay);
        thread::scope(|scope| {
            let all = [
                small_thread().spawn_scoped(scope, || {
                    direction::receive_loop(it, &it.client, &it.there, delay)
                }),
                small_thread().spawn_scoped(scope, || {
                    direction::receive_loop(it, &it.server, &it.back, delay)
                }),
                small_thread().spawn_scoped(scope, || {
                    direction::send_loop(it, &it.client, &it.back, |write| write())
                }),
            ];
            let all = all.into_iter().collect::<io::Result<Vec<_>>>();
            if all.is_err() {
                // Those that were started end by themselves now.
                it.sever();
            }
            direction::send_loop(it, &it.server, &it.there, |write| state.pass(number, write));
            all.map(drop)
        })
    });
    if carried.is_err() {
        connection.sever();
    }
    drop(connection);
    state.forget(number);
}

impl RelayState {
    /// Runs a write to the server and notes its bytes, with no account in between.
    fn pass(&self, number: u64, write: &mut dyn FnMut() -> io::Result<usize>) -> io::Result<usize> {
        let _writing = self.writing.read().unwrap_or_else(PoisonError::into_inner);
        let written = write()?;
        self.passed(number, written);
        Ok(written)
    }

    /// Counts bytes that went to the server; cuts all connections when it is time.
    fn passed(&self, number: u64, bytes: usize) {
        // Under this lock, so that a cut hits whoever is there when it is decided and nobody later.
        let live = self.live();
        let newest = live.keys().next_back().copied().unwrap_or(number);
        let cuts = self.ledger().passed(Instant::now(), number, bytes as u64, newest);
        if cuts {
            live.values().for_each(|connection| connection.sever());
        }
    }

    /// A connection is over: closes its sockets, and takes note of it when that was a cut.
    fn forget(&self, number: u64) {
        // Nobody else holds it: its threads have ended.
        drop(self.live().remove(&number));
        self.ledger().closed(Instant::now(), number);
    }

    fn live(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Connection>>> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ledger(&self) -> MutexGuard<'_, TrafficLog> {
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Connection {
    fn prepare(&self) -> io::Result<()> {
        for stream in [&self.client, &self.server] {
            stream.set_nodelay(true)?;
            stream.set_write_timeout(Some(LOOK_EVERY))?;
        }
        Ok(())
    }

    /// Throws away the bytes on their way; both ends see a reset as soon as the threads ended.
    fn sever(&self) {
        self.severed.store(true, Ordering::SeqCst);
        for stream in [&self.client, &self.server] {
            reset_when_closed(stream);
            // Wakes the reader and tells the other end nothing. A stream that has ended refuses,
            // and nobody reads it.
            let _ = stream.shutdown(Shutdown::Read);
        }
        self.there.abandon();
        self.back.abandon();
    }

    fn is_severed(&self) -> bool {
        self.severed.load(Ordering::SeqCst)
    }
}

/// With a linger of nothing the kernel sends a reset instead of an end.
fn reset_when_closed(stream: &TcpStream) {
    // Only what is no socket can refuse this.
    let _ = set_socket_linger(stream, Some(Duration::ZERO));
}

fn small_thread() -> thread::Builder {
    thread::Builder::new().stack_size(STACK_BYTES)
}

#[cfg(test)]
mod tests;
