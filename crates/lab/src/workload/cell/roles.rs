//! The roles that a participant fills in a cell, and why it has no part in one.

use crate::contract::role::Role;
use crate::participants::Participant;
use crate::workload::cell::Cell;
use crate::workload::relayed;

const REMOTE: &[Role] = &[Role::RemoteServer, Role::RemoteClient];

impl Cell {
    /// Whether a participant has the programs for it, installed or not, and they know it.
    pub fn is_for(self, participant: &Participant) -> bool {
        self.roles().iter().all(|role| participant.has_role(*role))
            && self.order().is_none_or(|order| participant.knows_remote_cell(order))
            && self.counter_order().is_none_or(|order| participant.knows_counter_cell(order))
            && self.sp_order().is_none_or(|order| participant.knows_sp_cell(order))
            && self.transport().is_none_or(|it| participant.has_transport(it.name()))
            && (self != Cell::Cuts || participant.resumes())
            && (!self.has_relay() || participant.is_relayed())
    }

    /// Why a participant has no such thing, which its row says; `None` when it has, or when nobody
    /// would look for it.
    pub fn why_absent(self, participant: &Participant) -> Option<String> {
        if let Cell::Relayed { .. } | Cell::Cuts = self {
            return relayed::why_absent(self, participant);
        }
        let counter = self.counter_order().filter(|order| !participant.knows_counter_cell(order));
        let sp = self.sp_order().filter(|order| !participant.knows_sp_cell(order));
        let order = counter.or(sp)?;
        let has_programs = self.roles().iter().all(|role| participant.has_role(*role));
        let looked_for = has_programs && !participant.is_known_bad();
        looked_for.then(|| participant.why_no_cell(order))
    }

    /// Roles that a participant must fill.
    pub fn roles(self) -> &'static [Role] {
        match self {
            Cell::Server => &[Role::PingpongServer],
            Cell::Client => &[Role::PingpongClient],
            Cell::Pair | Cell::Mixed => &[Role::PingpongServer, Role::PingpongClient],
            Cell::Count { .. } | Cell::Slow | Cell::LocalAsk => &[Role::Counter],
            Cell::Ring { .. } | Cell::Spawn | Cell::CountEach { .. } => &[Role::Counter],
            Cell::Tell | Cell::Thread | Cell::Naive | Cell::NaiveAsk => REMOTE,
            Cell::Unkept | Cell::MessagePack | Cell::Spread { .. } => REMOTE,
            Cell::Ask | Cell::RoundTrip | Cell::Paced { .. } => REMOTE,
            Cell::Relayed { .. } | Cell::Cuts | Cell::Overload { .. } | Cell::Far(_) => REMOTE,
            Cell::Callers { .. } | Cell::Shape { .. } | Cell::Blob => REMOTE,
            Cell::Over { .. } | Cell::Callback => REMOTE,
            Cell::HttpServer(_) => &[Role::HttpServer],
            Cell::HttpClient => &[Role::HttpClient],
            Cell::Sp(cell) => cell.roles(),
        }
    }
}
