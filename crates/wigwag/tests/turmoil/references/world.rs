//! What must hold, and what has happened: the record of all actors, senders and monitors.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use wigwag::{DeliveryStatus, Reason};

use super::desk::DeskRef;
use super::groups::Memberships;
use super::links::Links;

/// References that an actor holds. The model empties it at the end, so that no circle of actors keeps
/// itself alive.
pub(crate) type Held = Arc<Mutex<Vec<DeskRef>>>;

/// The known outcome of a call that was sent as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// A tell that was accepted.
    Told,
    /// It was handled for certain.
    Handled,
    /// It was not handled for certain.
    NotHandled,
    /// Nothing is known.
    Unknown,
}

impl Fate {
    pub(crate) fn of(status: DeliveryStatus) -> Fate {
        match status {
            DeliveryStatus::Delivered => Fate::Handled,
            DeliveryStatus::NotDelivered | DeliveryStatus::Rejected(_) => Fate::NotHandled,
            DeliveryStatus::Unknown => Fate::Unknown,
        }
    }
}

/// An actor.
pub(crate) struct ActorRecord {
    pub(crate) node: usize,
    pub(crate) held: Held,
    /// References to actors that it monitors.
    pub(crate) watched: Held,
    /// It is dropped.
    pub(crate) is_gone: bool,
    /// The reason that its hook was told.
    pub(crate) reason: Option<Reason>,
    /// It is exported.
    pub(crate) is_exported: bool,
    /// The number of its handle.
    pub(crate) number: Option<u64>,
    /// It goes on when an actor that it is linked to fails.
    pub(crate) survives: bool,
    /// The end of a linked actor that it ends with.
    pub(crate) linked_end: Option<Reason>,
}

impl ActorRecord {
    /// The reason for which it has ended. An actor that is killed runs no hook.
    pub(crate) fn end_reason(&self) -> &Reason {
        self.reason.as_ref().unwrap_or(&Reason::Killed)
    }
}

/// One sender of numbered calls: a reference, or several clones of it in one task.
#[derive(Default)]
pub(crate) struct SenderRecord {
    /// How the reference came.
    pub(crate) how: String,
    pub(crate) sent: Vec<Fate>,
    pub(crate) handled: Vec<u64>,
    pub(crate) actor: Option<u64>,
}

/// A monitor.
#[derive(Debug)]
pub(crate) struct WatchRecord {
    pub(crate) watcher: u64,
    pub(crate) target: u64,
    pub(crate) told: Vec<Reason>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) actors: Vec<ActorRecord>,
    pub(crate) senders: Vec<SenderRecord>,
    pub(crate) watches: Vec<WatchRecord>,
    pub(crate) links: Links,
    /// How often actors are members of the exported group of their node.
    pub(super) memberships: Memberships,
    pub(crate) wrong: Vec<String>,
    /// Calls and streams that went well.
    pub(crate) successes: u64,
    /// The hosts whose drivers have ended, those that have checked their groups, and those on which
    /// nothing is left.
    pub(crate) idle: Vec<bool>,
    pub(crate) checked: Vec<bool>,
    pub(crate) clean: Vec<bool>,
    /// What each node still has at the end.
    pub(crate) left: BTreeMap<&'static str, Vec<String>>,
}

/// The phases of a run: drivers go on; they end; groups are checked; all references are let go.
pub(crate) const STORM: u64 = 0;
pub(crate) const QUIET: u64 = 1;
pub(crate) const CHECK: u64 = 2;
pub(crate) const CLEAR: u64 = 3;

/// Errors of a run that are kept.
const WRONG_MAX: usize = 20;

/// What happens to connections and hosts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Faults {
    None,
    /// Connections are cut, for less time than sessions are kept.
    Cuts,
    /// Connections are cut, and hosts crash and come back.
    Crashes,
    /// Hosts close their nodes, and others take the places of these.
    Closings,
}

pub(crate) struct World {
    state: Mutex<State>,
    phase: AtomicU64,
    pub(crate) faults: Faults,
}

impl World {
    pub(crate) fn new(hosts: usize, faults: Faults) -> Arc<World> {
        let [idle, checked, clean] = [(); 3].map(|()| vec![false; hosts]);
        let state = Mutex::new(State { idle, checked, clean, ..State::default() });
        Arc::new(World { state, phase: AtomicU64::new(STORM), faults })
    }

    /// True if nothing is cut and no host crashes.
    pub(crate) fn is_calm(&self) -> bool {
        self.faults == Faults::None
    }

    /// True if hosts crash or close their nodes.
    pub(crate) fn loses_sessions(&self) -> bool {
        matches!(self.faults, Faults::Crashes | Faults::Closings)
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn phase(&self) -> u64 {
        self.phase.load(Ordering::SeqCst)
    }

    pub(crate) fn set_phase(&self, phase: u64) {
        self.phase.store(phase, Ordering::SeqCst);
    }

    pub(crate) fn wrong(&self, what: String) {
        let mut state = self.state();
        if state.wrong.len() < WRONG_MAX {
            state.wrong.push(what);
        }
    }

    pub(crate) fn new_actor(&self, node: usize) -> (u64, Held, Held) {
        let (held, watched) = (Held::default(), Held::default());
        let mut state = self.state();
        let (is_gone, is_exported, reason) = (false, false, None);
        let (number, survives, linked_end) = (None, false, None);
        let record = ActorRecord {
            node,
            held: held.clone(),
            watched: watched.clone(),
            is_gone,
            reason,
            is_exported,
            number,
            survives,
            linked_end,
        };
        state.actors.push(record);
        (state.actors.len() as u64 - 1, held, watched)
    }

    pub(crate) fn new_sender(&self, how: String) -> u64 {
        let mut state = self.state();
        state.senders.push(SenderRecord { how, ..SenderRecord::default() });
        state.senders.len() as u64 - 1
    }

    /// The next number of a sender, of which nothing is known yet.
    pub(crate) fn next_number(&self, sender: u64) -> u64 {
        let mut state = self.state();
        let sent = &mut state.senders[sender as usize].sent;
        sent.push(Fate::Unknown);
        sent.len() as u64 - 1
    }

    pub(crate) fn fate(&self, sender: u64, number: u64, fate: Fate) {
        self.state().senders[sender as usize].sent[number as usize] = fate;
    }

    /// An actor handles a numbered call.
    pub(crate) fn handled(&self, actor: u64, sender: u64, number: u64) {
        let mut state = self.state();
        let record = &mut state.senders[sender as usize];
        let mut wrong = Vec::new();
        if *record.actor.get_or_insert(actor) != actor {
            wrong.push(format!("sender {sender} ({}) reached two actors", record.how));
        }
        if record.handled.last().is_some_and(|last| *last >= number) {
            let (how, handled) = (&record.how, &record.handled);
            wrong.push(format!("sender {sender} ({how}): {number} came after {handled:?}"));
        }
        record.handled.push(number);
        state.wrong.extend(wrong);
    }

    pub(crate) fn new_watch(&self, watcher: u64, target: u64) -> u64 {
        let mut state = self.state();
        state.watches.push(WatchRecord { watcher, target, told: Vec::new() });
        state.watches.len() as u64 - 1
    }
}
