//! A pair that must be found out: its server stalls, and its client asks one at a time and measures
//! each ask from when it sent it. The asks that were due during the stall are then one long ask and
//! many short ones, and no percentile shows it: coordinated omission.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::contract::Failure;
use crate::contract::{
    Orders, PayloadDraws, Tally, print_line, ready_and_go, ready_until_input_ends, senders,
};
use crate::figures::times::Times;

/// The number of asks after which the server stalls once, and the duration.
const STALL_AFTER: u64 = 500;
const STALL: Duration = Duration::from_millis(300);

pub(crate) fn serve(orders: &Orders) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    ready_until_input_ends(listener.local_addr()?.port())?;
    let (mut stream, _) = listener.accept()?;
    stream.set_nodelay(true)?;
    let (mut tally, mut message) = (Tally::default(), [0; 12]);
    let mut count = 0;
    while stream.read_exact(&mut message).is_ok() {
        let [a, b, c, d, e, f, g, h, payload @ ..] = message;
        let number = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
        let payload = u32::from_le_bytes(payload);
        tally.take(number, payload);
        count += 1;
        if orders.cell == "paced" && count == STALL_AFTER {
            thread::sleep(STALL);
        }
        stream.write_all(&(number + u64::from(payload)).to_le_bytes())?;
    }
    print_line(&json!({ "senders": senders(&[tally]) }).to_string())?;
    loop {
        thread::park();
    }
}

pub(crate) fn drive(orders: &Orders) -> Result<(), Failure> {
    let mut stream = TcpStream::connect(("127.0.0.1", orders.port))?;
    stream.set_nodelay(true)?;
    ready_and_go()?;
    let mut draws = PayloadDraws::of(orders.seed, 0);
    let (mut wrong, mut sum, mut reply) = (0, 0_u64, [0; 8]);
    let (mut times, mut due) = (Times::new(), Instant::now());
    let pause = Duration::from_secs(1).checked_div(u32::try_from(orders.rate)?).unwrap_or_default();
    for number in 0..orders.messages {
        thread::sleep(due.saturating_duration_since(Instant::now()));
        due += pause;
        let payload = draws.next();
        let sent = Instant::now();
        stream.write_all(&[&number.to_le_bytes()[..], &payload.to_le_bytes()].concat())?;
        stream.read_exact(&mut reply)?;
        times.take(sent.elapsed());
        let reply = u64::from_le_bytes(reply);
        wrong += u64::from(reply != number + u64::from(payload));
        sum = sum.wrapping_add(reply);
    }
    stream.shutdown(Shutdown::Write)?;
    let mut account = json!({ "replies": orders.messages, "wrong": wrong, "sum": sum.to_string() });
    if orders.cell == "paced" {
        // Each was sent when it was due, as it sees it.
        account["late"] = 0.into();
        account["latency_us"] = times.to_bins();
    }
    Ok(print_line(&account.to_string())?)
}
