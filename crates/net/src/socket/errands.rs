//! What a protocol wants done after a call, done when the lock is free again.

use std::mem;
use std::sync::Arc;
use std::task::Waker;

use wigwag_sp::Attention;

use super::calls::Side;
use super::core::{Core, Phase, State};
use super::pipe::Pipe;

/// The list.
#[derive(Default)]
pub(super) struct Errands {
    write: Vec<Arc<Pipe>>,
    read: Vec<Arc<Pipe>>,
    wakes: Vec<Waker>,
    /// Written by the caller's thread, not by the driver.
    at_once: bool,
    keeper: Option<Keeper>,
    closed: bool,
}

/// What the task must do that keeps the protocol's time.
enum Keeper {
    Start,
    Hurry,
}

impl State {
    /// `None` in the common case: a message among others changes nothing for anybody.
    pub(super) fn errands(&mut self) -> Option<Errands> {
        let first = self.protocol.next_attention();
        let keeper = self.keeper();
        let nothing = first.is_none() && keeper.is_none() && self.wakes.is_empty();
        if nothing && !self.closing {
            return None;
        }
        let mut errands =
            Errands { keeper, at_once: self.protocol.in_lock_step(), ..Errands::default() };
        let mut next = first;
        while let Some(attention) = next {
            self.attend(attention, &mut errands);
            next = self.protocol.next_attention();
        }
        errands.wakes = mem::take(&mut self.wakes);
        errands.closed = self.closing && self.pipes.values().all(|entry| entry.written);
        Some(errands)
    }

    fn attend(&mut self, attention: Attention, errands: &mut Errands) {
        match attention {
            Attention::Write(pipe) => {
                if let Some(entry) = self.pipes.get_mut(&pipe) {
                    entry.written = false;
                    errands.write.push(entry.pipe.clone());
                }
            }
            Attention::Read(pipe) => {
                let entry = self.pipes.get(&pipe);
                errands.read.extend(entry.map(|entry| entry.pipe.clone()));
            }
            Attention::Senders => self.wakes.extend(self.senders.next()),
            Attention::Receivers => self.wakes.extend(self.receivers.next()),
            Attention::Context(context) => self.wake_next(Side::Context(context)),
            Attention::Room(pipe) => self.wake_next(Side::Peer(pipe)),
        }
    }

    fn keeper(&mut self) -> Option<Keeper> {
        let due = self.protocol.deadline()?;
        if !self.keeper_runs {
            self.keeper_runs = true;
            return Some(Keeper::Start);
        }
        if self.keeper_due.is_some_and(|planned| planned <= due) {
            return None;
        }
        self.keeper_due = Some(due);
        Some(Keeper::Hurry)
    }
}

impl Errands {
    /// Call it without the lock.
    pub(super) fn run(self, core: &Arc<Core>) {
        for waker in self.wakes {
            waker.wake();
        }
        for pipe in self.write {
            if self.at_once {
                pipe.flusher.flush(&*pipe);
            } else {
                pipe.flusher.wake_driver();
            }
        }
        for pipe in self.read {
            pipe.flusher.wake_driver();
        }
        match self.keeper {
            Some(Keeper::Start) => core.spawn(core.clone().keep_time()),
            Some(Keeper::Hurry) => core.earlier.notify_one(),
            None => {}
        }
        if self.closed {
            core.advance(Phase::Closed);
        }
    }
}
