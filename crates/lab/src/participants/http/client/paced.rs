//! The timed run at a fixed rate: each request is due at its time, whatever became of those before.
//!
//! A request takes the connection that has been free for the longest time. While none is free it
//! waits, and its latency begins when it was due all the same. It is late only if a connection was
//! free for it: otherwise the server made it wait, and the latency says so.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::connection::{ClientConnection, ClientState};
use super::faults::RequestKind;
use super::lanes::Lanes;
use crate::contract::schedule::{LATE, SendSchedule, sleep_exactly};
use crate::contract::{Failure, Orders};

/// Sends `orders.messages` requests in all at `orders.rate` a second; returns how many were sent
/// late.
pub(super) fn run(
    orders: &Orders,
    lanes: &mut [ClientConnection],
    desk: &mut ClientState,
) -> Result<u64, Failure> {
    sleep_exactly();
    let begun = Instant::now();
    let mut free: VecDeque<(usize, Instant)> = (0..lanes.len()).map(|lane| (lane, begun)).collect();
    let all = lanes.len();
    let mut lanes = Lanes::new(lanes, orders, orders.messages, desk)?;
    let schedule = SendSchedule::begin(orders);
    let (mut next, mut late) = (0, 0);
    let mut how = desk.draw_kind(orders.messages);
    loop {
        // A pair is due with its second request.
        let last = next + u64::from(how == RequestKind::Pair);
        let is_over = next >= orders.messages;
        let due = schedule.due(last);
        let now = Instant::now();
        if !is_over
            && now >= due
            && let Some((lane, since)) = free.pop_front()
        {
            lanes.ask(lane, desk, |lane, desk, now| {
                lane.ask_as(how, desk, now);
                lane.timed_from = due;
            });
            late += u64::from(now.saturating_duration_since(due.max(since)) > LATE);
            next = last + 1;
            how = desk.draw_kind(orders.messages.saturating_sub(next));
            continue;
        }
        if !lanes.are_working() || (is_over && free.len() == all && !lanes.is_visit_under_way()) {
            return Ok(late);
        }
        let wait = match is_over || free.is_empty() {
            true => Duration::MAX,
            false => due.saturating_duration_since(now),
        };
        lanes.take(wait, desk, |lane| free.push_back((lane, Instant::now())))?;
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    use super::*;
    use crate::contract::PayloadDraws;
    use crate::participants::http::date::{seconds, written};

    /// A stall: as long as two hundred requests are apart.
    const STALL: Duration = Duration::from_millis(200);

    /// Answers one request after the other, and stalls once before the hundredth.
    fn serve(mut stream: TcpStream) -> std::io::Result<()> {
        let (mut got, mut inbox) = (String::new(), [0; 4_096]);
        for number in 1.. {
            let end = loop {
                if let Some(end) = got.find("\r\n\r\n") {
                    break end + 4;
                }
                match stream.read(&mut inbox)? {
                    0 => return Ok(()),
                    read => got.push_str(&String::from_utf8_lossy(&inbox[..read])),
                }
            };
            let request = got.drain(..end).collect::<String>().to_lowercase();
            let token = request.split_once("token:").map_or("", |(_, rest)| rest);
            let token = token.lines().next().unwrap_or_default().trim();
            if number == 100 {
                thread::sleep(STALL);
            }
            let date = written(seconds());
            let head = format!("HTTP/1.1 200 OK\r\nDate: {date}\r\nToken: {token}\r\n");
            let kind = "Content-Type: application/json\r\nContent-Length: 9\r\n\r\n";
            stream.write_all(format!("{head}{kind}{{\"id\": 1}}").as_bytes())?;
        }
        Ok(())
    }

    /// Two hundred of four hundred requests were due during the stall. A client that measures from
    /// when it sent them would tell of one.
    #[test]
    fn a_stall_counts_for_every_request_that_was_due_in_it() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        thread::spawn(move || serve(listener.accept().unwrap().0));
        let orders = Orders { port, connections: 1, messages: 400, rate: 1_000, ..Orders::read() };
        let mut desk = ClientState::new(&orders);
        desk.asks_on = false;
        let lane = ClientConnection::open(port, PayloadDraws::of(1, 0), orders.messages).unwrap();
        run(&orders, &mut [lane], &mut desk).unwrap();
        assert!(desk.faults.is_empty(), "{}", desk.faults.to_json());
        assert_eq!((desk.replies, desk.wrong), (400, 0));
        // More than half of those waited for a third of the stall or longer.
        let waited = Duration::from_nanos(desk.times.at(0.7));
        assert!(waited >= STALL / 3, "{waited:?}");
    }
}
