//! Handling calls: those of a chunk, those put aside, and those that waited for their key.

use super::Worker;
use super::guarded::finish;
use crate::error::CallErrorKind;
use crate::lifecycle::current::enter_call;
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::taking::stash::Stashed;
use crate::runtime::actor::Actor;
use crate::runtime::run::RunPause;
use crate::runtime::run::alone::handle_call;
use crate::runtime::run::handling::{ChunkEnd, Unhandled, handle_chunk};
use crate::runtime::side_by_side::PendingCall;

impl<A: Actor> Worker<A> {
    /// Handles a call that had been put aside, or skips it if its asker has gone away. False when
    /// there is none, or control mail is waiting.
    pub(super) fn handle_unstashed(&mut self) -> bool {
        let spans = self.spans();
        let (Some(actor), Some(extras)) = (&mut self.actor, &mut self.extras) else { return false };
        if extras.unstashed.is_empty() || self.mailbox.control().is_marked() {
            return false;
        }
        let unstashed = extras.unstashed.pop_front();
        let Some((message, mut reply, origin, caller)) = unstashed.and_then(Stashed::begin) else {
            return true;
        };
        let handled = {
            let _call = caller.as_ref().map(enter_call);
            handle_call(actor, message, &mut reply, spans)
        };
        match handled {
            Ok(RunPause::End | RunPause::Orders) => {}
            Ok(RunPause::Later(message)) => {
                let left = Unhandled::after_stashed(caller);
                let later = (message, reply, left);
                self.do_boxed(|actor, mailbox| finish(actor, mailbox, later, spans));
            }
            Ok(RunPause::SideBySide(message)) => {
                // Its session counted it when it was put aside.
                self.take(
                    PendingCall { message, reply, owner: None, caller, origin: Some(origin) },
                    Unhandled::none(None),
                );
            }
            Err(reason) => {
                self.mailbox.failed();
                reply.fail(CallErrorKind::Panicked, "");
                self.end(reason);
            }
        }
        true
    }

    /// Handles the calls of one queue until they are done or something else must go first.
    pub(super) fn handle(&mut self, mut calls: Unhandled<A::Message>) {
        let spans = self.spans();
        while let Some(actor) = &mut self.actor {
            match handle_chunk(actor, calls, &self.mailbox, &mut self.answers, spans) {
                // Nearly always; the others are hundreds of bytes to move.
                ChunkEnd::Done => return,
                end => match self.follow_up(end) {
                    Some(left) => calls = left,
                    None => return,
                },
            }
        }
    }

    /// Does what the end of a run requires; returns the calls to handle next.
    pub(super) fn follow_up(&mut self, end: ChunkEnd<A::Message>) -> Option<Unhandled<A::Message>> {
        match end {
            ChunkEnd::Done => {}
            ChunkEnd::Orders(left) => left.put_back(&self.mailbox),
            ChunkEnd::Failed(reason, left) => {
                left.put_back(&self.mailbox);
                self.end(reason);
            }
            ChunkEnd::Later(message, reply, left) => {
                let (later, spans) = ((message, reply, left), self.spans());
                self.do_boxed(|actor, mailbox| finish(actor, mailbox, later, spans));
            }
            ChunkEnd::SideBySide(call, left) => return self.take(call, left),
        }
        None
    }

    /// Begins a call that runs side by side with others; returns the rest of its chunk unless that
    /// must wait.
    pub(super) fn take(
        &mut self,
        call: PendingCall<A::Message>,
        left: Unhandled<A::Message>,
    ) -> Option<Unhandled<A::Message>> {
        let actor = self.actor.as_mut()?;
        let side_by_side = self.extras.as_mut()?.side_by_side.as_mut()?;
        if let Err(reason) = side_by_side.take(actor, call) {
            left.put_back(&self.mailbox);
            self.end(reason);
            return None;
        }
        if side_by_side.is_full() {
            left.put_back(&self.mailbox);
            return None;
        }
        Some(left)
    }

    /// Begins a call that has waited for its key, unless control mail is waiting. False when there
    /// is none.
    pub(super) fn begin_due(&mut self) -> bool {
        if self.mailbox.control().is_marked() {
            return false;
        }
        let (Some(actor), Some(extras)) = (&mut self.actor, &mut self.extras) else { return false };
        let Some(side_by_side) = &mut extras.side_by_side else { return false };
        match side_by_side.begin_due(actor) {
            Ok(begun) => begun,
            Err(reason) => {
                self.end(reason);
                true
            }
        }
    }
}
