//! The servers of a workload with each other's clients: who meets whom, for a terminal and for a
//! page alike.
//!
//! Known-bad participants stand here beside the honest ones, since what they do to each other is
//! what a matrix is for.

use crate::report::columns::earned;
use crate::report::layout::pair;
use crate::results::{Results, Row};

/// The pairs of one workload.
pub(crate) struct Matrix<'a> {
    /// Participants that serve, in the order of the document.
    pub(crate) servers: Vec<&'a str>,
    /// Participants that ask, in the order of the document.
    pub(crate) clients: Vec<&'a str>,
    pairs: Vec<(&'a str, &'a str, &'a Row)>,
}

impl<'a> Matrix<'a> {
    /// The pairs of `workload`; `None` if it has none.
    pub(crate) fn of(results: &'a Results, workload: &str) -> Option<Matrix<'a>> {
        let pairs: Vec<(&str, &str, &Row)> = results
            .rows
            .iter()
            .filter(|row| row.workload == workload)
            .filter_map(|row| pair(row).map(|(server, client)| (server, client, row)))
            .collect();
        let servers = each_once(pairs.iter().map(|pair| pair.0));
        let clients = each_once(pairs.iter().map(|pair| pair.1));
        (!servers.is_empty()).then_some(Matrix { servers, clients, pairs })
    }

    /// The row of a server and a client; `None` if they did not meet.
    pub(crate) fn row(&self, server: &str, client: &str) -> Option<&'a Row> {
        let found = self.pairs.iter().find(|pair| pair.0 == server && pair.1 == client);
        found.map(|pair| pair.2)
    }

    /// The largest figure of all pairs, 0 if no pair earned one.
    pub(crate) fn most(&self) -> f64 {
        self.pairs.iter().filter_map(|pair| figure(pair.2)).fold(0.0, f64::max)
    }
}

/// The figure of a pair: its ratio to the limit, or its rate where there is no ratio.
pub(crate) fn figure(row: &Row) -> Option<f64> {
    let earned = earned(row)?;
    let ratio = earned.ratio().map(|ratio| ratio.median);
    ratio.or(earned.row().rate.map(|rate| rate.median).filter(|rate| rate.is_finite()))
}

/// In the order in which they first occur.
pub(crate) fn each_once<'a>(names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut once: Vec<&str> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}
