//! Hostile peers over open sessions: they receive without acknowledging, or send without waiting.

use std::time::Duration;

use tokio::time::timeout;
use wigwag_link::frame::{Frame, kind};
use wigwag_testkit::raw::{Raw, identity};

pub(crate) fn attach(channel: u64, name: &'static str) -> Frame<'static> {
    Frame::Attach { channel, how: 0, target: name.as_bytes(), schema_hash: 0, codec: 0 }
}

/// A session whose channel 0 leads to `name`.
async fn session(address: &str, name: &'static str) -> Option<Raw> {
    let mut raw = Raw::try_dial(address).await?;
    if !raw.try_open(identity()).await {
        return None;
    }
    raw.tell(&[attach(0, name)]).await;
    raw.try_until(kind::ATTACHED).await?;
    Some(raw)
}

/// Opens sessions one after the other, each for as long as the server tolerates it.
async fn sessions(address: &str, name: &'static str, mut rude: impl AsyncFnMut(Raw)) {
    loop {
        if let Some(raw) = session(address, name).await {
            rude(raw).await;
        }
        tokio::task::yield_now().await;
    }
}

/// Asks as fast as credit allows, in rounds; reads the answers and acknowledges none.
async fn unacknowledged(address: &str, method: u64, arguments: &[u8]) {
    const ROUND: u64 = 32;
    sessions(address, "sum", async |mut raw| {
        raw.acknowledges = false;
        for generation in 0.. {
            let ask = |slot| Frame::Ask { channel: 0, slot, generation, method, arguments };
            let asks: Vec<_> = (0..ROUND).map(ask).collect();
            if !raw.tell(&asks).await {
                return;
            }
            let mut left = ROUND as usize;
            while left > 0 {
                // A peer without credit gets no answer and keeps asking until it is cut off.
                let Ok(seen) = timeout(Duration::from_millis(100), raw.frame()).await else {
                    break;
                };
                let Some(seen) = seen else { return };
                left = left.saturating_sub(seen.outcomes().len());
            }
        }
    })
    .await;
}

pub(crate) async fn describe_unacknowledged(address: &str) {
    unacknowledged(address, 0, &[0x90]).await;
}

pub(crate) async fn asks_unacknowledged(address: &str) {
    unacknowledged(address, 1, &[0x92, 1, 1]).await;
}

/// Asks beyond all credit would be cut off at once, so the peer keeps to its first credit.
pub(crate) async fn describe_unread(address: &str) {
    sessions(address, "sum", async |mut raw| {
        for generation in 0.. {
            let arguments = &[0x90];
            let ask = |slot| Frame::Ask { channel: 0, slot, generation, method: 0, arguments };
            let asks: Vec<_> = (0..32).map(ask).collect();
            let sent = timeout(Duration::from_secs(1), raw.tell(&asks)).await;
            if !sent.unwrap_or(false) {
                return;
            }
        }
    })
    .await;
}

pub(crate) async fn attach_unread(address: &str) {
    sessions(address, "sum", async |mut raw| {
        loop {
            let pair = [attach(1, "sum"), Frame::Detach { channel: 1 }];
            let sent = timeout(Duration::from_secs(1), raw.tell(&pair.repeat(8))).await;
            if !sent.unwrap_or(false) {
                return;
            }
        }
    })
    .await;
}

/// Fills the first window of a channel.
async fn fill(raw: &mut Raw, channel: u64) -> bool {
    let arguments = [&[0x91, 0xC4, 60][..], &[7; 60]].concat();
    let tell = Frame::Tell { channel, method: 1, arguments: &arguments };
    raw.tell(&vec![tell; 32]).await
}

pub(crate) async fn fill_and_detach(address: &str) {
    sessions(address, "slow", async |mut raw| {
        while fill(&mut raw, 0).await {
            raw.tell(&[Frame::Detach { channel: 0 }]).await;
            if raw.try_until(kind::DETACHED).await.is_none() {
                return;
            }
            raw.tell(&[attach(0, "slow")]).await;
            // ATTACHED, or DETACHED when there are too many.
            while let Some(seen) = raw.frame().await {
                if seen.kind == kind::ATTACHED {
                    break;
                }
                if seen.kind == kind::DETACHED {
                    return;
                }
            }
        }
    })
    .await;
}

pub(crate) async fn fill_and_close(address: &str) {
    sessions(address, "slow", async |mut raw| {
        fill(&mut raw, 0).await;
        let wanted = 60_000;
        raw.tell(&[Frame::Need { channel: 0, limit_wanted: wanted, units: 0 }]).await;
        if raw.try_until(kind::CREDIT).await.is_some() {
            fill(&mut raw, 0).await;
        }
    })
    .await;
}

pub(crate) async fn noise(address: &str) {
    let mut seed = 0x9E37_79B9_7F4A_7C15_u64;
    sessions(address, "sum", async |mut raw| {
        let bytes: Vec<u8> = (0..2000)
            .map(|_| {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                (seed >> 56) as u8
            })
            .collect();
        // Wrapped in a valid message, so that the bytes get as far as the frame decoder.
        raw.send(&bytes).await;
        raw.rest().await;
    })
    .await;
}
