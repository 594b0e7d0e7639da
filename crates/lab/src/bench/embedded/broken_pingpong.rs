//! Servers and clients of pingpong that must be found out: a thread for each connection, and one
//! fault each.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;
use std::thread;

use serde_json::json;

use super::orders::{Draws, Orders, ready_and_go, ready_until_input_ends, say};
use crate::cells::Failure;

const ONE_IN: u64 = 1_000;

pub(super) fn serve(name: &str, orders: &Orders) -> Result<(), Failure> {
    if name == "broken-deaf" {
        return deaf();
    }
    let listener = TcpListener::bind("127.0.0.1:0")?;
    ready_until_input_ends(listener.local_addr()?.port())?;
    let mut threads = Vec::new();
    for stream in listener.incoming().take(orders.connections) {
        let (stream, name, messages) = (stream?, name.to_owned(), orders.messages);
        threads.push(thread::spawn(move || answer(&name, stream, messages)));
    }
    let answered = threads.into_iter().map(|thread| thread.join().unwrap_or(0));
    say(&json!({ "requests": answered.sum::<u64>() }).to_string())?;
    loop {
        thread::park();
    }
}

/// Answers one connection, and says how many requests it believes to have answered.
fn answer(name: &str, mut stream: TcpStream, messages: u64) -> u64 {
    let mut requests = 0;
    // Delayed replies would only make it slow, not wrong.
    let _ = stream.set_nodelay(true);
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
            // What it says in the end is what was ordered.
            return if name == "broken-one-byte" { messages } else { requests };
        }
        requests += 1;
        let mut reply = request.map(|byte| !byte);
        if name == "broken-reply" && requests % ONE_IN == ONE_IN / 20 {
            reply[2] ^= 4;
        }
        if name != "broken-eager" && stream.write_all(&reply).is_err() {
            return requests;
        }
    }
}

/// A server that does its work and then takes no hint.
fn deaf() -> Result<(), Failure> {
    use std::os::unix::process::CommandExt;
    // An ignored signal stays ignored in the program that takes the shell's place.
    let script = "trap '' TERM INT HUP; exec \"$0\" lab-participant raw pingpong.server";
    Err(Command::new("sh").args(["-c", script]).arg(std::env::current_exe()?).exec().into())
}

pub(super) fn drive(name: &str, orders: &Orders) -> Result<(), Failure> {
    let connect = |_| TcpStream::connect(("127.0.0.1", orders.port));
    let streams: Vec<TcpStream> = (0..orders.connections).map(connect).collect::<Result<_, _>>()?;
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
                let draws = Draws::of(orders.seed, sender);
                sender += 1;
                scope.spawn(move || {
                    // A connection that fails is one of the things that a witness must see.
                    let _ = ask(name, stream, orders.messages, draws);
                });
            }
        });
    }
    // Whatever it did, this is what it says.
    let replies = orders.messages * orders.connections as u64;
    Ok(say(&json!({ "replies": replies, "wrong": 0 }).to_string())?)
}

fn ask(name: &str, mut stream: &TcpStream, messages: u64, mut draws: Draws) -> std::io::Result<()> {
    let does = if name == "broken-quarter" { messages.div_ceil(4) } else { messages };
    let (mut reply, mut sent) = ([0; 4], 0);
    while sent < does {
        let mut requests = draws.next().to_le_bytes().to_vec();
        sent += 1;
        if name == "broken-pipeline" && sent < does {
            requests.extend(draws.next().to_le_bytes());
            sent += 1;
        }
        stream.write_all(&requests)?;
        if name != "broken-blind" {
            for _ in 0..requests.len() / 4 {
                stream.read_exact(&mut reply)?;
            }
        }
    }
    Ok(())
}
