//! Sessions that have ended with calls that their peers may not have, until a flush reports them.

use std::sync::{Arc, Mutex};

use crate::lock::lock;

/// The sessions that were lost since the last report: the first one, and the number of the others.
#[derive(Default)]
pub(crate) struct LostSessions(Mutex<Option<LostSession>>);

/// Its peer, the reason, and the number of other sessions that were lost.
type LostSession = (Arc<str>, Arc<str>, usize);

impl LostSessions {
    /// Records a session.
    pub(crate) fn add(&self, peer: &Arc<str>, why: &Arc<str>) {
        let mut lost = lock(&self.0);
        match &mut *lost {
            Some((_, _, others)) => *others += 1,
            None => *lost = Some((peer.clone(), why.clone(), 0)),
        }
    }

    /// Takes the report.
    pub(crate) fn take(&self) -> Option<LostSession> {
        lock(&self.0).take()
    }
}
