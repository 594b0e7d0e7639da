//! The ways of sessions into the node: upgrades to WebSocket, and carriers of long polls.

pub(crate) mod carrier;

use std::sync::Arc;

use tokio::sync::{Mutex, OnceCell, mpsc};
use wigwag::access::Principal;
use wigwag::transport::{
    Boxed, Connection, HttpEndpoint, ListenOptions, Listener, NetError, NetErrorKind,
    WsListenOptions,
};
use wigwag::{Address, Node, NodeError};

use crate::limits::CARRIERS_MAX;
use carrier::Carriers;

/// The path of sessions.
pub(crate) const PATH: &str = "/session";

/// The ways of sessions into the node, from the first session on.
#[derive(Default)]
pub(crate) struct Sessions(OnceCell<Entrances>);

pub(crate) struct Entrances {
    pub(crate) websocket: HttpEndpoint,
    pub(crate) carriers: Arc<Carriers>,
}

impl Sessions {
    pub(crate) async fn entrances(&self, node: &Node) -> Result<&Entrances, NodeError> {
        self.0.get_or_try_init(|| Entrances::open(node)).await
    }
}

impl Entrances {
    async fn open(node: &Node) -> Result<Entrances, NodeError> {
        // The gateway checks who reaches it, and the origin of each request.
        let websocket = HttpEndpoint::new(PATH)?.local();
        let ws = WsListenOptions::default().allow_any_origin();
        let options = ListenOptions::default().ws(ws);
        node.listen_with(&websocket.address().to_string(), options).await?;
        let (sender, arrivals) = mpsc::channel(CARRIERS_MAX);
        let address = Address::new("http", PATH);
        let listener = CarrierListener { arrivals: Mutex::new(arrivals), address };
        node.listen_on(Box::new(listener), ListenOptions::default())?;
        Ok(Entrances { websocket, carriers: Carriers::new(sender) })
    }
}

/// Hands the carriers of long polls to the node.
struct CarrierListener {
    arrivals: Mutex<mpsc::Receiver<Connection>>,
    address: Address,
}

impl Listener for CarrierListener {
    fn address(&self) -> &Address {
        &self.address
    }

    fn accept(&self) -> Boxed<'_, Result<Connection, NetError>> {
        Box::pin(async move {
            let arrived = self.arrivals.lock().await.recv().await;
            // The gateway is gone, and no more carriers come.
            arrived.ok_or_else(|| NetError::new(&self.address, NetErrorKind::ClosedHere))
        })
    }

    fn has_ended(&self) -> bool {
        self.arrivals.try_lock().is_ok_and(|arrivals| arrivals.is_closed() && arrivals.is_empty())
    }

    fn is_local(&self) -> bool {
        true
    }

    fn takes_descriptors(&self) -> bool {
        false
    }
}

/// The name that a gateway vouches for, of an identity that a token stands for.
pub(crate) fn vouched_name(principal: &Principal) -> Option<Arc<str>> {
    match principal {
        Principal::Key(name) => Some(name.clone()),
        _ => None,
    }
}
