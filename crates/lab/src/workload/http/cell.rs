//! The cells in which a participant serves http: how many connections there are, how many requests
//! are in flight on each, and whether they come at their own time.

use crate::workload::cell::Size;

/// Connections of the plain cell, of the paced ones, and of the cell in which a client drives.
pub const CONNECTIONS: u64 = 100;
/// The other numbers of connections: one that is alone, and as many as a busy server has.
const OTHER_CONNECTIONS: [u64; 2] = [1, 1_000];
/// Requests in flight on a connection that pipelines.
const DEPTH: u64 = 16;
/// The share of its own rate that each participant is ordered to hold, in per cent.
const PACED_PERCENT: u32 = 80;
/// Requests on a connection, at most; one alone may have so many times the connections.
const REQUESTS_MAX: u64 = 50_000;

/// A cell with the participant as the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct HttpCell {
    /// Open and at work together.
    pub connections: u64,
    /// Requests in flight on each.
    pub depth: u64,
    /// When requests are sent.
    pub pace: Pace,
}

/// When requests are sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Pace {
    /// As soon as an earlier one is answered.
    Unpaced,
    /// Each at its time, at a share of the rate of the cell that is not paced.
    Percent(u32),
    /// Each at its time, so many a second for every participant.
    Fixed(u64),
}

/// The cell that all others differ from in one thing.
pub const SERVER: HttpCell = HttpCell { connections: CONNECTIONS, depth: 1, pace: Pace::Unpaced };

/// All of a run, but for the fixed rate that a user may order.
pub fn cells() -> Vec<HttpCell> {
    let mut cells = Vec::new();
    for depth in [1, DEPTH] {
        let numbers = [CONNECTIONS].into_iter().chain(OTHER_CONNECTIONS);
        cells.extend(numbers.map(|connections| HttpCell { connections, depth, ..SERVER }));
    }
    cells.push(HttpCell { pace: Pace::Percent(PACED_PERCENT), ..SERVER });
    cells
}

impl HttpCell {
    /// The cell at so many requests a second.
    pub fn at_rate(rate: u64) -> HttpCell {
        HttpCell { pace: Pace::Fixed(rate), ..SERVER }
    }

    /// The name in the tables.
    pub fn name(self) -> String {
        let mut name = "server".to_owned();
        match self.connections {
            CONNECTIONS => {}
            1 => name.push_str(", 1 connection"),
            many => name.push_str(&format!(", {many} connections")),
        }
        if self.depth > 1 {
            name.push_str(", pipelined");
        }
        match self.pace {
            Pace::Unpaced => {}
            Pace::Percent(percent) => name.push_str(&format!(", paced {percent} %")),
            Pace::Fixed(_) => name.push_str(", fixed rate"),
        }
        name
    }

    /// Whether each request has its time.
    pub fn is_paced(self) -> bool {
        self.pace != Pace::Unpaced
    }

    /// Requests a second, where they do not follow from another cell.
    pub fn rate(self) -> Option<u64> {
        match self.pace {
            Pace::Fixed(rate) => Some(rate),
            Pace::Unpaced | Pace::Percent(_) => None,
        }
    }

    /// The percent that is ordered of the rate of another cell, and that cell.
    pub fn share(self) -> Option<(u32, HttpCell)> {
        match self.pace {
            Pace::Percent(percent) => Some((percent, HttpCell { pace: Pace::Unpaced, ..self })),
            Pace::Unpaced | Pace::Fixed(_) => None,
        }
    }

    /// How many requests it has.
    pub fn size(self) -> Size {
        let all = CONNECTIONS * REQUESTS_MAX;
        // A connection whose answers take 40 ms each gets through the first trial too.
        let first = (20 * self.connections).max(400);
        let step = if self.is_paced() { 1 } else { self.connections };
        Size { first: first.next_multiple_of(step), most: all, step, fixed: false, once: false }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cell_has_a_name_of_its_own_and_says_what_differs_from_the_plain_one() {
        let mut names: Vec<String> = cells().into_iter().map(HttpCell::name).collect();
        names.push(HttpCell::at_rate(5_000).name());
        assert_eq!(
            names,
            [
                "server",
                "server, 1 connection",
                "server, 1000 connections",
                "server, pipelined",
                "server, 1 connection, pipelined",
                "server, 1000 connections, pipelined",
                "server, paced 80 %",
                "server, fixed rate",
            ]
        );
    }

    #[test]
    fn a_share_is_one_of_the_cell_that_is_not_paced_and_a_fixed_rate_of_none() {
        let paced: Vec<HttpCell> = cells().into_iter().filter(|cell| cell.is_paced()).collect();
        assert_eq!(paced.iter().map(|cell| cell.share()).collect::<Vec<_>>(), [Some((80, SERVER))]);
        assert_eq!((SERVER.share(), HttpCell::at_rate(7).share()), (None, None));
        assert_eq!((SERVER.rate(), HttpCell::at_rate(7).rate()), (None, Some(7)));
    }

    #[test]
    fn every_trial_has_whole_numbers_of_requests_on_each_connection() {
        for cell in cells() {
            let size = cell.size();
            assert!(size.first % size.step == 0 && size.most % size.step == 0, "{cell:?}");
            assert!(size.first >= cell.connections * cell.depth, "{cell:?}");
        }
    }
}
