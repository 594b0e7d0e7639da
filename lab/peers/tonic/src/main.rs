//! tonic (gRPC): one client stream carries the tells, one bidirectional stream the asks. An ask with
//! a limit is a unary call.
//!
//! After tonic's examples, the `routeguide` tutorial ("Client-side streaming RPC", "Bidirectional
//! streaming RPC", whose request streams are made by `async-stream`, and "Server-side streaming RPC"), and
//! the `cancellation` example.
#![forbid(unsafe_code)]

mod callers;
mod shapes;

use std::{
    env,
    net::Ipv4Addr,
    pin::Pin,
    sync::Arc,
    time::{Duration, Instant},
};

use peer_common::{
    Payloads, Replies, Result, RoundTrips,
    callers::{Desks, Quote},
    order, say,
    stamp::{self, Stamp},
};
use remote::{
    Answer, Block, Done, Enquiry, Number, Offer, Text, Wanted, Word,
    remote_client::RemoteClient,
    remote_server::{Remote, RemoteServer},
};
use tokio::{
    sync::{Semaphore, mpsc},
    task::JoinSet,
    time::{sleep, sleep_until},
};
use tokio_stream::{Stream, StreamExt, wrappers::ReceiverStream};
use tonic::{
    Code, Request, Response, Status, Streaming,
    transport::{Channel, Endpoint, Server, server::TcpIncoming},
};

mod remote {
    tonic::include_proto!("remote");
}

/// Tells of the naive loop that wait for the connection.
const QUEUE_MESSAGES_MAX: usize = peer_common::CHANNEL_MESSAGES_MAX;

#[derive(Clone)]
struct Witness {
    desks: Arc<Desks>,
    block_bytes: usize,
    device: Option<Device>,
}

/// The device of the cell `overload`, which serves one call at a time.
#[derive(Clone)]
struct Device {
    work: Duration,
    /// When it is free. Calls that wait for the lock are dropped at their deadline.
    free_at: Arc<tokio::sync::Mutex<Instant>>,
}

/// Calls of a connection at once, and calls that its client gave up and remembers: more than are in
/// flight in `overload`. With the defaults, 200 and 50, the connection broke off there: an answer to a
/// call that is forgotten counts as an error of the server, and the client bears 1,024 of them.
const CALLS_MAX: u32 = 16_384;

/// Window of a connection with callers. With the default of 1 MiB the server ended the connection of
/// 10,000 callers: each call is a short frame of its own, and h2 bears some 2,000 unread ones then.
const CALLERS_WINDOW_BYTES: u32 = 32 << 20;

/// How far the device may be ahead, as the lab says.
const AHEAD: Duration = Duration::from_millis(2);

impl Witness {
    fn accept(&self, message: Number) {
        self.desks.accept(0, message.number, message.payload);
    }
}

/// The end of a stream of tells.
type Told = std::result::Result<Response<Done>, Status>;

impl Witness {
    /// Takes a stream of messages; one that does not fit is left out.
    async fn take<M>(
        &self,
        request: Request<Streaming<M>>,
        read: impl Fn(M) -> Option<Stamp> + Send,
    ) -> Told {
        let mut messages = request.into_inner();
        while let Some(message) = messages.message().await? {
            if let Some((number, payload)) = read(message) {
                self.desks.accept(0, number, payload);
            }
        }
        Ok(Response::new(Done {}))
    }
}

#[tonic::async_trait]
impl Remote for Witness {
    type AskStream = Pin<Box<dyn Stream<Item = std::result::Result<Answer, Status>> + Send>>;

    async fn tell(
        &self,
        request: Request<Streaming<Number>>,
    ) -> std::result::Result<Response<Done>, Status> {
        let mut messages = request.into_inner();
        while let Some(message) = messages.message().await? {
            self.accept(message);
        }
        Ok(Response::new(Done {}))
    }

    async fn ask(
        &self,
        request: Request<Streaming<Number>>,
    ) -> std::result::Result<Response<Self::AskStream>, Status> {
        let witness = self.clone();
        let answers = request.into_inner().map(move |message| {
            let message = message?;
            let Number { number, payload } = message;
            witness.accept(message);
            Ok(Answer { number, sum: number + u64::from(payload) })
        });
        Ok(Response::new(Box::pin(answers)))
    }

    async fn ask_once(
        &self,
        request: Request<Number>,
    ) -> std::result::Result<Response<Answer>, Status> {
        let message = request.into_inner();
        let Number { number, payload } = message;
        match &self.device {
            None => self.accept(message),
            Some(device) => {
                let mut free_at = device.free_at.lock().await;
                // A call that was dropped when it had begun keeps the device until it is done.
                sleep_until((*free_at).into()).await;
                self.accept(message);
                *free_at = (*free_at).max(Instant::now() - AHEAD) + device.work;
                sleep_until((*free_at).into()).await;
            }
        }
        Ok(Response::new(Answer { number, sum: number + u64::from(payload) }))
    }

    async fn quote(
        &self,
        request: Request<Enquiry>,
    ) -> std::result::Result<Response<Offer>, Status> {
        let Enquiry { sender, number, payload } = request.into_inner();
        self.desks.accept(sender, number, payload);
        Ok(Response::new(Quote::of(sender, number, payload).into()))
    }

    async fn tell_word(&self, request: Request<Streaming<Word>>) -> Told {
        self.take(request, |message| Some(stamp::of_word(message.word))).await
    }

    async fn tell_text(&self, request: Request<Streaming<Text>>) -> Told {
        self.take(request, |message| stamp::of_text(message.text.as_bytes())).await
    }

    type RowsStream = Pin<Box<dyn Stream<Item = std::result::Result<Text, Status>> + Send>>;

    async fn rows(
        &self,
        request: Request<Wanted>,
    ) -> std::result::Result<Response<Self::RowsStream>, Status> {
        let Wanted { messages, seed } = request.into_inner();
        let rows = (0..messages).zip(Payloads::new(seed, 0)).map(shapes::text).map(Ok);
        Ok(Response::new(Box::pin(tokio_stream::iter(rows))))
    }

    async fn account_of(
        &self,
        request: Request<Text>,
    ) -> std::result::Result<Response<Done>, Status> {
        say(&request.into_inner().text).map_err(|error| Status::internal(error.to_string()))?;
        Ok(Response::new(Done {}))
    }

    async fn tell_struct(&self, request: Request<Streaming<Offer>>) -> Told {
        self.take(request, |message| shapes::contents(&message)).await
    }

    async fn tell_block(&self, request: Request<Streaming<Block>>) -> Told {
        self.take(request, |message| stamp::of_block(&message.block, self.block_bytes)).await
    }

    async fn account(&self, _: Request<Done>) -> std::result::Result<Response<Done>, Status> {
        say(&format!("{{{}}}", self.desks.account()))
            .map_err(|error| Status::internal(error.to_string()))?;
        Ok(Response::new(Done {}))
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
    let address = (Ipv4Addr::LOCALHOST, order("PORT")?).into();
    let incoming = TcpIncoming::bind(address)?.with_nodelay(Some(true));
    peer_common::ready_and_stop_with_the_lab(incoming.local_addr()?.port())?;
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
    let block_bytes = order("BYTES").unwrap_or(0);
    let witness = Witness {
        desks: Arc::new(Desks::new(senders, cell == "callers-each")),
        block_bytes,
        device,
    };
    let mut builder = Server::builder().max_concurrent_streams(CALLS_MAX);
    if cell.starts_with("callers") {
        builder = builder.initial_connection_window_size(CALLERS_WINDOW_BYTES);
    }
    let router = builder.add_service(RemoteServer::new(witness));
    Ok(router.serve_with_incoming(incoming).await?)
}

async fn client() -> Result<()> {
    let port: u16 = order("PORT")?;
    let (messages, window) = (order::<u64>("MESSAGES")?, order::<u32>("WINDOW")?);
    let payloads = Payloads::new(order("SEED")?, 0);
    let numbered = (0..messages).zip(payloads).map(|(number, payload)| Number { number, payload });
    let endpoint = Endpoint::from_shared(format!("http://127.0.0.1:{port}"))?
        .http2_max_concurrent_reset_streams(CALLS_MAX as usize);
    let mut client = RemoteClient::new(endpoint.connect().await?);
    peer_common::ready_and_wait_for_go()?;
    let account = match order::<String>("CELL")?.as_str() {
        "tell" => {
            client.tell(tokio_stream::iter(numbered)).await?;
            format!(r#"{{"sent": {messages}}}"#)
        }
        "naive" => {
            naive(client.clone(), numbered).await?;
            format!(r#"{{"sent": {messages}}}"#)
        }
        "ask" => ask(&mut client, numbered, window).await?,
        "naive-ask" => naive_ask(&mut client, numbered).await?,
        "rtt" => ask_one_at_a_time(&mut client, numbered).await?,
        "overload" => ask_on_time(&client, numbered, messages).await?,
        "stream" => {
            // The server prints the messages that were read here.
            shapes::read(&mut client, messages).await?;
            return say(&format!(r#"{{"sent": {messages}}}"#));
        }
        cell @ ("u64" | "text" | "upload" | "struct" | "vec") => {
            shapes::tell(&mut client, cell, messages).await?;
            format!(r#"{{"sent": {messages}}}"#)
        }
        "callers" | "callers-each" => callers::call(&client, messages).await?,
        cell => return Err(format!("no such cell: {cell}").into()),
    };
    client.account(Done {}).await?;
    say(&account)
}

/// A loop sends into the stream, which is a channel's other end.
async fn naive(
    mut client: RemoteClient<Channel>,
    numbered: impl Iterator<Item = Number>,
) -> Result<()> {
    let (sender, messages) = mpsc::channel(QUEUE_MESSAGES_MAX);
    let call = tokio::spawn(async move { client.tell(ReceiverStream::new(messages)).await });
    for message in numbered {
        if sender.send(message).await.is_err() {
            // The call has ended and says why.
            break;
        }
    }
    drop(sender);
    call.await??;
    Ok(())
}

/// A loop sends into the stream in a task of its own, this one takes the answers.
async fn naive_ask(
    client: &mut RemoteClient<Channel>,
    numbered: impl Iterator<Item = Number> + Clone + Send + 'static,
) -> Result<String> {
    let (sender, requests) = mpsc::channel(QUEUE_MESSAGES_MAX);
    let mut answers = client.ask(ReceiverStream::new(requests)).await?.into_inner();
    let unsent = numbered.clone();
    let asking = tokio::spawn(async move {
        for request in unsent {
            if sender.send(request).await.is_err() {
                // The answers have ended and say why.
                break;
            }
        }
    });
    let mut replies = Replies::default();
    for request in numbered {
        hold(&mut replies, &request, answers.message().await?)?;
    }
    asking.await?;
    Ok(replies.account(RoundTrips::default()))
}

/// The stream makes its requests itself, and those that may be made come back an eighth of the window
/// at a time: refilled one by one, each request is an HTTP/2 frame of its own. Answers come in the
/// order of the requests, so the numbers are drawn a second time to hold each against its own.
async fn ask(
    client: &mut RemoteClient<Channel>,
    numbered: impl Iterator<Item = Number> + Clone + Send + 'static,
    window: u32,
) -> Result<String> {
    let part_permits = (window / 8).max(1);
    let part = part_permits as usize;
    let open = Arc::new(Semaphore::new(window.max(1) as usize));
    let (unsent, may_send) = (numbered.clone(), open.clone());
    let requests = async_stream::stream! {
        for (at, request) in unsent.enumerate() {
            if at % part == 0 {
                let Ok(permits) = may_send.acquire_many(part_permits).await else { return };
                permits.forget();
            }
            yield request;
        }
    };
    let mut answers = client.ask(requests).await?.into_inner();
    let mut replies = Replies::default();
    for (at, request) in numbered.enumerate() {
        hold(&mut replies, &request, answers.message().await?)?;
        if (at + 1) % part == 0 {
            open.add_permits(part);
        }
    }
    Ok(replies.account(RoundTrips::default()))
}

/// Each ask when it is due, with a deadline, which the server learns with the call.
async fn ask_on_time(
    client: &RemoteClient<Channel>,
    numbered: impl Iterator<Item = Number>,
    messages: u64,
) -> Result<String> {
    let (rate, limit) = (order::<f64>("RATE")?, Duration::from_millis(order("LIMIT_MS")?));
    let (begun, mut asks, mut replies) = (Instant::now(), JoinSet::new(), 0);
    for message in numbered {
        while begun.elapsed().as_secs_f64() * rate < message.number as f64 {
            sleep(Duration::from_millis(1)).await;
        }
        asks.spawn(ask_once(client.clone(), message, limit));
    }
    while let Some(ended) = asks.join_next().await {
        replies += ended??;
    }
    let given_up = messages - replies;
    Ok(format!(r#"{{"replies": {replies}, "wrong": 0, "given_up": {given_up}}}"#))
}

/// 1 for an answer within the limit, 0 for a call whose time was over; any other end is a fault.
async fn ask_once(
    mut client: RemoteClient<Channel>,
    message: Number,
    limit: Duration,
) -> Result<u64> {
    let Number { number, payload } = message;
    let mut request = Request::new(message);
    request.set_timeout(limit);
    match client.ask_once(request).await.map(Response::into_inner) {
        Ok(answer) if answer == (Answer { number, sum: number + u64::from(payload) }) => Ok(1),
        Ok(_) => Err("a reply did not fit its request".into()),
        // tonic says Cancelled at a deadline, where the specification of gRPC has the other.
        Err(status) => match status.code() {
            Code::Cancelled | Code::DeadlineExceeded => Ok(0),
            _ => Err(status.into()),
        },
    }
}

async fn ask_one_at_a_time(
    client: &mut RemoteClient<Channel>,
    numbered: impl Iterator<Item = Number>,
) -> Result<String> {
    let (sender, requests) = mpsc::channel(1);
    let mut answers = client.ask(ReceiverStream::new(requests)).await?.into_inner();
    let (mut replies, mut round_trips) = (Replies::default(), RoundTrips::default());
    for request in numbered {
        let begun = Instant::now();
        // If the stream has ended, the answers say why.
        let _ = sender.send(request).await;
        let answer = answers.message().await?;
        round_trips.push(begun.elapsed());
        hold(&mut replies, &request, answer)?;
    }
    Ok(replies.account(round_trips))
}

fn hold(replies: &mut Replies, request: &Number, answer: Option<Answer>) -> Result<()> {
    let answer = answer.ok_or("the server ended the stream")?;
    if answer.number != request.number {
        return Err(format!("answer {} for request {}", answer.number, request.number).into());
    }
    replies.hold(request.number, request.payload, answer.sum);
    Ok(())
}
