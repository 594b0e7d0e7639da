//! Tells: what a push socket sends.
//!
//! Each message is a request without an answer. They are handed over one after the other, so an
//! actor handles those of a connection in their order. When an actor has no room, nothing more is
//! read from the connection.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::Notify;
use wigwag_net::socket::{AcceptedConnection, Pull};

use super::{SpClients, Stage, request};
use crate::proxy::calls::{ClientCalls, Terms};
use crate::proxy::failure::Failure;
use crate::proxy::identity::ClientIdentity;

/// Messages that a pull socket holds for the node when its connection has ended.
const LEFT_MAX: usize = wigwag_sp::limits::INBOX_MESSAGES_MAX;

/// Hands over the messages of a connection until it ends, also those that came before its end.
pub(crate) async fn serve(
    clients: Arc<SpClients>,
    accepted: AcceptedConnection,
    identity: ClientIdentity,
) {
    let calls = ClientCalls::new(identity, clients.rejected_tells(), Terms::SP_CLIENT);
    let (pull, ended) = (Pull::new(), Notify::new());
    let serving = async {
        // The socket has logged an error, and the connection is closed.
        let _ = pull.serve(accepted).await;
        ended.notify_one();
    };
    let telling = async {
        let mut closing = pin!(clients.reached(Stage::Closing));
        loop {
            tokio::select! {
                biased;
                () = &mut closing => break,
                message = pull.recv() => match message {
                    Ok(message) => tell(&clients, &calls, &message).await,
                    Err(_) => break,
                },
                () = ended.notified() => break,
            }
        }
        // A peer may go as soon as it has sent. A peer that sends on while the node closes
        // is not waited for.
        for _ in 0..LEFT_MAX {
            let Ok(message) = pull.try_recv() else { break };
            tell(&clients, &calls, &message).await;
        }
        pull.close().await;
    };
    tokio::join!(serving, telling);
}

async fn tell(clients: &SpClients, calls: &ClientCalls, message: &[u8]) {
    clients.count_tell();
    if let Err(failure) = try_tell(clients, calls, message).await {
        calls.rejected().add(&failure.text());
    }
}

async fn try_tell(clients: &SpClients, calls: &ClientCalls, message: &[u8]) -> Result<(), Failure> {
    let request = request::read(message).1?;
    let actor = clients.actor(&request.actor)?;
    let (method, arguments) = request.call(actor.schema(), calls.identity())?;
    let held = calls.room(message.len()).await;
    calls.tell(&actor, (method, &arguments), held).await
}
