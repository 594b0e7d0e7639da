//! The gateway's own server: listeners, and one task for each connection.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::task::{JoinHandle, JoinSet};
use wigwag::Address;
use wigwag::transport::{self, Connection, ListenOptions, Listener};
use wigwag_net::acceptor::Acceptor;
use wigwag_net::places::Place;
use wigwag_net::source::Source;

use crate::client::Client;
use crate::client::steal::{ConnectionIo, Stealable};
use crate::error::GatewayError;
use crate::limits::{HEAD_BYTES_MAX, HEAD_TIME, STREAMS_MAX};
use crate::shared::{Inner, Stage};

/// Listens at an address, and returns it as the gateway spells it.
pub(crate) async fn bind(
    gateway: &Inner,
    address: &str,
) -> Result<(Box<dyn Listener>, Address), GatewayError> {
    let is_secure = address.starts_with("https://");
    let (scheme, below) = match address.split_once("://") {
        Some(("http", rest)) => (Some("http"), format!("tcp://{}", rest.trim_end_matches('/'))),
        Some(("https", rest)) => {
            (Some("https"), format!("tls+tcp://{}", rest.trim_end_matches('/')))
        }
        _ => (None, address.to_owned()),
    };
    let mut options = ListenOptions::default();
    match (&gateway.options.tls, is_secure) {
        (Some(tls), true) => options = options.tls(tls.clone()),
        (None, true) => return Err(GatewayError::NoCertificate { address: address.to_owned() }),
        (_, false) => {}
    }
    let below: Address = below.parse()?;
    let listener = transport::listen(&below, options).await?;
    let bound = match scheme {
        Some(scheme) => Address::new(scheme, listener.address().rest()),
        None => listener.address().clone(),
    };
    let checks_certificates =
        is_secure && gateway.options.tls.as_ref().is_some_and(|tls| tls.checks_clients());
    let checks_tokens =
        is_secure && gateway.options.has_tokens() && !gateway.options.allows_anonymous;
    let is_protected = listener.is_local() || checks_certificates || checks_tokens;
    if !is_protected && !gateway.options.is_insecure {
        return Err(GatewayError::Unprotected { address: bound.to_string() });
    }
    Ok((listener, bound))
}

/// Accepts connections until the gateway closes, and waits for those that are open.
pub(crate) async fn serve(gateway: Arc<Inner>, listener: Box<dyn Listener>, bound: Address) {
    let is_loopback = listener.is_local();
    let mut acceptor = Acceptor::new(listener);
    let mut connections = JoinSet::new();
    let mut closing = pin!(gateway.reached(Stage::Closing));
    loop {
        tokio::select! {
            biased;
            () = &mut closing => break,
            Some(_) = connections.join_next() => {}
            // An error concerns one connection, and the acceptor has logged it if that matters.
            accepted = acceptor.accept(&*gateway.connections) => match accepted {
                Ok(connection) => {
                    connections.spawn(serve_connection(gateway.clone(), connection, is_loopback));
                }
                Err(_) if acceptor.has_ended() => break,
                Err(_) => {}
            },
        }
    }
    drop(acceptor);
    tracing::debug!(%bound, open = connections.len(), "the gateway closes a listener");
    let ending = async { while connections.join_next().await.is_some() {} };
    tokio::select! {
        () = ending => {}
        () = gateway.reached(Stage::Closed) => {}
    }
}

async fn serve_connection(gateway: Arc<Inner>, connection: Connection, is_loopback: bool) {
    let place = gateway.connections.enter(Source::of(&connection));
    let _counted = Counted::new(&gateway);
    let stall_time = gateway.options.get_stall_time();
    let connection = Arc::new(Stealable::new(connection, stall_time));
    let client = Arc::new(Client::new(connection.clone(), is_loopback));
    let watched = client.clone();
    let io = TokioIo::new(ConnectionIo::new(connection.clone()));
    // One count for both, which no other connection shares: a count of the gateway's for each request
    // would have every processor write to the same memory.
    let answering = Arc::new((gateway.clone(), client));
    let service = service_fn(|request| {
        let answering = answering.clone();
        async move {
            let (gateway, client) = &*answering;
            let begun = client.activity.begin();
            // By reference: a function that takes a request moves it once more.
            let response = match &gateway.router {
                None => {
                    let (parts, mut body) = request.into_parts();
                    gateway.handle(client, &parts, &mut body).await
                }
                Some(router) => Box::pin(gateway.route(router, client, request)).await,
            };
            Ok::<_, Infallible>(response.map(|body| body.holding(begun)))
        }
    });
    let builder = builder();
    let mut serving = pin!(builder.serve_connection(io, service));
    // A task of its own waits for what is rare: polled here with each request, it costs a tenth of it.
    let shared = connection.clone();
    let watch = Watch { gateway: gateway.clone(), place, connection, client: watched };
    let watch = OnDrop(tokio::spawn(watch.run()));
    let mut watching = pin!(watch);
    let mut is_closing = false;
    loop {
        // An error is one of the client: it has sent what is no request, or has gone.
        let served = poll_fn(|context| match serving.as_mut().poll(context) {
            Poll::Ready(_) => Poll::Ready(()),
            // Bytes that were written meanwhile leave now.
            Poll::Pending => match shared.output.poll_sent(context) {
                Poll::Ready(Err(_)) => Poll::Ready(()),
                _ => Poll::Pending,
            },
        });
        tokio::select! {
            biased;
            () = served => return,
            event = &mut watching.0, if !is_closing => match event {
                Ok(Event::Closing) => {
                    is_closing = true;
                    serving.as_mut().graceful_shutdown();
                }
                // The upgrade that has taken it goes on with it.
                Ok(Event::Stolen) => return,
                _ => break,
            },
        }
    }
    gateway.counters.dropped_connections.fetch_add(1, Ordering::Relaxed);
}

/// An event that ends a connection, or changes what it does.
enum Event {
    Stolen,
    /// It gives way to another one, or no head has come in time.
    Dropped,
    Closing,
}

/// Waits for the end of a connection.
struct Watch {
    gateway: Arc<Inner>,
    place: Place,
    connection: Arc<Stealable>,
    client: Arc<Client>,
}

impl Watch {
    async fn run(self) -> Event {
        let Watch { gateway, place, connection, client } = self;
        let (head_time, output) = (gateway.options.get_head_time(), &connection.output);
        tokio::select! {
            () = connection.stolen() => Event::Stolen,
            () = place.evicted() => Event::Dropped,
            () = gateway.reached(Stage::Closing) => Event::Closing,
            () = client.activity.stands_still(head_time, || output.last_wait()) => Event::Dropped,
        }
    }
}

/// Ends a task with its owner.
struct OnDrop<T>(JoinHandle<T>);

impl<T> Drop for OnDrop<T> {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn builder() -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        // The client's own time for a head stands in place of a timer for each request.
        .header_read_timeout(None)
        // `HEADERS_MAX` is the default.
        .max_buf_size(HEAD_BYTES_MAX);
    builder
        .http2()
        .timer(TokioTimer::new())
        .max_concurrent_streams(STREAMS_MAX)
        .max_header_list_size(HEAD_BYTES_MAX as u32)
        .keep_alive_interval(HEAD_TIME / 3);
    builder
}

/// Counts a connection while it is open.
struct Counted<'a>(&'a Inner);

impl<'a> Counted<'a> {
    fn new(gateway: &'a Inner) -> Counted<'a> {
        gateway.counters.connections.fetch_add(1, Ordering::Relaxed);
        Counted(gateway)
    }
}

impl Drop for Counted<'_> {
    fn drop(&mut self) {
        self.0.counters.connections.fetch_sub(1, Ordering::Relaxed);
    }
}
