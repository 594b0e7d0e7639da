//! Publishing: what actors say to the sub sockets that follow them.
//!
//! All subscribers of a node share one pub socket, so a value is encoded once, however many follow.
//! A sub never says what it has subscribed to, so each gets everything and filters it itself.

use std::sync::{Arc, Weak};

use wigwag_actor::{PublishError, Publisher};
use wigwag_net::socket::AcceptedConnection;
use wigwag_wire::Buffer;
use wigwag_wire::small::DynEncode;

use super::SpClients;
use crate::json;
use crate::limits::SP_ANSWER_BYTES_MAX;
use crate::session::references::scope;

/// Publishes for one exported actor.
struct ActorPublisher {
    /// The name of the export.
    name: String,
    clients: Weak<SpClients>,
}

impl Publisher for ActorPublisher {
    fn publish(&self, topic: &str, value: &dyn DynEncode) -> Result<(), PublishError> {
        let Some(clients) = self.clients.upgrade() else { return Ok(()) };
        let Some(publisher) = clients.publisher.get() else { return Ok(()) };
        if publisher.statistics().pipes_open == 0 {
            return Ok(());
        }
        let mut encoded = Buffer::new();
        if !scope::encode_without(&mut encoded, |out| value.encode(out)) {
            return Err(PublishError::NotSerializable);
        }
        let value = json::text(encoded.as_slice()).map_err(|_| PublishError::NotSerializable)?;
        let line = format!("{}/{topic} {value}", self.name);
        if line.len() > SP_ANSWER_BYTES_MAX {
            return Err(PublishError::TooLarge { bytes: line.len(), most: SP_ANSWER_BYTES_MAX });
        }
        // Never refused, unless the node has closed: then nobody follows any more.
        let _ = publisher.try_send(line);
        Ok(())
    }
}

impl SpClients {
    /// The publisher of an actor that is exported under `name`.
    pub(crate) fn publisher_for(self: &Arc<SpClients>, name: &str) -> Arc<dyn Publisher> {
        Arc::new(ActorPublisher { name: name.to_owned(), clients: Arc::downgrade(self) })
    }

    /// Sends a subscriber what is published until its connection ends.
    pub(super) async fn serve_subscriber(&self, accepted: AcceptedConnection) {
        // The socket has logged an error, and the connection is closed.
        let _ = self.publisher.get_or_init(Default::default).serve(accepted).await;
    }
}
