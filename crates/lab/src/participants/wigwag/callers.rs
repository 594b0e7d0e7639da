//! Many callers that each ask one question at a time, as most services are used: plain tasks under
//! `#[tokio::main]`.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
use wigwag::{Actor, Message, Node};

use super::clerk::{Clerk, CountedRef, serve_node};
use crate::contract::quote::Quote;
use crate::contract::{Counts, Failure, Orders, PayloadDraws, Tally, print_line, ready_and_go};

/// The answer.
#[derive(Message, PartialEq)]
pub(super) struct Offer {
    pub(super) sum: u64,
    pub(super) name: String,
    pub(super) tags: Vec<String>,
    pub(super) weight: f64,
}

impl From<Quote> for Offer {
    fn from(quote: Quote) -> Offer {
        Offer {
            sum: quote.sum(),
            name: quote.name(),
            tags: quote.tags().map(str::to_owned).to_vec(),
            weight: quote.weight(),
        }
    }
}

/// Answers one caller, or all of them.
pub(super) struct Desk {
    /// The sender of the first tally.
    first: u32,
    tallies: Vec<Tally>,
}

#[wigwag::actor]
impl Desk {
    pub fn quote(&mut self, sender: u32, number: u64, payload: u32) -> Offer {
        let at = sender.wrapping_sub(self.first) as usize;
        if let Some(tally) = self.tallies.get_mut(at) {
            tally.take(number, payload);
        }
        Quote::of(sender, number, payload).into()
    }

    pub fn counts(&self) -> Vec<Counts> {
        self.tallies.iter().map(|tally| tally.to_counts()).collect()
    }
}

pub(super) fn serve(orders: &Orders) -> Result<(), Failure> {
    Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let node = Node::new();
        let desk = |first: u32, count: u32| {
            Desk { first, tallies: vec![Tally::default(); count as usize] }.spawn()
        };
        let desks: Vec<DeskRef> = match orders.cell.as_str() {
            "callers-each" => (0..orders.senders).map(|sender| desk(sender, 1)).collect(),
            _ => vec![desk(0, orders.senders)],
        };
        for (at, desk) in desks.iter().enumerate() {
            node.export(&format!("desk{at}"), desk)?;
        }
        let counted = desks.iter().map(CountedRef::from).collect();
        node.export("clerk", &Clerk { counted }.spawn())?;
        serve_node(&node).await
    })
}

pub(super) fn drive(orders: &Orders) -> Result<(), Failure> {
    Builder::new_multi_thread().enable_all().build()?.block_on(async {
        let (node, address) = (Node::new(), format!("tcp://127.0.0.1:{}", orders.port));
        let clerk = node.actor::<Clerk>(&format!("{address}/clerk")).await?;
        let mut desks = Vec::new();
        for caller in 0..orders.senders {
            let at = if orders.cell == "callers-each" { caller } else { 0 };
            if at as usize == desks.len() {
                desks.push(node.actor::<Desk>(&format!("{address}/desk{at}")).await?);
            }
        }
        ready_and_go()?;
        let account = call(&desks, orders).await?;
        if !clerk.finish().ask().await? {
            return Err("the server could not print its account".into());
        }
        print_line(&account.to_string())?;
        node.close(Duration::from_secs(1)).await;
        Ok(())
    })
}

async fn call(desks: &[DeskRef], orders: &Orders) -> Result<Value, Failure> {
    let each = orders.messages / u64::from(orders.senders);
    let mut callers = JoinSet::new();
    for sender in 0..orders.senders {
        let desk = desks[sender as usize % desks.len()].clone();
        callers.spawn(caller(desk, sender, each, PayloadDraws::of(orders.seed, sender)));
    }
    let (mut wrong, mut sum) = (0_u64, 0_u64);
    while let Some(ended) = callers.join_next().await {
        let (its_wrong, its_sum) = ended??;
        wrong += its_wrong;
        sum = sum.wrapping_add(its_sum);
    }
    let replies = each * u64::from(orders.senders);
    Ok(json!({ "replies": replies, "wrong": wrong, "sum": sum.to_string() }))
}

/// One caller: its wrong answers, and the sum of all.
async fn caller(
    desk: DeskRef,
    sender: u32,
    asks: u64,
    mut draws: PayloadDraws,
) -> Result<(u64, u64), Failure> {
    let (mut wrong, mut sum) = (0_u64, 0_u64);
    for number in 0..asks {
        let payload = draws.next();
        let offer = desk.quote(sender, number, payload).ask().await?;
        sum = sum.wrapping_add(offer.sum);
        wrong += u64::from(offer != Quote::of(sender, number, payload).into());
    }
    Ok((wrong, sum))
}
