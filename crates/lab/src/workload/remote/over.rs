//! Cells of remote over another transport than tcp: the same exchange, with the same orders otherwise.

use crate::trial::transport::Transport;
use crate::workload::Cell;

/// The transports of these cells.
const TRANSPORTS: [Transport; 4] = [Transport::Tls, Transport::Ws, Transport::Wss, Transport::Shm];

/// The exchange of such a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exchange {
    /// One way.
    Tell,
    /// Replies, many in flight.
    Ask,
    /// Replies, one in flight.
    RoundTrip,
}

const EXCHANGES: [Exchange; 3] = [Exchange::Tell, Exchange::Ask, Exchange::RoundTrip];

impl Exchange {
    /// The cell of this exchange over tcp.
    pub fn over_tcp(self) -> Cell {
        match self {
            Exchange::Tell => Cell::Tell,
            Exchange::Ask => Cell::Ask,
            Exchange::RoundTrip => Cell::RoundTrip,
        }
    }
}

/// Each exchange over each transport.
pub(in crate::workload) fn cells() -> impl Iterator<Item = Cell> {
    let over = |exchange| TRANSPORTS.map(|transport| Cell::Over { exchange, transport });
    EXCHANGES.into_iter().flat_map(over)
}

/// As the tables name such a cell.
pub(in crate::workload) fn name(exchange: Exchange, transport: Transport) -> String {
    let exchange = match exchange {
        Exchange::Tell => "tell",
        Exchange::Ask => "ask",
        Exchange::RoundTrip => "rtt",
    };
    format!("{exchange}, {transport}")
}

/// The measurement of the cell with this name, if it is one of these.
pub(crate) fn meaning(cell: &str) -> Option<&'static str> {
    let is_named = |it: &Cell| matches!(it, Cell::Over { exchange, transport } if name(*exchange, *transport) == cell);
    match cells().find(is_named)? {
        Cell::Over { exchange: Exchange::Tell, .. } => {
            Some("One way, as fast as the manual says one should, over that transport.")
        }
        Cell::Over { exchange: Exchange::Ask, .. } => {
            Some("Every message is answered, over that transport; many are in flight.")
        }
        _ => Some("Every message is answered, over that transport; one is in flight."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_exchange_has_a_cell_over_each_transport_and_a_meaning() {
        let names: Vec<String> = cells()
            .map(|cell| match cell {
                Cell::Over { exchange, transport } => name(exchange, transport),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(names.len(), 12);
        assert_eq!(names[..4], ["tell, tls", "tell, ws", "tell, wss", "tell, shm"]);
        assert!(names.iter().all(|name| meaning(name).is_some()));
        assert_eq!(meaning("tell"), None);
    }
}
