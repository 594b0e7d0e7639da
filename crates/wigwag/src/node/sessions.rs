//! The sessions of a node: how many peers may open, and which of them give way to newcomers.
//!
//! A peer can open sessions faster than it can use them. So a session over which nothing has
//! arrived lives for a few seconds only and has a limit of its own; one source has at most half of
//! all sessions; and if none is left, a session without a connection is evicted before a newcomer
//! is refused.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use wigwag_link::opening::resume::Claim;
use wigwag_link::{Code, LinkError};
use wigwag_net::source::Source;

use crate::limits::{SESSIONS_MAX, SESSIONS_PER_SOURCE_MAX, SILENT_SESSIONS_MAX};
use crate::session::Session;

/// The live sessions, in the order in which they started.
#[derive(Default)]
pub(crate) struct SessionTable {
    entries: Vec<SessionEntry>,
    /// Sessions that peers have opened, by source.
    counts: HashMap<Source, usize>,
    /// Sessions over which nothing may have arrived yet, oldest first.
    silent: VecDeque<Arc<Session>>,
}

/// A session and the fields that searches compare, so that a search through thousands touches no
/// session.
struct SessionEntry {
    session: Arc<Session>,
    incarnation: u128,
    id: u128,
    /// The source that has opened the session; `None` if this node has dialed.
    source: Option<Source>,
}

impl SessionTable {
    /// Adds a session; `source` is given if a peer has opened it.
    pub(crate) fn add(&mut self, session: &Arc<Session>, source: Option<Source>) {
        if let Some(source) = &source {
            *self.counts.entry(source.clone()).or_default() += 1;
            self.silent.push_back(session.clone());
        }
        self.entries.push(SessionEntry {
            session: session.clone(),
            incarnation: session.identity.incarnation,
            id: session.resumption.id(),
            source,
        });
    }

    /// Removes a session; false if it is not in the table.
    pub(crate) fn remove(&mut self, session: &Arc<Session>) -> bool {
        let at = self.entries.iter().position(|entry| Arc::ptr_eq(&entry.session, session));
        let Some(entry) = at.map(|at| self.entries.remove(at)) else { return false };
        self.silent.retain(|silent| !Arc::ptr_eq(silent, session));
        if let Some(source) = entry.source
            && let Some(count) = self.counts.get_mut(&source)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&source);
            }
        }
        true
    }

    /// All sessions.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Arc<Session>> {
        self.entries.iter().map(|entry| &entry.session)
    }

    /// The sessions with this incarnation of a peer: more than one if a node has dialed itself.
    pub(crate) fn with(&self, incarnation: u128) -> impl Iterator<Item = &Arc<Session>> {
        let matching = self.entries.iter().filter(move |entry| entry.incarnation == incarnation);
        matching.map(|entry| &entry.session)
    }

    /// The live session that a dialer claims.
    pub(crate) fn claimed(&self, claim: &Claim) -> Option<Arc<Session>> {
        let matching = self.entries.iter().filter(|entry| entry.id == claim.session);
        let mut living =
            matching.map(|entry| &entry.session).filter(|session| !session.has_ended());
        living.find(|session| session.resumption.is_claimed_by(claim)).cloned()
    }

    /// Reserves a place for a session that a peer from `source` is about to open, while `opening`
    /// others are being opened. Sessions that give way are added to `evicted`, also on error: they
    /// are no longer in the table, and the caller tells their peers.
    pub(crate) fn reserve_place(
        &mut self,
        source: &Source,
        opening: usize,
        evicted: &mut Vec<Arc<Session>>,
    ) -> Result<(), LinkError> {
        if self.silent.len() >= SILENT_SESSIONS_MAX {
            self.silent.retain(|session| session.is_silent() && !session.has_ended());
            if self.silent.len() >= SILENT_SESSIONS_MAX {
                evicted.extend(self.evict_silent());
            }
        }
        let full = |rule| LinkError::Misbehaved { code: Code::TOO_MANY, rule };
        if self.counts.get(source).copied().unwrap_or(0) >= SESSIONS_PER_SOURCE_MAX {
            let evicted_session = self.evict_spare(|from| from == source);
            evicted.push(
                evicted_session.ok_or(full("one source has at most 4096 sessions with a node"))?,
            );
        }
        if self.counts.values().sum::<usize>() + opening >= SESSIONS_MAX {
            let evicted_session = self.evict_spare(|_| true);
            evicted.push(evicted_session.ok_or(full("a node has at most 8192 sessions"))?);
        }
        Ok(())
    }

    /// Evicts the oldest session over which nothing has arrived yet.
    pub(crate) fn evict_silent(&mut self) -> Option<Arc<Session>> {
        while let Some(session) = self.silent.pop_front() {
            if session.is_silent() && self.remove(&session) {
                return Some(session);
            }
        }
        None
    }

    /// Evicts a session of a matching source: one over which nothing has arrived yet, or else the
    /// one that has been without a connection for longest.
    fn evict_spare(&mut self, matches: impl Fn(&Source) -> bool) -> Option<Arc<Session>> {
        let is_candidate = |entry: &&SessionEntry| entry.source.as_ref().is_some_and(&matches);
        let candidates = || self.entries.iter().filter(is_candidate).map(|entry| &entry.session);
        let silent = candidates().find(|session| session.is_silent());
        let spare = silent.cloned().or_else(|| longest_cut(candidates()))?;
        self.remove(&spare);
        Some(spare)
    }

    /// Evicts the session that has been without a connection for longest, of all sessions that
    /// peers have opened.
    pub(crate) fn evict_longest_cut(&mut self) -> Option<Arc<Session>> {
        let opened = self.entries.iter().filter(|entry| entry.source.is_some());
        let cut = longest_cut(opened.map(|entry| &entry.session))?;
        self.remove(&cut);
        Some(cut)
    }
}

fn longest_cut<'a>(sessions: impl Iterator<Item = &'a Arc<Session>>) -> Option<Arc<Session>> {
    let cut = sessions.filter_map(|session| Some((session.cut_since()?, session)));
    cut.min_by_key(|(since, _)| *since).map(|(_, session)| session.clone())
}

#[cfg(test)]
mod tests;
