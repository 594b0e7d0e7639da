//! tonic (gRPC): one client stream carries the tells, one bidirectional stream the asks.
//!
//! After tonic's examples, the `routeguide` tutorial ("Client-side streaming RPC", "Bidirectional
//! streaming RPC", whose request streams are made by `async-stream`).
#![forbid(unsafe_code)]

use std::{
    env,
    net::Ipv4Addr,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::Instant,
};

use peer_common::{Payloads, Replies, Result, RoundTrips, Seen, order, say};
use remote::{
    Answer, Done, Number,
    remote_client::RemoteClient,
    remote_server::{Remote, RemoteServer},
};
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::{Stream, StreamExt, wrappers::ReceiverStream};
use tonic::{
    Request, Response, Status, Streaming,
    transport::{Channel, Server, server::TcpIncoming},
};

mod remote {
    tonic::include_proto!("remote");
}

/// Tells of the naive loop that wait for the connection.
const QUEUE_MESSAGES_MAX: usize = peer_common::CHANNEL_MESSAGES_MAX;

#[derive(Clone)]
struct Witness {
    seen: Arc<Mutex<Seen>>,
}

impl Witness {
    fn accept(&self, message: Number) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.accept(0, message.number, message.payload);
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

    async fn account(&self, _: Request<Done>) -> std::result::Result<Response<Done>, Status> {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        say(&format!("{{{}}}", seen.account()))
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
    let witness = Witness { seen: Arc::new(Mutex::new(Seen::new(1))) };
    let router = Server::builder().add_service(RemoteServer::new(witness));
    Ok(router.serve_with_incoming(incoming).await?)
}

async fn client() -> Result<()> {
    let port: u16 = order("PORT")?;
    let (messages, window) = (order::<u64>("MESSAGES")?, order::<u32>("WINDOW")?);
    let payloads = Payloads::new(order("SEED")?, 0);
    let numbered = (0..messages).zip(payloads).map(|(number, payload)| Number { number, payload });
    let mut client = RemoteClient::connect(format!("http://127.0.0.1:{port}")).await?;
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
