//! A relay keeps nothing of a channel that is closed.

use std::fmt;
use std::time::Duration;

use tokio::time::timeout;
use wigwag_actor::reply::cancelled::CancelledAsks;
use wigwag_wire::small::DynEncode;

use super::*;
use crate::{Actor, Node};

const PATIENCE: Duration = Duration::from_secs(20);

/// The channel of a peer that reads nothing.
#[derive(Default)]
struct Channel(CancelledAsks);

impl InboundQueueOwner for Channel {
    fn freed(&self, _: u64) {}
    fn handled(&self, _: u64, _: u64) {}
    fn stopped(&self, _: &Reason) {}
    fn joins(&self) -> bool {
        false
    }
    fn cancelled(&self) -> &CancelledAsks {
        &self.0
    }
    fn replies(&self, _: &mut Buffer, _: u64) {}
    fn reply(&self, _: u32, _: u32, _: &dyn DynEncode) {}
    fn rejected(&self, _: u32, _: CallErrorKind, _: &dyn fmt::Display) {}
    fn fail(&self, _: u32, _: u32, _: CallErrorKind, _: &str) {}
}

struct Clock;

#[wigwag::actor]
impl Clock {
    pub fn tick(&mut self) {}
}

/// Its watch of the actor's end would keep it as long as the relay has its own reference.
#[tokio::test]
async fn a_relay_forgets_a_channel_that_is_closed() {
    let [service, node] = [(); 2].map(|()| Node::new());
    service.export("clock", &Clock.spawn()).unwrap();
    let bound = service.listen("tcp://127.0.0.1:0").await.unwrap();
    let there = node.actor::<Clock>(&format!("{bound}/clock")).await.unwrap();
    let relay = Relay::to(there.as_ref()).unwrap();
    let channel = Arc::new(Channel::default());
    let queue = relay.open_inbound_queue(channel.clone());
    assert!(Arc::strong_count(&channel) > 1);
    drop(queue);
    let forgotten = async {
        while Arc::strong_count(&channel) > 1 {
            tokio::task::yield_now().await;
        }
    };
    timeout(PATIENCE, forgotten).await.unwrap();
    there.tick().ask().await.unwrap();
}
