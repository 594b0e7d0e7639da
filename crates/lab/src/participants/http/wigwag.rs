//! The server of http: an actor with one method, behind the gateway.

use tokio::runtime::Builder;
use wigwag::{Actor, Message, Node};
use wigwag_gateway::{Gateway, GatewayOptions};

use crate::contract::{Failure, ready_until_input_ends};

#[derive(Clone, Message)]
pub(super) struct Document {
    id: u64,
}

struct Documents;

#[wigwag::actor]
impl Documents {
    #[wigwag(get = "/")]
    pub fn document(&self) -> Document {
        Document { id: 1 }
    }
}

pub(crate) fn serve() -> Result<(), Failure> {
    let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    runtime.block_on(async {
        let node = Node::new();
        node.export("documents", &Documents.spawn())?;
        let options = GatewayOptions::default().repeat_header("token");
        let gateway = Gateway::with(&node, options);
        let bound = gateway.listen("http://127.0.0.1:0").await?;
        let port = bound.rest().rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        ready_until_input_ends(port.unwrap_or_default())?;
        std::future::pending().await
    })
}
