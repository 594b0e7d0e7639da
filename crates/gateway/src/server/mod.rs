//! The gateway's own server: listeners, and one task for each connection.

pub(crate) mod steal;

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::task::JoinSet;
use tokio::time::sleep;
use wigwag::Address;
use wigwag::transport::{self, Connection, ListenOptions, Listener};
use wigwag_net::acceptor::Acceptor;
use wigwag_net::source::Source;

use crate::error::GatewayError;
use crate::gateway::{Inner, Stage};
use crate::limits::{FIRST_HEAD_TIME, HEAD_BYTES_MAX, HEAD_TIME, HEADERS_MAX, STREAMS_MAX};
use crate::request::client::Client;
use steal::{ConnectionIo, Stealable};

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
            accepted = acceptor.accept(&*gateway.connections) => if let Ok(connection) = accepted {
                connections.spawn(serve_connection(gateway.clone(), connection, is_loopback));
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
    let connection = Arc::new(Stealable::new(connection));
    let client = Arc::new(Client::new(connection.clone(), is_loopback));
    let io = TokioIo::new(ConnectionIo::new(connection.clone(), gateway.options.get_stall_time()));
    let service = service_fn(|request| {
        let (gateway, client) = (gateway.clone(), client.clone());
        async move {
            client.begin();
            Ok::<_, Infallible>(gateway.answer(&client, request).await)
        }
    });
    let builder = builder(gateway.options.get_head_time());
    let mut serving = pin!(builder.serve_connection(io, service));
    let mut closing = pin!(gateway.reached(Stage::Closing));
    let mut first_head = pin!(sleep(FIRST_HEAD_TIME.min(gateway.options.get_head_time())));
    let (mut is_closing, mut is_awaited) = (false, true);
    loop {
        tokio::select! {
            biased;
            // What has taken it goes on with it.
            () = connection.stolen() => return,
            // An error is one of the client: it has sent what is no request, or has gone.
            _ = &mut serving => return,
            () = place.evicted() => break,
            () = &mut closing, if !is_closing => {
                is_closing = true;
                serving.as_mut().graceful_shutdown();
            }
            () = &mut first_head, if is_awaited => {
                is_awaited = false;
                if !client.has_begun() {
                    break;
                }
            }
        }
    }
    gateway.counters.dropped_connections.fetch_add(1, Ordering::Relaxed);
}

fn builder(head_time: Duration) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(head_time)
        .max_buf_size(HEAD_BYTES_MAX)
        .max_headers(HEADERS_MAX)
        .pipeline_flush(true);
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
