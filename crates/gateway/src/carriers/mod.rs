//! The ways of sessions into the node: upgrades to WebSocket, and carriers of long polls.

pub(crate) mod carrier;

use std::sync::Arc;

use tokio::sync::{Mutex, OnceCell, mpsc};
use wigwag::access::Principal;
use wigwag::transport::{
    Boxed, Connection, HttpEndpoint, ListenOptions, Listener, NetError, WsListenOptions,
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
    node: Node,
    pub(crate) websocket: HttpEndpoint,
    pub(crate) carriers: Arc<Carriers>,
}

impl Sessions {
    pub(crate) async fn entrances(&self, node: &Node) -> Result<&Entrances, NodeError> {
        self.0.get_or_try_init(|| Entrances::open(node)).await
    }

    /// The node listens there no longer, and carriers end. Sessions over WebSocket go on.
    pub(crate) fn end(&self) {
        self.0.get().inspect(|entrances| entrances.end());
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
        let entrances =
            Entrances { node: node.clone(), websocket, carriers: Carriers::new(sender) };
        let address = entrances.carrier_address();
        let listener = CarrierListener { arrivals: Mutex::new(arrivals), address };
        node.listen_on(Box::new(listener), ListenOptions::default())?;
        Ok(entrances)
    }

    /// The address at which the node takes carriers, which no other gateway has.
    fn carrier_address(&self) -> Address {
        Address::new("http", self.websocket.address().rest())
    }

    fn end(&self) {
        for address in [self.websocket.address(), &self.carrier_address()] {
            drop(self.node.stop_listening(address));
        }
        self.carriers.close_all();
    }
}

impl Drop for Entrances {
    fn drop(&mut self) {
        self.end();
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
            match self.arrivals.lock().await.recv().await {
                Some(arrived) => Ok(arrived),
                // The gateway is gone, and no more carriers come.
                None => std::future::pending().await,
            }
        })
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
