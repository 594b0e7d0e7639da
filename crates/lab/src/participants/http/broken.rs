//! Servers and clients of http that must be found out: a thread for each connection, and one fault
//! each.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use serde_json::json;

use super::date::{seconds, written};
use crate::contract::Failure;
use crate::contract::{Orders, PayloadDraws, print_line, ready_and_go, ready_until_input_ends};

/// The interval of answers to which the fault is applied.
const ONE_IN: u64 = 1_000;

/// Some are all right for so many answers, and bad when they believe that nobody looks any more.
const GOOD_AT_FIRST: u64 = 50;

/// Answers of all connections.
static ANSWERS: AtomicU64 = AtomicU64::new(0);
/// The answer that is given ever again.
static CACHED: OnceLock<String> = OnceLock::new();

pub(crate) fn serve(name: &str) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let begun = seconds();
    ready_until_input_ends(listener.local_addr()?.port())?;
    for stream in listener.incoming() {
        let (stream, name) = (stream?, name.to_owned());
        // A connection that fails is one of the things that a witness must see.
        thread::spawn(move || drop(answer(&name, stream, begun)));
    }
    Ok(())
}

fn answer(name: &str, mut stream: TcpStream, begun: u64) -> io::Result<()> {
    stream.set_nodelay(name != "broken-halves")?;
    let (mut got, mut held) = (String::new(), None::<String>);
    if name == "broken-hasty" {
        // Its answers go out one ahead of the requests.
        stream.write_all(reply(name, "", begun).as_bytes())?;
    }
    loop {
        // Only a number that differs from all others is needed: no order between threads.
        let is_bold = ANSWERS.load(Ordering::Relaxed) >= GOOD_AT_FIRST;
        let name = match name {
            "broken-path" | "broken-sloppy" | "broken-canned" | "broken-busy" | "broken-close"
                if !is_bold =>
            {
                ""
            }
            name => name,
        };
        let end = match name {
            // The bytes of one read are taken for one request.
            "broken-sloppy" => {
                got.clear();
                more(&mut stream, &mut got)?;
                got.len()
            }
            _ => loop {
                if let Some(end) = got.find("\r\n\r\n") {
                    break end + 4;
                }
                more(&mut stream, &mut got)?;
            },
        };
        let request: String = got.drain(..end).collect();
        let number = ANSWERS.fetch_add(1, Ordering::Relaxed);
        if name == "broken-forget" && number % ONE_IN == ONE_IN - 1 {
            continue;
        }
        let mut reply = reply(name, &request, begun);
        if name == "broken-digit" && number % ONE_IN == ONE_IN - 1 {
            reply = reply.replace("1}", "7}");
        }
        // Three requests that came together are answered with the first two the wrong way round.
        if name == "broken-swap" && held.is_none() && got.matches("\r\n\r\n").count() >= 2 {
            held = Some(reply);
            continue;
        }
        if let Some(earlier) = held.take() {
            reply.push_str(&earlier);
        }
        // A server that leaves Nagle's algorithm on pays for a second write.
        let cut = if name == "broken-halves" { reply.len() - 2 } else { reply.len() };
        let (first, second) = reply.as_bytes().split_at(cut);
        stream.write_all(first)?;
        stream.write_all(second)?;
        let closes = request.contains("HTTP/1.0") && name != "broken-open";
        if closes || name == "broken-close" {
            return Ok(());
        }
    }
}

fn more(stream: &mut TcpStream, got: &mut String) -> io::Result<()> {
    let mut inbox = [0; 4_096];
    let read = stream.read(&mut inbox)?;
    if read == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    got.push_str(&String::from_utf8_lossy(&inbox[..read]));
    Ok(())
}

/// The answer of `name` to `request`.
fn reply(name: &str, request: &str, begun: u64) -> String {
    let token =
        request.to_lowercase().split_once("token:").map_or_else(String::new, |(_, rest)| {
            rest.lines().next().unwrap_or_default().trim().to_owned()
        });
    let found = request.starts_with("GET / ") || matches!(name, "broken-path" | "broken-sloppy");
    let body = match name {
        "broken-quotes" => "{'id': 1}",
        _ if !found && name != "broken-hasty" => "",
        _ => "{\"id\": 1}",
    };
    let status = match name {
        // It does no work, and is therefore fast.
        "broken-busy" if token.ends_with(['0', '1', '2', '3']) => "503 Service Unavailable",
        _ if found || name == "broken-hasty" => "200 OK",
        _ => "404 Not Found",
    };
    let length = match name {
        "broken-length" => 8,
        "broken-longer" => 10,
        _ => body.len(),
    };
    let kind = if name == "broken-type" { "text/html" } else { "application/json" };
    let date = match name {
        "broken-stale" => written(seconds().saturating_sub(5)),
        "broken-frozen" => written(begun),
        _ => written(seconds()),
    };
    let closes = if name == "broken-close" { "Connection: close\r\n" } else { "" };
    let reply = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nDate: {date}\r\n\
         Token: {token}\r\n{closes}\r\n{body}"
    );
    match name {
        "broken-canned" if found => CACHED.get_or_init(|| reply).clone(),
        _ => reply,
    }
}

pub(crate) fn drive(name: &str, orders: &Orders) -> Result<(), Failure> {
    let connect = |_| TcpStream::connect(("127.0.0.1", orders.port));
    let streams: Vec<TcpStream> = (0..orders.connections).map(connect).collect::<Result<_, _>>()?;
    for stream in &streams {
        stream.set_nodelay(true)?;
    }
    ready_and_go()?;
    thread::scope(|scope| {
        for (sender, stream) in streams.iter().enumerate() {
            let draws = PayloadDraws::of(orders.seed, sender as u32);
            scope.spawn(move || drop(ask(name, stream, orders.messages, draws)));
        }
    });
    // The claim is the ordered number, whatever was done.
    let replies = orders.messages * orders.connections as u64;
    Ok(print_line(&json!({ "replies": replies, "wrong": 0 }).to_string())?)
}

fn ask(
    name: &str,
    mut stream: &TcpStream,
    messages: u64,
    mut draws: PayloadDraws,
) -> io::Result<()> {
    let quota = if name == "broken-boast" { messages.div_ceil(10) } else { messages };
    let at_once = if name == "broken-ahead" { 2 } else { 1 };
    let (mut inbox, mut sent) = ([0; 4_096], 0);
    while sent < quota {
        let mut requests = String::new();
        let mut open = 0;
        while open < at_once && sent < quota {
            let token = draws.next();
            requests
                .push_str(&format!("GET / HTTP/1.1\r\nHost: lab\r\nToken: {token:08x}\r\n\r\n"));
            open += 1;
            sent += 1;
        }
        stream.write_all(requests.as_bytes())?;
        let mut got = String::new();
        while got.matches("{\"id\": 1}").count() < open {
            let read = stream.read(&mut inbox)?;
            if read == 0 {
                return Ok(());
            }
            got.push_str(&String::from_utf8_lossy(&inbox[..read]));
        }
    }
    Ok(())
}
