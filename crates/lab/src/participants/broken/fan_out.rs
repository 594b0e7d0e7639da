//! Known-bad participants of sp with one sender and several receivers: right receivers, and a sender
//! with a fault. Messages go over TCP without any frame.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, SyncSender};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::faulty;
use crate::contract::fan_out::{Arrival, Receipts, Stamp, now, offset};
use crate::contract::{
    Failure, Orders, PayloadDraws, exit_when_input_ends, print_line, wait_for_go,
};

/// Greetings and marks are sent so often.
const EVERY: Duration = Duration::from_millis(1);
/// Peers of a run; one that returns is another.
const PEERS: usize = 3;
/// Bytes of a message that is hoarded.
const HOARDED_BYTES: usize = 4 << 10;

/// The queue of one peer.
enum Outlet {
    /// A message that finds it full is dropped.
    Bounded(SyncSender<Vec<u8>>),
    /// A message that finds it full waits, and all others with it.
    Blocking(SyncSender<Vec<u8>>),
    /// It is never full.
    Unbounded(Sender<Vec<u8>>),
}

impl Outlet {
    /// Whether the peer is still there.
    fn send(&self, mut message: Vec<u8>) -> bool {
        match self {
            Outlet::Bounded(queue) => {
                !matches!(queue.try_send(message), Err(mpsc::TrySendError::Disconnected(_)))
            }
            Outlet::Blocking(queue) => queue.send(message).is_ok(),
            Outlet::Unbounded(queue) => {
                message.reserve_exact(HOARDED_BYTES - message.len());
                queue.send(message).is_ok()
            }
        }
    }
}

type Outlets = Arc<Mutex<Vec<Outlet>>>;

pub(in crate::participants) fn send(name: &str, orders: &Orders) -> Result<(), Failure> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    print_line(&format!("READY {}", listener.local_addr()?.port()))?;
    let outlets = Outlets::default();
    let (told, queue, kind) = (outlets.clone(), orders.queue, name.to_owned());
    thread::spawn(move || accept(listener, &kind, queue, &told));
    let mut next = 0;
    let mut publish = |stamp: Stamp| {
        let mut outlets = outlets.lock().unwrap_or_else(PoisonError::into_inner);
        if name.starts_with("broken-balance") && !outlets.is_empty() {
            next = (next + 1) % outlets.len();
            outlets[next].send(stamp.to_message(orders.size));
        } else {
            outlets.retain(|outlet| outlet.send(stamp.to_message(orders.size)));
        }
    };
    let (go, went) = mpsc::channel();
    thread::spawn(move || go.send(wait_for_go().is_ok()));
    while went.recv_timeout(EVERY) == Err(RecvTimeoutError::Timeout) {
        publish(Stamp::GREETING);
    }
    let start = now();
    let fault = format!("broken-{}", name.rsplit('-').next().unwrap_or_default());
    faulty(&fault, orders.messages, PayloadDraws::of(orders.seed, 0), |(number, payload)| {
        let due = start + offset(number, orders.rate);
        thread::sleep(Duration::from_nanos(due.saturating_sub(now())));
        let due = if fault == "broken-date" { now() } else { due };
        publish(Stamp { number, payload, due });
        Ok(())
    })?;
    print_line(&json!({ "sent": orders.messages, "late": 0 }).to_string())?;
    exit_when_input_ends();
    loop {
        publish(Stamp::END);
        thread::sleep(EVERY);
    }
}

/// Gives each peer a queue, and a thread that writes what is in it.
fn accept(listener: TcpListener, name: &str, queue: usize, outlets: &Mutex<Vec<Outlet>>) {
    let most = if name == "broken-pub-once" { PEERS } else { usize::MAX };
    for stream in listener.incoming().take(most).map_while(Result::ok) {
        let (outlet, messages) = match name {
            "broken-pub-hoard" => {
                let (queue, messages) = mpsc::channel();
                (Outlet::Unbounded(queue), messages)
            }
            "broken-pub-block" | "broken-balance-block" => {
                let (queue, messages) = mpsc::sync_channel(queue);
                (Outlet::Blocking(queue), messages)
            }
            _ => {
                let (queue, messages) = mpsc::sync_channel(queue);
                (Outlet::Bounded(queue), messages)
            }
        };
        outlets.lock().unwrap_or_else(PoisonError::into_inner).push(outlet);
        thread::spawn(move || write_all(stream, &messages));
    }
}

fn write_all(mut stream: TcpStream, messages: &Receiver<Vec<u8>>) -> io::Result<()> {
    messages.iter().try_for_each(|message| stream.write_all(&message))
}

pub(in crate::participants) fn receive(orders: &Orders) -> Result<(), Failure> {
    let (greeted, greetings) = mpsc::channel();
    let threads: Result<Vec<_>, Failure> = (0..orders.receivers)
        .map(|_| {
            let stream = TcpStream::connect(("127.0.0.1", orders.port))?;
            let (greeted, orders) = (greeted.clone(), orders.clone());
            Ok(thread::spawn(move || take_all(stream, &orders, &greeted)))
        })
        .collect();
    drop(greeted);
    for _ in 0..orders.receivers {
        greetings.recv()?;
    }
    exit_when_input_ends();
    print_line("READY")?;
    let mut all = Vec::new();
    for thread in threads? {
        all.push(thread.join().map_err(|_| Failure::from("a receiver panicked"))??);
    }
    print_line(&Receipts::account(&all).to_string())?;
    loop {
        thread::park();
    }
}

fn take_all(
    mut stream: TcpStream,
    orders: &Orders,
    greeted: &Sender<()>,
) -> Result<Receipts, Failure> {
    let mut receipts = Receipts::new(orders);
    let mut message = vec![0; orders.size];
    let mut is_first = true;
    loop {
        stream.read_exact(&mut message)?;
        let arrival = receipts.take(&message);
        if std::mem::take(&mut is_first) {
            greeted.send(())?;
        }
        if arrival == Arrival::End {
            return Ok(receipts);
        }
        thread::sleep(Duration::from_micros(orders.work_us));
    }
}
