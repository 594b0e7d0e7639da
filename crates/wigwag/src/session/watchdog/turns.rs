//! The watch of a turn that may have encoded calls or answers for a session.

use std::sync::{Arc, Weak};

use super::{Due, Lateness, Watch, Watched, watch};
use crate::session::Session;
use crate::session::buffers::frames::{Frames, TurnFrames};

/// The frames that the turns of one thread encode for one session.
struct WatchedTurn {
    session: Weak<Session>,
    turn: Weak<TurnFrames>,
    /// By the number of the turn.
    lateness: Lateness,
}

/// Announces the frames of a turn to the watchdog, when they hold something.
#[cold]
pub(crate) fn watch_turn(session: &Arc<Session>, turn: &Arc<TurnFrames>, frames: &mut Frames) {
    if session.may_watchdog_write() {
        let (session, turn) = (Arc::downgrade(session), Arc::downgrade(turn));
        let lateness = Lateness::since(frames.turn().0);
        frames.is_watched = watch(WatchedTurn { session, turn, lateness });
    }
}

impl Watched for WatchedTurn {
    fn check(&mut self) -> Watch {
        let (Some(session), Some(turn)) = (self.session.upgrade(), self.turn.upgrade()) else {
            return Watch::Over;
        };
        // Frames that are locked are being added to or published.
        let Some(mut frames) = turn.try_lock() else { return Watch::On };
        match self.lateness.tick(frames.turn()) {
            Due::Nothing => {}
            Due::End => {
                frames.is_watched = false;
                return Watch::Over;
            }
            Due::Publish => {
                turn.publish_late(frames, &session);
                session.flush_for_other();
            }
        }
        Watch::On
    }
}
