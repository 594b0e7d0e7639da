//! The sockets of the Scalability Protocols, written as wigwag's documentation recommends: async
//! calls on a runtime of one thread, as in its examples, and blocking calls from plain threads.

use std::future::Future;
use std::thread;
use std::time::Instant;

use serde_json::{Value, json};
use tokio::runtime::Builder;
use wigwag::Bytes;
use wigwag::sp::{Pair, Pub, Pull, Push, Rep, Req, SendError, SocketError, Sub};

use crate::contract::Failure;
use crate::contract::sp::{Receipts, RoundTrips, Stamp, merged};
use crate::contract::{
    Orders, PayloadDraws, print_line, print_line_and_wait, ready_and_go, ready_until_input_ends,
};

pub(super) mod transport;
pub(in crate::participants) mod fan_out;

use transport::{address, dial_options, listen_options};

/// Where both ends of one process meet.
const INPROC: &str = "inproc://lab";

/// Messages of a call that sends or receives many.
const AT_ONCE: usize = 256;

/// A socket that sends; what is the same with both kinds is written once.
trait Sends {
    fn send_message(&self, message: Vec<u8>) -> impl Future<Output = Result<(), SendError>> + Send;
}

impl Sends for Push {
    async fn send_message(&self, message: Vec<u8>) -> Result<(), SendError> {
        self.send(message).await
    }
}

impl Sends for Pub {
    async fn send_message(&self, message: Vec<u8>) -> Result<(), SendError> {
        self.send(message).await
    }
}

impl Sends for Pair {
    async fn send_message(&self, message: Vec<u8>) -> Result<(), SendError> {
        self.send(message).await
    }
}

/// A socket that receives.
trait Receives {
    fn receive(&self) -> impl Future<Output = Result<Bytes, SocketError>> + Send;
}

impl Receives for Pull {
    async fn receive(&self) -> Result<Bytes, SocketError> {
        self.recv().await
    }
}

impl Receives for Sub {
    async fn receive(&self) -> Result<Bytes, SocketError> {
        self.recv().await
    }
}

impl Receives for Pair {
    async fn receive(&self) -> Result<Bytes, SocketError> {
        self.recv().await
    }
}

pub(crate) fn serve(orders: &Orders) -> Result<(), Failure> {
    let address = address(orders, 0);
    let options = listen_options(orders)?;
    let ready = |bound: String| ready_until_input_ends(transport::port(&bound));
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        match orders.cell.as_str() {
            "req" => {
                let rep = Rep::new();
                ready(rep.listen_with(&address, options).await?.to_string())?;
                let account = answer(&rep, orders, |account| print_line(&account.to_string()));
                account.await?;
                std::future::pending::<Result<(), Failure>>().await
            }
            "pair" => {
                let pair = Pair::new();
                ready(pair.listen_with(&address, options).await?.to_string())?;
                print_line(&receive(&pair, orders).await?.to_string())?;
                std::future::pending().await
            }
            "many" => {
                let pull = Pull::new();
                ready(pull.listen_with(&address, options).await?.to_string())?;
                print_line(&receive_many(&pull, orders).await?.to_string())?;
                std::future::pending().await
            }
            _ => {
                let pull = Pull::new();
                ready(pull.listen_with(&address, options).await?.to_string())?;
                print_line(&receive(&pull, orders).await?.to_string())?;
                std::future::pending().await
            }
        }
    })
}

pub(crate) fn drive(orders: &Orders) -> Result<(), Failure> {
    let address = address(orders, orders.port);
    let options = dial_options(orders)?;
    if orders.cell == "threads" {
        return send_from_threads(&address, orders);
    }
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        match orders.cell.as_str() {
            "req" => {
                let req = Req::new();
                req.dial_with(&address, options).await?;
                ready_and_go()?;
                let account = ask(&req, orders).await?;
                finish(account).await
            }
            "pair" => {
                let pair = Pair::new();
                pair.dial_with(&address, options).await?;
                ready_and_go()?;
                let account = send(&[pair], orders).await?;
                finish(account).await
            }
            "many" => {
                let push = Push::new();
                push.dial_with(&address, options).await?;
                ready_and_go()?;
                let account = send_many(&push, orders).await?;
                finish(account).await
            }
            _ => {
                let mut sockets = Vec::new();
                for _ in 0..orders.senders {
                    let push = Push::new();
                    push.dial_with(&address, options.clone()).await?;
                    sockets.push(push);
                }
                ready_and_go()?;
                let account = send(&sockets, orders).await?;
                finish(account).await
            }
        }
    })
}

/// Both ends in one process, a task each.
pub(crate) fn play(orders: &Orders) -> Result<(), Failure> {
    Builder::new_current_thread().enable_all().build()?.block_on(async {
        let (here, there) = (orders.clone(), orders.clone());
        let (receiver, sender) = if orders.cell == "req" {
            let (rep, req) = (Rep::new(), Req::new());
            rep.listen(INPROC).await?;
            req.dial(INPROC).await?;
            ready_and_go()?;
            let answering = wigwag::spawn(async move { answer(&rep, &here, |_| Ok(())).await });
            let asked = wigwag::spawn(async move { ask(&req, &there).await }).await??;
            (answering.await??, asked)
        } else {
            let (pull, push) = (Pull::new(), Push::new());
            pull.listen(INPROC).await?;
            push.dial(INPROC).await?;
            ready_and_go()?;
            let receiving = wigwag::spawn(async move { receive(&pull, &here).await });
            let sending = wigwag::spawn(async move {
                let sent = send(std::slice::from_ref(&push), &there).await;
                (sent, push)
            });
            // The socket stays open until the receiver has everything.
            let (sent, _push) = sending.await?;
            (receiving.await??, sent?)
        };
        Ok(print_line(&merged(receiver, sender).to_string())?)
    })
}

/// Prints the account. The sockets stay open, and their connections are served, until the lab has
/// closed the input: then the receiver has everything.
async fn finish(account: Value) -> Result<(), Failure> {
    let printed =
        tokio::task::spawn_blocking(move || print_line_and_wait(&account.to_string())).await?;
    Ok(printed?)
}

/// Sends on all sockets in turn.
async fn send(sockets: &[impl Sends], orders: &Orders) -> Result<Value, Failure> {
    let each = orders.messages / u64::from(orders.senders);
    let mut draws: Vec<PayloadDraws> =
        (0..orders.senders).map(|sender| PayloadDraws::of(orders.seed, sender)).collect();
    for number in 0..each {
        for ((socket, draws), sender) in sockets.iter().zip(&mut draws).zip(0..) {
            let stamp = Stamp { sender, number, payload: draws.next() };
            socket.send_message(stamp.to_message(orders.size)).await?;
        }
    }
    for (socket, sender) in sockets.iter().zip(0..) {
        socket.send_message(Stamp::end(sender).to_message(orders.size)).await?;
    }
    Ok(json!({ "sent": orders.messages }))
}

/// Sends as many messages at once as the receiver takes.
async fn send_many(push: &Push, orders: &Orders) -> Result<Value, Failure> {
    let mut draws = PayloadDraws::of(orders.seed, 0);
    let mut messages = Vec::with_capacity(AT_ONCE);
    for number in 0..orders.messages {
        let stamp = Stamp { sender: 0, number, payload: draws.next() };
        messages.push(stamp.to_message(orders.size).into());
        if messages.len() == AT_ONCE {
            push.send_many(&mut messages).await?;
        }
    }
    messages.push(Stamp::end(0).to_message(orders.size).into());
    push.send_many(&mut messages).await?;
    Ok(json!({ "sent": orders.messages }))
}

/// Receives until the mark has come, many messages at once.
async fn receive_many(pull: &Pull, orders: &Orders) -> Result<Value, Failure> {
    let mut receipts = Receipts::new(orders.size, orders.senders);
    let mut messages = Vec::with_capacity(AT_ONCE);
    while !receipts.are_complete() {
        pull.recv_many(&mut messages, AT_ONCE).await?;
        for message in messages.drain(..) {
            receipts.take(&message);
        }
    }
    Ok(receipts.to_json())
}

/// Sends from plain threads on one socket, which runs on a thread of its own.
fn send_from_threads(address: &str, orders: &Orders) -> Result<(), Failure> {
    let push = Push::new();
    push.blocking_dial(address)?;
    ready_and_go()?;
    let each = orders.messages / u64::from(orders.senders);
    let send = |sender| {
        let mut draws = PayloadDraws::of(orders.seed, sender);
        for number in 0..each {
            let stamp = Stamp { sender, number, payload: draws.next() };
            push.blocking_send(stamp.to_message(orders.size))?;
        }
        push.blocking_send(Stamp::end(sender).to_message(orders.size))
    };
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..orders.senders).map(|sender| scope.spawn(move || send(sender))).collect();
        threads.into_iter().try_for_each(|thread| {
            let sent = thread.join().map_err(|_| Failure::from("a sender panicked"))?;
            Ok::<(), Failure>(sent?)
        })
    })?;
    Ok(print_line_and_wait(&json!({ "sent": orders.messages }).to_string())?)
}

/// Receives until the mark of every sender has come.
async fn receive(socket: &impl Receives, orders: &Orders) -> Result<Value, Failure> {
    let mut receipts = Receipts::new(orders.size, orders.senders);
    while !receipts.are_complete() {
        receipts.take(&socket.receive().await?);
    }
    Ok(receipts.to_json())
}

/// Answers requests until the mark, and tells the account before the mark is answered.
async fn answer(
    rep: &Rep,
    orders: &Orders,
    tell: impl Fn(&Value) -> std::io::Result<()>,
) -> Result<Value, Failure> {
    let mut receipts = Receipts::new(orders.size, orders.senders);
    loop {
        let request = receipts.take(&rep.recv().await?).ok_or("a request that nobody sent")?;
        if request.is_end() {
            tell(&receipts.to_json())?;
        }
        rep.send(request.reply().to_message(orders.size)).await?;
        if request.is_end() {
            return Ok(receipts.to_json());
        }
    }
}

async fn ask(req: &Req, orders: &Orders) -> Result<Value, Failure> {
    let mut round_trips = RoundTrips::new(orders);
    while let Some(request) = round_trips.request() {
        let begun = Instant::now();
        let reply = req.ask(request.to_message(orders.size)).await?;
        round_trips.take(&reply, begun);
    }
    req.ask(Stamp::end(0).to_message(orders.size)).await?;
    Ok(round_trips.to_json())
}
