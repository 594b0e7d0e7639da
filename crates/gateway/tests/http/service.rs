//! The actors behind the gateway of the tests.

use std::sync::Arc;

use tokio::sync::Semaphore;
use wigwag::{Actor, Items, Message, Node, NodeOptions, Responder, This, Yield};
use wigwag_gateway::{Gateway, GatewayOptions};

/// An order.
#[derive(Clone, Debug, PartialEq, Message)]
pub(crate) struct Order {
    pub(crate) id: u64,
    pub(crate) item: String,
    pub(crate) state: State,
    pub(crate) note: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Message)]
pub(crate) enum State {
    Open,
    Sent { carrier: String },
    Lost(u8),
}

#[derive(Default)]
pub(crate) struct Desk {
    orders: Vec<Order>,
    told: Vec<u64>,
    /// Permits let `hold` go on.
    gate: Option<Arc<Semaphore>>,
    waiting: Vec<Responder<u64>>,
}

impl Desk {
    /// A desk whose method `hold` waits for a permit.
    pub(crate) fn held(gate: &Arc<Semaphore>) -> Desk {
        Desk { gate: Some(gate.clone()), ..Desk::default() }
    }
}

/// A desk that takes orders.
#[wigwag::actor]
impl Desk {
    /// The sum of both.
    pub fn add(&self, a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }

    pub fn greet(&self, name: String, times: Option<u8>) -> String {
        vec![format!("hello {name}"); times.unwrap_or(1).into()].join(", ")
    }

    pub fn note(&mut self, number: u64) {
        self.told.push(number);
    }

    pub fn noted(&self) -> Vec<u64> {
        self.told.clone()
    }

    pub fn echo(&self, order: Order) -> Order {
        order
    }

    pub fn check(&self, state: State) -> Result<State, String> {
        match state {
            State::Lost(_) => Err("lost".into()),
            state => Ok(state),
        }
    }

    /// An order by its number.
    #[wigwag(get = "/orders/{id}")]
    pub fn order(&self, id: u64) -> Option<Order> {
        self.orders.iter().find(|order| order.id == id).cloned()
    }

    #[wigwag(get = "/orders")]
    pub fn search(&self, item: Option<String>, most: Option<u16>) -> Vec<Order> {
        let most = most.unwrap_or(u16::MAX).into();
        let is_it = |order: &&Order| item.as_ref().is_none_or(|item| order.item == *item);
        self.orders.iter().filter(is_it).take(most).cloned().collect()
    }

    #[wigwag(post = "/orders", put = "/orders/{id}")]
    pub fn place(&mut self, id: u64, item: String, note: Option<String>) -> u64 {
        self.orders.retain(|order| order.id != id);
        self.orders.push(Order { id, item, state: State::Open, note });
        id
    }

    #[wigwag(patch = "/orders/{id}/state")]
    pub fn set(&mut self, id: u64, state: State) -> bool {
        let order = self.orders.iter_mut().find(|order| order.id == id);
        order.map(|order| order.state = state).is_some()
    }

    #[wigwag(put = "/marks/{id}")]
    pub fn mark(&self, id: u64, marks: Vec<u64>) -> usize {
        let _ = id;
        marks.len()
    }

    #[wigwag(delete = "/orders/{id}")]
    pub fn remove(&mut self, id: u64) -> bool {
        let before = self.orders.len();
        self.orders.retain(|order| order.id != id);
        self.orders.len() < before
    }

    /// The numbers below `end`.
    pub async fn count(&mut self, end: u64, mut items: Yield<u64>) {
        for number in 0..end {
            if items.send(number).await.is_err() {
                return;
            }
        }
        items.finish();
    }

    pub async fn states(&mut self, mut items: Yield<State>) {
        for state in [State::Open, State::Sent { carrier: "p".into() }] {
            if items.send(state).await.is_err() {
                return;
            }
        }
        items.fail(0x8007, "no more states");
    }

    pub fn fill(&self, bytes: u32) -> String {
        "x".repeat(bytes as usize)
    }

    /// Takes numbers, which JSON cannot send as a stream.
    pub fn take(&mut self, numbers: Items<u64>) {
        drop(numbers);
    }

    pub async fn hold(&mut self) -> u64 {
        let gate = self.gate.clone();
        if let Some(gate) = gate {
            gate.acquire().await.unwrap().forget();
        }
        1
    }

    /// Never answers.
    #[wigwag(get = "/waiting")]
    pub fn wait(&mut self, reply: Responder<u64>) {
        self.waiting.push(reply);
    }

    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    pub fn caller(&self, this: &This<Self>) -> String {
        this.caller().map(|caller| caller.principal.to_string()).unwrap_or_default()
    }

    pub fn fall(&self) {
        panic!("on purpose");
    }
}

/// A node with a desk, and a gateway.
pub(crate) struct Service {
    pub(crate) node: Node,
    pub(crate) desk: DeskRef,
    pub(crate) gateway: Gateway,
    /// `127.0.0.1:port`
    pub(crate) host: String,
}

impl Service {
    pub(crate) async fn start() -> Service {
        Service::with(NodeOptions::default(), GatewayOptions::default()).await
    }

    pub(crate) async fn with(node: NodeOptions, options: GatewayOptions) -> Service {
        Service::of(Desk::default(), node, options).await
    }

    pub(crate) async fn of(desk: Desk, node: NodeOptions, options: GatewayOptions) -> Service {
        let node = Node::with(node);
        let desk = desk.spawn();
        node.export("desk", &desk).unwrap();
        let gateway = Gateway::with(&node, options);
        let bound = gateway.listen("http://127.0.0.1:0").await.unwrap();
        Service { node, desk, gateway, host: bound.rest().to_owned() }
    }
}
