//! The effects that a protocol asks for during a call, applied once the lock is free.

use std::mem;
use std::sync::Arc;
use std::task::Waker;

use wigwag_sp::ProtocolEvent;

use crate::socket::calls::waiter::QueueKey;
use crate::socket::core::{Core, Phase, State};
use crate::socket::pipe::Pipe;

/// A list that allocates only beyond two items, so not for most messages.
pub(crate) struct SmallList<T> {
    first: [Option<T>; 2],
    more: Vec<T>,
}

impl<T> Default for SmallList<T> {
    fn default() -> SmallList<T> {
        SmallList { first: [None, None], more: Vec::new() }
    }
}

impl<T> SmallList<T> {
    fn push(&mut self, item: T) {
        match self.first.iter_mut().find(|place| place.is_none()) {
            Some(place) => *place = Some(item),
            None => self.more.push(item),
        }
    }

    fn is_empty(&self) -> bool {
        self.first[0].is_none()
    }

    fn into_items(self) -> impl Iterator<Item = T> {
        self.first.into_iter().flatten().chain(self.more)
    }
}

impl<T> Extend<T> for SmallList<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        items.into_iter().for_each(|item| self.push(item));
    }
}

/// The effects of one call.
#[derive(Default)]
pub(crate) struct Effects {
    write: SmallList<Arc<Pipe>>,
    /// Pipes that the calling thread flushes: what they do not take is dropped.
    write_now: SmallList<Arc<Pipe>>,
    read: SmallList<Arc<Pipe>>,
    wakes: SmallList<Waker>,
    /// Pipes are flushed by the calling thread, not by the driver.
    write_inline: bool,
    timer_action: Option<TimerAction>,
    closed: bool,
}

/// The action for the task that runs the protocol's timers.
enum TimerAction {
    Start,
    Reschedule,
}

impl State {
    /// Collects the effects; `None` in the common case, when a message changes nothing for other
    /// tasks.
    #[inline]
    pub(crate) fn effects(&mut self) -> Option<Effects> {
        let first = self.next_event();
        let timer_action = self.timer_action();
        let nothing = first.is_none() && timer_action.is_none() && self.wakes.is_empty();
        if nothing && !self.closing {
            return None;
        }
        Some(self.collect(first, timer_action))
    }

    fn collect(
        &mut self,
        first: Option<ProtocolEvent>,
        timer_action: Option<TimerAction>,
    ) -> Effects {
        let mut effects = Effects {
            timer_action,
            write_inline: self.protocol.in_lock_step(),
            ..Effects::default()
        };
        let mut next = first;
        while let Some(event) = next {
            self.apply_event(event, &mut effects);
            next = self.next_event();
        }
        effects.wakes = mem::take(&mut self.wakes);
        effects.closed = self.closing && self.pipes.values().all(|entry| entry.written);
        effects
    }

    fn apply_event(&mut self, event: ProtocolEvent, effects: &mut Effects) {
        match event {
            ProtocolEvent::Transmit(pipe) => {
                if let Some(entry) = self.pipes.get_mut(&pipe) {
                    entry.written = false;
                    effects.write.push(entry.pipe.clone());
                }
            }
            ProtocolEvent::TransmitNow(pipe) => {
                let entry = self.pipes.get(&pipe);
                effects.write_now.extend(entry.map(|entry| entry.pipe.clone()));
            }
            ProtocolEvent::Resume(pipe) => {
                let entry = self.pipes.get(&pipe);
                effects.read.extend(entry.map(|entry| entry.pipe.clone()));
            }
            ProtocolEvent::SendReady => self.wakes.extend(self.senders.next()),
            ProtocolEvent::RecvReady => self.wakes.extend(self.receivers.next()),
            ProtocolEvent::ContextRecvReady(context) => self.wake_next(QueueKey::Context(context)),
            ProtocolEvent::PipeSendReady(pipe) => self.wake_next(QueueKey::Peer(pipe)),
        }
    }

    #[inline]
    fn timer_action(&mut self) -> Option<TimerAction> {
        if !self.uses_time {
            return None;
        }
        let due = self.protocol.deadline()?;
        if !self.timer_runs {
            self.timer_runs = true;
            return Some(TimerAction::Start);
        }
        if self.timer_due.is_some_and(|planned| planned <= due) {
            return None;
        }
        self.timer_due = Some(due);
        Some(TimerAction::Reschedule)
    }
}

impl Effects {
    /// Applies the effects; must be called without the lock.
    pub(crate) fn run(self, core: &Arc<Core>) {
        for waker in self.wakes.into_items() {
            waker.wake();
        }
        for pipe in self.write.into_items() {
            if self.write_inline {
                pipe.flusher.flush(&*pipe);
            } else {
                pipe.flusher.wake_driver();
            }
        }
        for pipe in self.write_now.into_items() {
            pipe.flusher.flush_here(&*pipe);
        }
        for pipe in self.read.into_items() {
            pipe.flusher.wake_driver();
        }
        match self.timer_action {
            Some(TimerAction::Start) => core.spawn(core.clone().run_timers()),
            Some(TimerAction::Reschedule) => core.timer_changed.notify_one(),
            None => {}
        }
        if self.closed {
            core.advance(Phase::Closed);
        }
    }
}
