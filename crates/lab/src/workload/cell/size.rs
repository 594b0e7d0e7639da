//! How many messages a cell has.

use crate::workload::cell::Cell;
use crate::workload::http::cell as http;
use crate::workload::{counter, pingpong};

/// The number of messages of a cell.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The first trial's; the next ones fill the window.
    pub first: u64,
    /// At most.
    pub most: u64,
    /// A multiple of this.
    pub step: u64,
    /// Always as many as `most`, however long it takes.
    pub fixed: bool,
    /// In the first round alone.
    pub once: bool,
}

impl Cell {
    /// How many messages it has.
    pub fn size(self, quick: bool) -> Size {
        let up_to = |first, most| Size { first, most, step: 1, fixed: false, once: false };
        let always = |most| Size { fixed: true, ..up_to(most, most) };
        let usual = |usual, in_a_quick_run| if quick { in_a_quick_run } else { usual };
        match self {
            Cell::Server | Cell::Client | Cell::Pair | Cell::Mixed => Size {
                step: pingpong::CONNECTIONS,
                ..up_to(50 * pingpong::CONNECTIONS, 10_000 * pingpong::CONNECTIONS)
            },
            Cell::Count { senders } => Size { step: senders.into(), ..up_to(24_000, 100_000_000) },
            Cell::CountEach { .. } => {
                Size { step: counter::EACH_SENDERS.into(), ..up_to(24_000, 100_000_000) }
            }
            Cell::Slow => Size { once: true, step: 2, ..always(usual(30_000_000, 200_000)) },
            Cell::LocalAsk | Cell::Ring { actors: 2 } => up_to(2_000, 50_000_000),
            Cell::Ring { .. } => always(usual(1_000_000, 20_000)),
            Cell::Spawn => always(usual(1_000_000, 20_000)),
            Cell::Tell | Cell::Thread | Cell::Unkept | Cell::MessagePack => {
                up_to(20_000, 100_000_000)
            }
            Cell::Relayed { asks: false, .. } => up_to(20_000, 100_000_000),
            Cell::Shape { shape, .. } => {
                let most = shape.messages_max();
                up_to(most / 5_000, most)
            }
            // Ten cuts take a second, which a quick run has once.
            Cell::Cuts => Size { once: quick, ..up_to(20_000, 100_000_000) },
            Cell::Spread { many, .. } => {
                Size { step: many.into(), ..up_to(20 * u64::from(many), 100_000_000) }
            }
            // Very many callers ask twice, so that a slow participant finishes.
            Cell::Callers { callers, .. } => {
                let first = u64::from(callers) * 20.min(20_000 / u64::from(callers));
                Size { step: callers.into(), ..up_to(first, 20_000_000) }
            }
            Cell::Naive | Cell::NaiveAsk => {
                let most = usual(20_000_000, 2_000_000);
                Size { once: true, ..always(most) }
            }
            // A participant that asks one at a time, a tenth of a millisecond each, must finish.
            Cell::Ask
            | Cell::Callback
            | Cell::Paced { .. }
            | Cell::Relayed { .. }
            | Cell::Overload { .. } => up_to(if quick { 2_000 } else { 40_000 }, 50_000_000),
            Cell::RoundTrip | Cell::Blob => up_to(1_000, 1_000_000),
            Cell::Far(far) => far.size(),
            Cell::Over { exchange, .. } => exchange.over_tcp().size(quick),
            Cell::HttpServer(cell) => cell.size(),
            Cell::HttpClient => Size {
                step: http::CONNECTIONS,
                ..up_to(50 * http::CONNECTIONS, 50_000 * http::CONNECTIONS)
            },
            Cell::Sp(cell) => {
                let (first, most) = cell.messages();
                Size { step: cell.senders().into(), ..up_to(first, most) }
            }
        }
    }
}
