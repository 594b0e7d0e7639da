//! tarpc over TCP with bincode: every message is a request; a tell is one that answers nothing.
//!
//! After the README of tarpc, "Example": the server handles all requests concurrently, each in a
//! task, and so promises no order. Calls at once by `buffer_unordered` of the futures crate.
#![forbid(unsafe_code)]

mod callers;

use std::{
    env,
    net::Ipv4Addr,
    sync::Arc,
    time::{Duration, Instant},
};

use callers::Offer;

use futures::{StreamExt, TryStreamExt, stream};
use peer_common::{
    Payloads, Replies, Result, RoundTrips,
    callers::{Desks, Quote},
    order, say,
};
use tarpc::{
    client::{self, RpcError},
    context::{self, Context},
    serde_transport::tcp,
    server::{self, BaseChannel, Channel},
    tokio_serde::formats::Bincode,
};
use tokio::{
    task::JoinSet,
    time::{sleep, sleep_until},
};

/// Requests and responses that wait for the connection. The documentation of
/// `pending_request_buffer` warns that a low value costs throughput; 100 is the default of both.
const PENDING_MAX: usize = 16_384;

/// Tells in flight: the lab's `WINDOW` is for asks and leaves the pace of tells to the program.
const TELLS_MAX: usize = 16_384;

#[tarpc::service]
trait Remote {
    async fn tell(number: u64, payload: u32);
    async fn ask(number: u64, payload: u32) -> u64;
    async fn quote(sender: u32, number: u64, payload: u32) -> Offer;
    async fn account() -> bool;
}

#[derive(Clone)]
struct Server {
    desks: Arc<Desks>,
    device: Option<Device>,
}

/// The device of the cell `overload`, which serves one call at a time.
#[derive(Clone)]
struct Device {
    work: Duration,
    /// When it is free. Requests that wait for the lock are dropped at their deadline.
    free_at: Arc<tokio::sync::Mutex<Instant>>,
}

/// How far the device may be ahead, as the lab says.
const AHEAD: Duration = Duration::from_millis(2);

impl Remote for Server {
    async fn tell(self, _: Context, number: u64, payload: u32) {
        self.desks.accept(0, number, payload);
    }

    async fn ask(self, _: Context, number: u64, payload: u32) -> u64 {
        match &self.device {
            None => self.desks.accept(0, number, payload),
            Some(device) => {
                let mut free_at = device.free_at.lock().await;
                // A call that was dropped when it had begun keeps the device until it is done.
                sleep_until((*free_at).into()).await;
                self.desks.accept(0, number, payload);
                *free_at = (*free_at).max(Instant::now() - AHEAD) + device.work;
                sleep_until((*free_at).into()).await;
            }
        }
        number + u64::from(payload)
    }

    async fn quote(self, _: Context, sender: u32, number: u64, payload: u32) -> Offer {
        self.desks.accept(sender, number, payload);
        Quote::of(sender, number, payload).into()
    }

    async fn account(self, _: Context) -> bool {
        say(&format!("{{{}}}", self.desks.account())).is_ok()
    }
}

#[tokio::main]
async fn main() -> Result<()> {
    match env::args().nth(1).as_deref() {
        Some("remote-server") => server().await,
        Some("remote-client") => client().await,
        role => Err(format!("no such role: {role:?}").into()),
    }
}

async fn server() -> Result<()> {
    let mut incoming = tcp::listen((Ipv4Addr::LOCALHOST, order("PORT")?), Bincode::default).await?;
    peer_common::ready_and_stop_with_the_lab(incoming.local_addr().port())?;
    let cell: String = order("CELL")?;
    let device = match cell.as_str() {
        "overload" => Some(Device {
            work: Duration::from_micros(order("WORK_US")?),
            free_at: Arc::new(tokio::sync::Mutex::new(Instant::now())),
        }),
        _ => None,
    };
    // Other cells order no number of senders: they have one.
    let senders = order("SENDERS").unwrap_or(1);
    let server = Server { desks: Arc::new(Desks::new(senders, cell == "callers-each")), device };
    while let Some(transport) = incoming.next().await {
        let config = server::Config { pending_response_buffer: PENDING_MAX };
        let channel = BaseChannel::new(config, transport?);
        let requests = channel.execute(server.clone().serve());
        tokio::spawn(requests.for_each(|response| async move {
            tokio::spawn(response);
        }));
    }
    Ok(())
}

async fn client() -> Result<()> {
    let port: u16 = order("PORT")?;
    let (messages, window) = (order::<u64>("MESSAGES")?, order::<usize>("WINDOW")?);
    let numbered = (0..messages).zip(Payloads::new(order("SEED")?, 0));
    let transport = tcp::connect((Ipv4Addr::LOCALHOST, port), Bincode::default).await?;
    let mut config = client::Config::default();
    // The window is the program's; the documentation of the field allows any value then.
    config.max_in_flight_requests = usize::MAX;
    config.pending_request_buffer = PENDING_MAX;
    let client = RemoteClient::new(config, transport).spawn();
    peer_common::ready_and_wait_for_go()?;
    let account = match order::<String>("CELL")?.as_str() {
        "tell" => {
            stream::iter(numbered)
                .map(|(number, payload)| client.tell(context::current(), number, payload))
                .buffer_unordered(TELLS_MAX)
                .try_for_each(async |()| Ok(()))
                .await?;
            format!(r#"{{"sent": {messages}}}"#)
        }
        "naive" => {
            naive(&client, numbered).await?;
            format!(r#"{{"sent": {messages}}}"#)
        }
        "ask" => ask(&client, numbered, window).await?,
        "naive-ask" => naive_ask(&client, numbered).await?,
        "rtt" => ask_one_at_a_time(&client, numbered).await?,
        "overload" => ask_on_time(&client, numbered, messages).await?,
        "callers" | "callers-each" => callers::call(&client, messages).await?,
        cell => return Err(format!("no such cell: {cell}").into()),
    };
    if !client.account(context::current()).await? {
        return Err("the server could not print its account".into());
    }
    say(&account)
}

/// Every call is a task of its own and nothing holds them back.
async fn naive(client: &RemoteClient, numbered: impl Iterator<Item = (u64, u32)>) -> Result<()> {
    let mut calls = JoinSet::new();
    for (number, payload) in numbered {
        let client = client.clone();
        calls.spawn(async move { client.tell(context::current(), number, payload).await });
    }
    while let Some(done) = calls.join_next().await {
        done??;
    }
    Ok(())
}

/// The plain loop of asks: each call waits for its reply.
async fn naive_ask(
    client: &RemoteClient,
    numbered: impl Iterator<Item = (u64, u32)>,
) -> Result<String> {
    let mut calls = JoinSet::new();
    for (number, payload) in numbered {
        let client = client.clone();
        calls.spawn(async move {
            let answer = client.ask(context::current(), number, payload).await;
            answer.map(|answer| (number, payload, answer))
        });
    }
    let mut replies = Replies::default();
    while let Some(done) = calls.join_next().await {
        let (number, payload, answer) = done??;
        replies.hold(number, payload, answer);
    }
    Ok(replies.account(RoundTrips::default()))
}

async fn ask(
    client: &RemoteClient,
    numbered: impl Iterator<Item = (u64, u32)>,
    window: usize,
) -> Result<String> {
    let mut replies = Replies::default();
    let mut answers = stream::iter(numbered)
        .map(async |(number, payload)| {
            let answer = client.ask(context::current(), number, payload).await;
            answer.map(|answer| (number, payload, answer))
        })
        .buffer_unordered(window);
    while let Some(answered) = answers.next().await {
        let (number, payload, answer) = answered?;
        replies.hold(number, payload, answer);
    }
    Ok(replies.account(RoundTrips::default()))
}

/// Each ask when it is due, with a deadline, which the server learns with the request.
async fn ask_on_time(
    client: &RemoteClient,
    numbered: impl Iterator<Item = (u64, u32)>,
    messages: u64,
) -> Result<String> {
    let (rate, limit) = (order::<f64>("RATE")?, Duration::from_millis(order("LIMIT_MS")?));
    let (begun, mut asks, mut replies) = (Instant::now(), JoinSet::new(), 0);
    for (number, payload) in numbered {
        while begun.elapsed().as_secs_f64() * rate < number as f64 {
            sleep(Duration::from_millis(1)).await;
        }
        let client = client.clone();
        asks.spawn(async move {
            let mut context = context::current();
            context.deadline = Instant::now() + limit;
            match client.ask(context, number, payload).await {
                Ok(answer) if answer == number + u64::from(payload) => Ok(1),
                Ok(_) => Err("a reply did not fit its request".to_owned()),
                Err(RpcError::DeadlineExceeded) => Ok(0),
                Err(error) => Err(error.to_string()),
            }
        });
    }
    while let Some(ended) = asks.join_next().await {
        replies += ended??;
    }
    let given_up = messages - replies;
    Ok(format!(r#"{{"replies": {replies}, "wrong": 0, "given_up": {given_up}}}"#))
}

async fn ask_one_at_a_time(
    client: &RemoteClient,
    numbered: impl Iterator<Item = (u64, u32)>,
) -> Result<String> {
    let (mut replies, mut round_trips) = (Replies::default(), RoundTrips::default());
    for (number, payload) in numbered {
        let begun = Instant::now();
        let answer = client.ask(context::current(), number, payload).await?;
        round_trips.push(begun.elapsed());
        replies.hold(number, payload, answer);
    }
    Ok(replies.account(round_trips))
}
