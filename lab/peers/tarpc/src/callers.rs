//! The cells `callers`: tasks of Tokio that share one connection, each with one request in flight.

use peer_common::{Payloads, Replies, Result, RoundTrips, callers::Quote, order};
use tarpc::context;
use tokio::task::JoinSet;

use crate::RemoteClient;

/// The answer.
#[tarpc::derive_serde]
#[derive(Debug, PartialEq)]
pub struct Offer {
    sum: u64,
    name: String,
    tags: Vec<String>,
    weight: f64,
}

impl From<Quote> for Offer {
    fn from(quote: Quote) -> Self {
        let tags = quote.tags().map(str::to_owned).to_vec();
        Self { sum: quote.sum(), name: quote.name(), tags, weight: quote.weight() }
    }
}

/// Calls from all of them; returns their account.
pub async fn call(client: &RemoteClient, messages: u64) -> Result<String> {
    let (senders, seed): (u32, u32) = (order("SENDERS")?, order("SEED")?);
    let each = messages / u64::from(senders);
    let mut callers = JoinSet::new();
    for sender in 0..senders {
        callers.spawn(caller(client.clone(), sender, each, Payloads::new(seed, sender)));
    }
    let mut replies = Replies::default();
    while let Some(ended) = callers.join_next().await {
        replies.add(&ended??);
    }
    Ok(replies.account(RoundTrips::default()))
}

async fn caller(
    client: RemoteClient,
    sender: u32,
    asks: u64,
    payloads: Payloads,
) -> Result<Replies> {
    let mut replies = Replies::default();
    for (number, payload) in (0..asks).zip(payloads) {
        let offer = client.quote(context::current(), sender, number, payload).await?;
        replies.count(offer.sum, offer == Quote::of(sender, number, payload).into());
    }
    Ok(replies)
}
