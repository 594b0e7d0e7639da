//! The service that the tests of the TypeScript client call: one node at a WebSocket and a tcp
//! address, and behind a gateway, whose addresses it prints. It ends when its standard input does.
//!
//! The client's own tests start it, and judge what the client has sent by what the actors have
//! counted, digested and kept in order. Arguments: the milliseconds of the node's heartbeat, and a shared
//! key that clients must prove.

#![expect(clippy::print_stdout, reason = "the program tells its tests where it listens")]

mod bank;
mod ledger;
mod room;
mod shop;

use std::error::Error;
use std::time::Duration;

use bank::{Account, Bank};
use ledger::Ledger;
use room::Room;
use shop::Shop;
use tokio::io::AsyncReadExt;
use wigwag::access::SharedKey;
use wigwag::transport::{ListenOptions, WsListenOptions};
use wigwag::{Actor, Node, NodeOptions};
use wigwag_gateway::{Gateway, GatewayOptions};

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // The pages of the tests come from a server of their own.
    let pages = ListenOptions::default().ws(WsListenOptions::default().allow_any_origin());
    let mut arguments = std::env::args().skip(1);
    let heartbeat = arguments.next().map_or(Ok(1_000), |text| text.parse())?;
    let mut options = NodeOptions::default()
        .name("typescript service")
        .heartbeat(Duration::from_millis(heartbeat))
        .listen_options(pages);
    if let Some(key) = arguments.next() {
        options = options.accept_keys([key.parse::<SharedKey>()?]);
    }
    let node = Node::with(options);
    node.export("ledger", &Ledger::default().spawn())?;
    // Streams of this one go on beside the calls of the other.
    node.export("ticker", &Ledger::default().spawn())?;
    node.export("room", &Room::default().spawn())?;
    node.export("bank", &Bank::default().spawn())?;
    // Actors that the command describes without a reference to one.
    node.export("account", &Account::default().spawn())?;
    node.export("shop", &Shop::default().spawn())?;
    println!("{}", node.listen("ws://127.0.0.1:0/session").await?);
    println!("{}", node.listen("tcp://127.0.0.1:0").await?);
    let gateway = Gateway::with(&node, GatewayOptions::default().allow_any_origin());
    println!("{}", gateway.listen("http://127.0.0.1:0").await?);
    let mut input = Vec::new();
    tokio::io::stdin().read_to_end(&mut input).await?;
    Ok(())
}
