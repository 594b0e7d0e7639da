//! Requests and surveys: what a connection asks, and the answers.
//!
//! At most [`SP_CLIENT_CALLS_MAX`] requests of a connection are without an answer. The next one is
//! not taken from the socket, which then stops reading. The sockets are raw: the way back is in the
//! request's header, so any number may be answered in any order, and a survey many times.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::task::JoinSet;
use wigwag_actor::{CallErrorKind, Exported, Schema};
use wigwag_net::socket::raw::{RawMessage, Rep, Respondent};
use wigwag_net::socket::{AcceptedConnection, QueueLength, SocketError};
use wigwag_net::source::Source;

use super::request::{self, Form, Request};
use super::{SpClients, Stage};
use crate::limits::{
    SP_ANSWER_BYTES_MAX, SP_ANSWERS_BYTES_MAX, SP_ASK_MAX, SP_CLIENT_CALLS_MAX, SURVEY_MEMBERS_MAX,
};
use crate::proxy::asks::too_large;
use crate::proxy::calls::{ClientCalls, Terms};
use crate::proxy::failure::Failure;
use crate::proxy::identity::ClientIdentity;

/// A raw socket that answers.
pub(crate) trait Answerer: Send + Sync + 'static {
    fn new() -> Self;

    fn serve(&self, accepted: AcceptedConnection) -> impl Future<Output = ()> + Send;

    fn recv(&self) -> impl Future<Output = Result<RawMessage, SocketError>> + Send;

    /// Sends an answer if the connection is still there.
    fn answer(&self, answer: RawMessage);

    fn close(&self) -> impl Future<Output = ()> + Send;

    /// The actors that a request for `name` is for.
    fn targets(clients: &SpClients, name: &str) -> Result<Vec<Arc<dyn Exported>>, Failure>;

    /// Whether this outcome is sent.
    fn is_sent(outcome: &Result<Vec<u8>, Failure>) -> bool;
}

macro_rules! answerer {
    ($socket:ident, $targets:expr, $is_sent:expr) => {
        impl Answerer for $socket {
            fn new() -> $socket {
                let socket = $socket::new();
                if let Ok(length) = QueueLength::new(SP_CLIENT_CALLS_MAX) {
                    socket.set_receive_queue(length);
                }
                socket
            }

            async fn serve(&self, accepted: AcceptedConnection) {
                // The socket has logged an error, and the connection is closed.
                let _ = $socket::serve(self, accepted).await;
            }

            async fn recv(&self) -> Result<RawMessage, SocketError> {
                $socket::recv(self).await
            }

            fn answer(&self, answer: RawMessage) {
                // The socket counts what it drops.
                let _ = self.try_send(answer);
            }

            async fn close(&self) {
                $socket::close(self).await;
            }

            fn targets(clients: &SpClients, name: &str) -> Result<Vec<Arc<dyn Exported>>, Failure> {
                $targets(clients, name)
            }

            fn is_sent(outcome: &Result<Vec<u8>, Failure>) -> bool {
                $is_sent(outcome)
            }
        }
    };
}

answerer!(Rep, |clients: &SpClients, name: &str| Ok(vec![clients.actor(name)?]), |_: &_| true);
answerer!(Respondent, SpClients::surveyed, |outcome: &_| !is_absence(outcome));

/// A survey goes to many nodes and actors. Those that are not there, or cannot answer in its time,
/// are silent.
fn is_absence(outcome: &Result<Vec<u8>, Failure>) -> bool {
    use CallErrorKind as K;
    let Err(Failure::Call(kind, _)) = outcome else { return false };
    matches!(kind, K::NoSuchActor | K::ActorStopped | K::Draining | K::DeadlinePassed)
}

/// Answers the requests of a connection until it ends.
pub(crate) async fn serve<S: Answerer>(
    clients: Arc<SpClients>,
    accepted: AcceptedConnection,
    source: Source,
    identity: ClientIdentity,
) {
    let calls = ClientCalls::new(identity, clients.rejected_tells(), Terms::SP_CLIENT);
    let socket = S::new();
    let unread = Arc::default();
    let client = Arc::new(Client { clients, calls, source, socket, unread });
    tokio::select! {
        () = client.socket.serve(accepted) => {}
        () = client.answer_all() => {}
    }
}

/// One connection that asks.
struct Client<S> {
    clients: Arc<SpClients>,
    calls: ClientCalls,
    source: Source,
    socket: S,
    /// Bytes of answers that are not written yet.
    unread: Arc<AtomicUsize>,
}

impl<S: Answerer> Client<S> {
    /// Answers requests until the node closes, and then those that have begun.
    async fn answer_all(self: &Arc<Client<S>>) {
        // Dropping it ends the tasks: nobody waits for the answers any more.
        let mut requests = JoinSet::new();
        let mut closing = pin!(self.clients.reached(Stage::Closing));
        loop {
            tokio::select! {
                biased;
                () = &mut closing => break,
                Some(_) = requests.join_next() => {}
                request = self.socket.recv(), if requests.len() < SP_CLIENT_CALLS_MAX => {
                    let Ok(request) = request else { break };
                    let held = self.calls.room(request.body.len()).await;
                    requests.spawn(self.clone().answer(request, held));
                }
            }
        }
        while requests.join_next().await.is_some() {}
        self.socket.close().await;
    }

    /// Answers one request.
    async fn answer(self: Arc<Client<S>>, request: RawMessage, held: Option<OwnedSemaphorePermit>) {
        self.clients.count_request();
        let (form, read) = request::read(&request.body);
        let header = &request.header;
        let found = read.and_then(|read| Ok((S::targets(&self.clients, &read.actor)?, read)));
        match found {
            Ok((targets, read)) if targets.len() == 1 => {
                let call = read.call(targets[0].schema(), self.calls.identity()).map(Arc::new);
                self.ask(&targets[0], call, form, header).await;
            }
            Ok((targets, read)) => {
                let mut calls = Vec::new();
                let mut asks = JoinSet::new();
                for target in targets.into_iter().take(SURVEY_MEMBERS_MAX) {
                    let call = call_once(&mut calls, target.schema(), &read, self.calls.identity());
                    let (client, header) = (self.clone(), header.clone());
                    asks.spawn(async move { client.ask(&target, call, form, &header).await });
                }
                while asks.join_next().await.is_some() {}
            }
            Err(failure) => self.send(form, header, Err(failure)),
        }
        drop(held);
    }

    /// Asks one actor, and sends its answer.
    async fn ask(&self, target: &Arc<dyn Exported>, call: EncodedCall, form: Form, header: &Bytes) {
        let outcome = match (call, self.clients.asks.take(&self.source)) {
            (Ok(call), Some(_share)) => self.calls.ask(target, (call.0, &call.1), SP_ASK_MAX).await,
            (Err(failure), _) => Err(failure),
            (_, None) => {
                let text = "the node has as many asks of SP clients as it may have";
                Err(Failure::call(CallErrorKind::Overloaded, text))
            }
        };
        self.send(form, header, outcome);
    }

    fn send(&self, form: Form, header: &Bytes, outcome: Result<Vec<u8>, Failure>) {
        if !S::is_sent(&outcome) {
            return;
        }
        let answer = request::answer(form, outcome.as_deref());
        let error = |failure: Failure| request::answer(form, Err(&failure));
        let answer = match answer.len() {
            0..=SP_ANSWER_BYTES_MAX => answer,
            bytes => error(too_large(bytes, SP_ANSWER_BYTES_MAX)),
        };
        let body = Unread::of(answer, &self.unread).unwrap_or_else(|| {
            let text = "the answers of this connection are not read";
            error(Failure::call(CallErrorKind::Overloaded, text)).into()
        });
        self.socket.answer(RawMessage { header: header.clone(), body });
    }
}

/// The number of a method and the arguments, or why the actor has no such call.
type EncodedCall = Result<Arc<(u32, Vec<u8>)>, Failure>;

/// The call for actors with this schema; the members of a group have few schemas, most of them one.
fn call_once(
    calls: &mut Vec<(u64, EncodedCall)>,
    schema: &'static Schema,
    request: &Request<'_>,
    client: &ClientIdentity,
) -> EncodedCall {
    if let Some((_, call)) = calls.iter().find(|(hash, _)| *hash == schema.hash) {
        return call.clone();
    }
    let call = request.call(schema, client).map(Arc::new);
    calls.push((schema.hash, call.clone()));
    call
}

/// An answer that counts until it is written.
struct Unread {
    bytes: Vec<u8>,
    unread: Arc<AtomicUsize>,
}

impl Unread {
    /// The answer as the body of a message. `None` if the connection has too many unread ones.
    fn of(bytes: Vec<u8>, unread: &Arc<AtomicUsize>) -> Option<Bytes> {
        // Relaxed: no other memory is published through this number.
        let before = unread.fetch_add(bytes.len(), Ordering::Relaxed);
        let answer = Unread { bytes, unread: unread.clone() };
        (before < SP_ANSWERS_BYTES_MAX).then(|| Bytes::from_owner(answer))
    }
}

impl AsRef<[u8]> for Unread {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Unread {
    fn drop(&mut self) {
        self.unread.fetch_sub(self.bytes.len(), Ordering::Relaxed);
    }
}
