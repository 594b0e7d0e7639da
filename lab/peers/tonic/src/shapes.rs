//! Tells of other shapes: a client stream for each, as for the plain ones. The cell `stream` is a server
//! stream, which the client reads: the client has the seed, and says it with its call.

use peer_common::{
    Payloads, Result,
    callers::{Desks, Quote},
    order,
    stamp::{self, Stamp},
};
use tonic::transport::Channel;

use crate::remote::{Block, Offer, Text, Wanted, Word, remote_client::RemoteClient};

/// The stamp in a struct, if every part of it fits.
pub fn contents(offer: &Offer) -> Option<Stamp> {
    let (stamp, quote) = stamp::of_struct(offer.sum, offer.weight)?;
    (offer.name == quote.name() && offer.tags == quote.tags()).then_some(stamp)
}

pub fn text((number, payload): (u64, u32)) -> Text {
    let letters = stamp::text(number, payload);
    Text { text: String::from_utf8_lossy(&letters).into_owned() }
}

/// Reads the rows of a server stream, and has the server print what came.
pub async fn read(client: &mut RemoteClient<Channel>, messages: u64) -> Result<()> {
    let desks = Desks::new(1, false);
    let mut rows = client.rows(Wanted { messages, seed: order("SEED")? }).await?.into_inner();
    while let Some(row) = rows.message().await? {
        if let Some((number, payload)) = stamp::of_text(row.text.as_bytes()) {
            desks.accept(0, number, payload);
        }
    }
    client.account_of(Text { text: format!("{{{}}}", desks.account()) }).await?;
    Ok(())
}

pub async fn tell(client: &mut RemoteClient<Channel>, cell: &str, messages: u64) -> Result<()> {
    let numbered = (0..messages).zip(Payloads::new(order("SEED")?, 0));
    match cell {
        "text" | "upload" => {
            client.tell_text(tokio_stream::iter(numbered.map(text))).await?;
        }
        "struct" => {
            let offer = |(number, payload)| Offer::from(Quote::of(0, number, payload));
            client.tell_struct(tokio_stream::iter(numbered.map(offer))).await?;
        }
        "vec" => {
            let size = order("BYTES")?;
            let block = move |(number, payload)| {
                let mut block = Vec::with_capacity(size);
                stamp::put_block(number, payload, size, &mut block);
                Block { block }
            };
            client.tell_block(tokio_stream::iter(numbered.map(block))).await?;
        }
        _ => {
            let word = |(number, payload)| Word { word: stamp::word(number, payload) };
            client.tell_word(tokio_stream::iter(numbered.map(word))).await?;
        }
    }
    Ok(())
}
