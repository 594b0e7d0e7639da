//! Cap'n Proto: calls, chains of calls that are sent before the first answer is there, streaming calls,
//! and objects of the client as capabilities, which the server calls.
//!
//! After the examples of capnp-rpc: `hello-world` (a two-party network over a TCP stream of Tokio, on
//! one thread, in a `LocalSet`), `calculator` (calls on the result of a call), and `pubsub` (the server
//! calls an object that a client has passed).
#![forbid(unsafe_code)]

use std::{cell::RefCell, env, net::Ipv4Addr, rc::Rc, time::Instant};

use capnp_rpc::{RpcSystem, rpc_twoparty_capnp::Side, twoparty::VatNetwork};
use futures::{AsyncReadExt, Future, StreamExt, stream::FuturesUnordered};
use peer_common::{Payloads, Replies, Result, RoundTrips, Seen, order, say};
use remote_capnp::{listener, office, remote};
use tokio::{
    net::{TcpListener, TcpStream},
    task::{LocalSet, spawn_local},
};
use tokio_util::compat::TokioAsyncReadCompatExt;

capnp::generated_code!(mod remote_capnp);

#[derive(Clone)]
struct Witness(Rc<RefCell<Seen>>);

impl Witness {
    fn accept(&self, number: u64, payload: u32) -> u64 {
        self.0.borrow_mut().accept(0, number, payload);
        number + u64::from(payload)
    }
}

impl remote::Server for Witness {
    async fn call_back(
        self: Rc<Self>,
        params: remote::CallBackParams,
        _: remote::CallBackResults,
    ) -> capnp::Result<()> {
        let params = params.get()?;
        let number = params.get_number();
        let sum = self.accept(number, params.get_payload());
        let mut heard = params.get_listener()?.hear_request();
        heard.get().set_number(number);
        heard.get().set_sum(sum);
        heard.send().promise.await?;
        Ok(())
    }

    async fn add(
        self: Rc<Self>,
        params: remote::AddParams,
        mut results: remote::AddResults,
    ) -> capnp::Result<()> {
        let params = params.get()?;
        results.get().set_sum(self.accept(params.get_number(), params.get_payload()));
        Ok(())
    }

    async fn office(
        self: Rc<Self>,
        _: remote::OfficeParams,
        mut results: remote::OfficeResults,
    ) -> capnp::Result<()> {
        let account = capnp_rpc::new_client(Witness::clone(&self));
        results.get().set_office(capnp_rpc::new_client(Office(account)));
        Ok(())
    }

    async fn tell(self: Rc<Self>, params: remote::TellParams) -> capnp::Result<()> {
        let params = params.get()?;
        self.accept(params.get_number(), params.get_payload());
        Ok(())
    }

    async fn account(
        self: Rc<Self>,
        _: remote::AccountParams,
        _: remote::AccountResults,
    ) -> capnp::Result<()> {
        say(&format!("{{{}}}", self.0.borrow().account()))
            .map_err(|error| capnp::Error::failed(error.to_string()))
    }
}

/// Knows the account.
struct Office(remote::Client);

impl office::Server for Office {
    async fn ledger(
        self: Rc<Self>,
        _: office::LedgerParams,
        mut results: office::LedgerResults,
    ) -> capnp::Result<()> {
        results.get().set_ledger(self.0.clone());
        Ok(())
    }
}

/// Holds what it hears against the messages, in their order: calls of one object stay in order.
struct Ear(RefCell<(Payloads, u64, Replies)>);

impl listener::Server for Ear {
    async fn hear(
        self: Rc<Self>,
        params: listener::HearParams,
        _: listener::HearResults,
    ) -> capnp::Result<()> {
        let params = params.get()?;
        let (payloads, next, replies) = &mut *self.0.borrow_mut();
        let payload = payloads.next().unwrap_or_default();
        let fits = params.get_number() == *next;
        let sum = params.get_sum();
        replies.count(sum, fits && sum == *next + u64::from(payload));
        *next += 1;
        Ok(())
    }
}

fn main() -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let local = LocalSet::new();
    match env::args().nth(1).as_deref() {
        Some("remote-server") => local.block_on(&runtime, server()),
        Some("remote-client") => local.block_on(&runtime, client()),
        role => Err(format!("no such role: {role:?}").into()),
    }
}

fn network(stream: TcpStream, side: Side) -> Result<Box<VatNetwork<impl futures::AsyncRead>>> {
    stream.set_nodelay(true)?;
    let (reader, writer) = stream.compat().split();
    let (reader, writer) =
        (futures::io::BufReader::new(reader), futures::io::BufWriter::new(writer));
    Ok(Box::new(VatNetwork::new(reader, writer, side, Default::default())))
}

async fn server() -> Result<()> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, order("PORT")?)).await?;
    peer_common::ready_and_stop_with_the_lab(listener.local_addr()?.port())?;
    let remote: remote::Client = capnp_rpc::new_client(Witness(Rc::new(RefCell::new(Seen::new(1)))));
    loop {
        let (stream, _) = listener.accept().await?;
        let network = network(stream, Side::Server)?;
        spawn_local(RpcSystem::new(network, Some(remote.client.clone())));
    }
}

async fn client() -> Result<()> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, order("PORT")?)).await?;
    let mut system = RpcSystem::new(network(stream, Side::Client)?, None);
    let remote: remote::Client = system.bootstrap(Side::Server);
    spawn_local(system);
    let (messages, window) = (order::<u64>("MESSAGES")?, order::<usize>("WINDOW")?);
    let payloads = Payloads::new(order("SEED")?, 0);
    // The object is there, and not only promised.
    remote.office_request().send().promise.await?;
    peer_common::ready_and_wait_for_go()?;
    let account = match order::<String>("CELL")?.as_str() {
        "callback" => call_back(&remote, messages, window, payloads).await?,
        "tell" | "naive" => tell(&remote, messages, payloads).await?,
        "ask" => ask(&remote, messages, window, payloads).await?,
        "naive-ask" => ask(&remote, messages, usize::MAX, payloads).await?,
        "rtt" => one_by_one(messages, payloads, |number, payload| {
            sum(add(&remote, number, payload))
        }).await?,
        "chain" => one_by_one(messages, payloads, |number, payload| {
            // All three are sent at once: each goes to the result of the one before.
            let office = remote.office_request().send().pipeline.get_office();
            let account = office.ledger_request().send().pipeline.get_ledger();
            sum(add(&account, number, payload))
        }).await?,
        "join" => together(&remote, messages, payloads).await?,
        cell => return Err(format!("no such cell: {cell}").into()),
    };
    remote.account_request().send().promise.await?;
    say(&account)
}

/// Keeps as many calls in flight as the window allows.
async fn in_flight<F, T>(
    calls: impl Iterator<Item = F>,
    window: usize,
    mut done: impl FnMut(T),
) -> Result<()>
where
    F: Future<Output = Result<T>>,
{
    let mut flying = FuturesUnordered::new();
    for call in calls {
        if flying.len() == window
            && let Some(ended) = flying.next().await
        {
            done(ended?);
        }
        flying.push(call);
    }
    while let Some(ended) = flying.next().await {
        done(ended?);
    }
    Ok(())
}

/// A call returns when the listener has returned, so everything was heard at the end.
async fn call_back(
    remote: &remote::Client,
    messages: u64,
    window: usize,
    payloads: Payloads,
) -> Result<String> {
    let due = Payloads::new(order("SEED")?, 0);
    let ear = Rc::new(Ear(RefCell::new((due, 0, Replies::default()))));
    let listener: listener::Client = capnp_rpc::new_client_from_rc(ear.clone());
    let calls = (0..messages).zip(payloads).map(|(number, payload)| {
        let mut request = remote.call_back_request();
        request.get().set_number(number);
        request.get().set_payload(payload);
        request.get().set_listener(listener.clone());
        async { Ok(drop(request.send().promise.await?)) }
    });
    in_flight(calls, window, drop).await?;
    let account = ear.0.borrow().2.account(RoundTrips::default());
    Ok(account)
}

type Adding = capnp::capability::RemotePromise<remote::add_results::Owned>;

fn add(remote: &remote::Client, number: u64, payload: u32) -> Adding {
    let mut request = remote.add_request();
    request.get().set_number(number);
    request.get().set_payload(payload);
    request.send()
}

async fn sum(adding: Adding) -> Result<u64> {
    Ok(adding.promise.await?.get()?.get_sum())
}

/// A streaming call returns when there is room for the next one.
async fn tell(remote: &remote::Client, messages: u64, payloads: Payloads) -> Result<String> {
    for (number, payload) in (0..messages).zip(payloads) {
        let mut request = remote.tell_request();
        request.get().set_number(number);
        request.get().set_payload(payload);
        request.send().await?;
    }
    Ok(format!(r#"{{"sent": {messages}}}"#))
}

async fn ask(
    remote: &remote::Client,
    messages: u64,
    window: usize,
    payloads: Payloads,
) -> Result<String> {
    let mut replies = Replies::default();
    let calls = (0..messages).zip(payloads).map(|(number, payload)| {
        let adding = add(remote, number, payload);
        async move { Ok((number, payload, sum(adding).await?)) }
    });
    in_flight(calls, window, |(number, payload, sum)| replies.hold(number, payload, sum)).await?;
    Ok(replies.account(RoundTrips::default()))
}

async fn one_by_one<F: Future<Output = Result<u64>>>(
    messages: u64,
    payloads: Payloads,
    call: impl Fn(u64, u32) -> F,
) -> Result<String> {
    let (mut replies, mut round_trips) = (Replies::default(), RoundTrips::default());
    for (number, payload) in (0..messages).zip(payloads) {
        let begun = Instant::now();
        let sum = call(number, payload).await?;
        round_trips.push(begun.elapsed());
        replies.hold(number, payload, sum);
    }
    Ok(replies.account(round_trips))
}

/// Eighty calls are awaited together, and timed as one.
async fn together(remote: &remote::Client, messages: u64, payloads: Payloads) -> Result<String> {
    const TOGETHER: usize = 80;
    let (mut replies, mut round_trips) = (Replies::default(), RoundTrips::default());
    let numbered: Vec<(u64, u32)> = (0..messages).zip(payloads).collect();
    for asked in numbered.chunks(TOGETHER) {
        let begun = Instant::now();
        let adding = asked.iter().map(|(number, payload)| sum(add(remote, *number, *payload)));
        let sums = futures::future::try_join_all(adding).await?;
        round_trips.push(begun.elapsed());
        for ((number, payload), sum) in asked.iter().zip(sums) {
            replies.hold(*number, *payload, sum);
        }
    }
    Ok(replies.account(round_trips))
}
