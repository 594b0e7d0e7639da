//! Servers and clients of pingpong that must be found out: a thread for each connection, and one
//! fault each.

use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread;
use std::time::Duration;

use serde_json::json;

use crate::contract::Failure;
use crate::contract::{Orders, PayloadDraws, print_line, ready_and_go, ready_until_input_ends};

const ONE_IN: u64 = 1_000;

/// The duration of the stall of each connection of a server that stalls.
const STALL: Duration = Duration::from_millis(300);
/// Requests on all connections until a server that crashes does.
const CRASH_AFTER: u64 = 500;

/// State that the connections of a server share.
struct Shared {
    name: String,
    fixed: bool,
    messages: u64,
    requests: AtomicU64,
    /// The connections, which a crash ends.
    streams: Mutex<Vec<TcpStream>>,
    stalled: RwLock<()>,
}

pub(crate) fn serve(name: &str, orders: &Orders) -> Result<(), Failure> {
    if name == "broken-deaf" {
        return deaf();
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    ready_until_input_ends(listener.local_addr()?.port())?;
    let shared = Shared {
        name: name.to_owned(),
        fixed: orders.fixed,
        messages: orders.messages,
        requests: AtomicU64::new(0),
        streams: Mutex::default(),
        stalled: RwLock::new(()),
    };
    let requests = if name == "broken-pool" {
        serve_two(&shared, &listener, orders.connections)?
    } else {
        let shared = &shared;
        thread::scope(|scope| {
            let mut threads = Vec::new();
            for stream in listener.incoming().take(orders.connections) {
                let stream = stream?;
                if shared.name == "broken-restart" {
                    lock(&shared.streams).push(stream.try_clone()?);
                }
                threads.push(scope.spawn(move || answer(shared, stream)));
            }
            let answered = threads.into_iter().map(|thread| thread.join().unwrap_or(0));
            Ok::<u64, Failure>(answered.sum())
        })?
    };
    print_line(&json!({ "requests": requests }).to_string())?;
    loop {
        thread::park();
    }
}

/// All connections are accepted, and two of them are served at a time.
fn serve_two(shared: &Shared, listener: &TcpListener, count: usize) -> Result<u64, Failure> {
    let (give, take) = channel();
    let take = Mutex::new(take);
    thread::scope(|scope| {
        let work = || {
            let mut requests = 0;
            loop {
                let next = lock(&take).recv();
                match next {
                    Ok(stream) => requests += answer(shared, stream),
                    Err(_) => return requests,
                }
            }
        };
        let workers = [scope.spawn(work), scope.spawn(work)];
        for stream in listener.incoming().take(count) {
            give.send(stream?)?;
        }
        drop(give);
        Ok(workers.into_iter().map(|worker| worker.join().unwrap_or(0)).sum())
    })
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers one connection; returns the number of requests that it claims to have answered.
fn answer(shared: &Shared, mut stream: TcpStream) -> u64 {
    let Shared { name, messages, .. } = shared;
    let (name, messages) = (name.as_str(), *messages);
    let (mut requests, mut first) = (0, None);
    // Delayed replies would only make it slow, not wrong.
    let _ = stream.set_nodelay(name != "broken-nagle");
    if name == "broken-eager" {
        // It has replied to everything before it has read anything.
        for _ in 0..messages {
            if stream.write_all(&[0; 4]).is_err() {
                return requests;
            }
        }
    }
    let mut request = [0; 4];
    loop {
        let read = match name {
            // One byte is taken for the whole request.
            "broken-one-byte" => stream.read_exact(&mut request[..1]),
            _ => stream.read_exact(&mut request),
        };
        if read.is_err() {
            // In the end these claim the number that was ordered.
            let claims = ["broken-one-byte", "broken-restart"].contains(&name);
            return if claims { messages } else { requests };
        }
        requests += 1;
        disturb(shared);
        let mut reply = if shared.fixed { *b"Pong" } else { request.map(|byte| !byte) };
        let bad = requests % ONE_IN == ONE_IN / 20;
        match name {
            "broken-reply" if bad => reply[2] ^= 4,
            // An answer that was right once is kept.
            "broken-cache" => reply = *first.get_or_insert(reply),
            _ => {}
        }
        let written = match name {
            "broken-eager" => Ok(()),
            "broken-silent" if bad => Ok(()),
            "broken-twice" if bad => stream.write_all(&[reply, reply].concat()),
            "broken-nagle" => {
                stream.write_all(&reply[..2]).and_then(|()| stream.write_all(&reply[2..]))
            }
            _ => stream.write_all(&reply),
        };
        if written.is_err() {
            return requests;
        }
    }
}

/// A disturbance of all connections at once: a stall, or a crash after which it goes on as if
/// nothing had happened.
fn disturb(shared: &Shared) {
    let count = shared.requests.fetch_add(1, Ordering::Relaxed) + 1;
    match shared.name.as_str() {
        "broken-stall" => {
            if count == CRASH_AFTER {
                let _all = shared.stalled.write();
                thread::sleep(STALL);
            }
            drop(shared.stalled.read());
        }
        "broken-restart" if count == CRASH_AFTER => {
            for stream in lock(&shared.streams).iter() {
                // A client that has gone already cannot be thrown out.
                let _ = stream.shutdown(Shutdown::Both);
            }
        }
        _ => {}
    }
}

/// A server that does its work and then takes no hint.
fn deaf() -> Result<(), Failure> {
    use std::os::unix::process::CommandExt;
    // An ignored signal stays ignored in the program that takes the shell's place.
    let script = "trap '' TERM INT HUP; exec \"$0\" lab-participant raw pingpong.server";
    Err(Command::new("sh").args(["-c", script]).arg(std::env::current_exe()?).exec().into())
}

pub(crate) fn drive(name: &str, orders: &Orders) -> Result<(), Failure> {
    let connect = |_| TcpStream::connect(("127.0.0.1", orders.port));
    let opens = if name == "broken-half" { orders.connections / 2 } else { orders.connections };
    let streams: Vec<TcpStream> = (0..opens).map(connect).collect::<Result<_, _>>()?;
    for stream in &streams {
        stream.set_nodelay(true)?;
    }
    ready_and_go()?;
    // All are open, and few are at work.
    let at_once = if name == "broken-few" { 2 } else { streams.len() };
    let mut sender = 0;
    for some in streams.chunks(at_once) {
        thread::scope(|scope| {
            for stream in some {
                let draws = PayloadDraws::of(orders.seed, sender);
                sender += 1;
                scope.spawn(move || {
                    // A connection that fails is one of the things that a witness must see.
                    let _ = ask(name, stream, orders, draws);
                });
            }
        });
    }
    // The claim is the ordered number, whatever was done.
    let replies = orders.messages * orders.connections as u64;
    Ok(print_line(&json!({ "replies": replies, "wrong": 0 }).to_string())?)
}

fn ask(
    name: &str,
    mut stream: &TcpStream,
    orders: &Orders,
    mut draws: PayloadDraws,
) -> io::Result<()> {
    let messages = orders.messages;
    let quota = if name == "broken-quarter" { messages.div_ceil(4) } else { messages };
    let mut request = || if orders.fixed { *b"Ping" } else { draws.next().to_le_bytes() };
    let (mut reply, mut sent) = ([0; 4], 0);
    while sent < quota {
        let mut requests = request().to_vec();
        sent += 1;
        if name == "broken-pipeline" && sent < quota {
            requests.extend(request());
            sent += 1;
        }
        stream.write_all(&requests)?;
        // One byte is taken for the whole reply.
        let takes = if name == "broken-nibble" { 1 } else { reply.len() };
        if name != "broken-blind" {
            for _ in 0..requests.len() / 4 {
                stream.read_exact(&mut reply[..takes])?;
            }
        }
    }
    Ok(())
}
