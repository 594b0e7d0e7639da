//! Server and client of pingpong: an actor for each connection, which owns its stream.

use serde_json::json;
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;
use wigwag::io::{self, Accepted, Chunk, Event, Output};
use wigwag::{Actor, Life, Reason, This};

use crate::contract::{
    Failure, Orders, PayloadDraws, print_line, ready_and_go, ready_until_input_ends,
};

/// Bytes of a request and of a reply.
const TOKEN: usize = 4;

/// Takes the whole tokens out of what has come.
fn tokens(torn: &mut Vec<u8>, chunk: &[u8]) -> Vec<u32> {
    torn.extend_from_slice(chunk);
    let whole = torn.len() / TOKEN * TOKEN;
    let tokens = torn[..whole].as_chunks::<TOKEN>().0.iter().copied().map(u32::from_le_bytes);
    let tokens = tokens.collect();
    torn.drain(..whole);
    tokens
}

/// Accepts connections, and tells the account when all of them are over.
struct Server {
    connections: usize,
    over: usize,
    requests: u64,
    this: Option<ServerRef>,
}

#[wigwag::actor(life)]
impl Server {
    pub fn event(&mut self, event: Event<Accepted>) {
        if let (Event::Got(accepted), Some(server)) = (event, &self.this) {
            let stream = accepted.into_stream();
            drop(Answerer::new(stream, server.clone()).spawn());
        }
    }

    pub fn served(&mut self, requests: u64) {
        self.requests += requests;
        self.over += 1;
        if self.over == self.connections {
            // The lab sees a program without an account.
            let _ = print_line(&json!({ "requests": self.requests }).to_string());
        }
    }
}

impl Life for Server {
    async fn started(&mut self, this: &This<Self>) -> Result<(), Reason> {
        self.this = Some(this.reference());
        Ok(())
    }
}

/// A connection of the server.
struct Answerer {
    stream: Option<TcpStream>,
    output: Option<Output>,
    torn: Vec<u8>,
    requests: u64,
    server: ServerRef,
}

#[wigwag::actor(life)]
impl Answerer {
    pub async fn event(&mut self, event: Event<Chunk>) {
        let Event::Got(chunk) = event else {
            self.output = None;
            let _ = self.server.served(self.requests).tell().await;
            return;
        };
        let requests = tokens(&mut self.torn, &chunk);
        self.requests += requests.len() as u64;
        let replies: Vec<u8> = requests.into_iter().flat_map(|it| (!it).to_le_bytes()).collect();
        if let Some(output) = self.output.as_ref().filter(|_| !replies.is_empty()) {
            // A client that has gone is reported by the end of the input.
            let _ = output.write(replies).await;
        }
    }
}

impl Answerer {
    fn new(stream: TcpStream, server: ServerRef) -> Answerer {
        Answerer { stream: Some(stream), output: None, torn: Vec::new(), requests: 0, server }
    }
}

impl Life for Answerer {
    async fn started(&mut self, this: &This<Self>) -> Result<(), Reason> {
        let stream = self.stream.take().ok_or(Reason::failed("started twice"))?;
        stream.set_nodelay(true).map_err(Reason::failed)?;
        let delivered = io::chunks(stream).deliver(&this.reference(), AnswererRef::event);
        self.output = Some(delivered.map_err(Reason::failed)?.1);
        Ok(())
    }
}

pub(crate) fn serve(orders: &Orders) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let listener = TcpListener::bind(("127.0.0.1", orders.port)).await?;
        let port = listener.local_addr()?.port();
        let (connections, over, requests) = (orders.connections, 0, 0);
        let server = Server { connections, over, requests, this: None }.spawn();
        io::accept(listener).deliver(&server, ServerRef::event)?;
        ready_until_input_ends(port)?;
        std::future::pending().await
    })
}

/// Adds up what the connections of the client saw.
struct Replies {
    asking: usize,
    replies: u64,
    wrong: u64,
    done: Option<oneshot::Sender<(u64, u64)>>,
}

#[wigwag::actor]
impl Replies {
    pub fn heard(&mut self, replies: u64, wrong: u64) {
        self.replies += replies;
        self.wrong += wrong;
        self.asking -= 1;
        if self.asking == 0 {
            let counts = (self.replies, self.wrong);
            self.done.take().map(|done| done.send(counts));
        }
    }
}

/// A connection of the client.
struct Asker {
    stream: Option<TcpStream>,
    output: Option<Output>,
    torn: Vec<u8>,
    draws: PayloadDraws,
    due: u32,
    left: u64,
    counts: (u64, u64),
    replies: RepliesRef,
}

#[wigwag::actor(life)]
impl Asker {
    pub async fn begin(&mut self) {
        self.ask().await;
    }

    pub async fn event(&mut self, event: Event<Chunk>) {
        let Event::Got(chunk) = event else {
            self.output = None;
            let _ = self.replies.heard(self.counts.0, self.counts.1).tell().await;
            return;
        };
        for reply in tokens(&mut self.torn, &chunk) {
            self.counts.0 += 1;
            self.counts.1 += u64::from(reply != !self.due);
            self.ask().await;
        }
    }
}

impl Asker {
    /// Sends the next request, or says that there will be no more; the server closes in its turn.
    async fn ask(&mut self) {
        let Some(output) = self.output.as_ref().filter(|_| self.left > 0) else {
            self.output = None;
            return;
        };
        self.left -= 1;
        self.due = self.draws.next();
        // A server that has gone is reported by the end of the input.
        let _ = output.write(self.due.to_le_bytes().to_vec()).await;
    }
}

impl Life for Asker {
    async fn started(&mut self, this: &This<Self>) -> Result<(), Reason> {
        let stream = self.stream.take().ok_or(Reason::failed("started twice"))?;
        let delivered = io::chunks(stream).deliver(&this.reference(), AskerRef::event);
        self.output = Some(delivered.map_err(Reason::failed)?.1);
        Ok(())
    }
}

pub(crate) fn drive(orders: &Orders) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let (done, counts) = oneshot::channel();
        let (asking, done) = (orders.connections, Some(done));
        let replies = Replies { asking, replies: 0, wrong: 0, done }.spawn();
        let mut askers = Vec::new();
        for sender in 0..orders.connections {
            let stream = TcpStream::connect(("127.0.0.1", orders.port)).await?;
            stream.set_nodelay(true)?;
            let asker = Asker {
                stream: Some(stream),
                output: None,
                torn: Vec::new(),
                draws: PayloadDraws::of(orders.seed, sender as u32),
                due: 0,
                left: orders.messages,
                counts: (0, 0),
                replies: replies.clone(),
            };
            askers.push(asker.spawn());
        }
        ready_and_go()?;
        for asker in askers {
            asker.begin().tell().await?;
        }
        let (replies, wrong) = counts.await?;
        Ok(print_line(&json!({ "replies": replies, "wrong": wrong }).to_string())?)
    })
}

fn runtime() -> std::io::Result<Runtime> {
    Builder::new_multi_thread().worker_threads(2).enable_all().build()
}
