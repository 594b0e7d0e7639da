//! Hostile peers in great number: each connection sends little or nothing.

use std::collections::VecDeque;

use wigwag_link::{Identity, features};
use wigwag_testkit::raw::{Raw, header, identity};
use wigwag_wire::ProtocolNumber;

/// Connections that one crowd holds at a time, within the limit of its own process.
const CROWD: usize = 5000;

/// Makes connections one after the other, and keeps the newest.
async fn crowd(address: &str, mut greet: impl AsyncFnMut(&mut Raw)) {
    let mut held = VecDeque::new();
    loop {
        // If no descriptor is left, the server refuses, which counts as an answer too.
        if let Some(mut raw) = Raw::try_dial(address).await {
            greet(&mut raw).await;
            held.push_back(raw);
        }
        if held.len() > CROWD {
            held.pop_front();
        }
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn half_open(address: &str) {
    crowd(address, async |_| {}).await;
}

pub(crate) async fn half_greeted(address: &str) {
    crowd(address, async |raw| {
        raw.say(&header(ProtocolNumber::PAIR1)).await;
    })
    .await;
}

pub(crate) async fn silent_sessions(address: &str) {
    crowd(address, async |raw| {
        raw.try_open(identity()).await;
    })
    .await;
}

/// Each peer has sent something, so its session is kept after the connection is gone.
pub(crate) async fn cut_sessions(address: &str) {
    loop {
        if let Some(mut raw) = Raw::try_dial(address).await
            && raw.try_open(Identity { offered: features::RESUME, ..identity() }).await
        {
            raw.tell(&[super::floods::attach(0, "sum")]).await;
        }
        tokio::task::yield_now().await;
    }
}
