//! Consecutive calls of several methods, which are decoded and handled in a loop of their own.
//!
//! The loop keeps its place among the calls in registers. Only the method of each call is looked up
//! anew.

use wigwag_wire::call::CallRun;
use wigwag_wire::{DecodeError, Reader};

use crate::lifecycle::control::Control;
use crate::reply::cancelled::CancelledAsks;
use crate::reply::{Reply, ReplySlot};
use crate::runtime::actor::{Actor, Handled, handle_alone};
use crate::runtime::run::same_calls::renew;

/// Consecutive calls of several methods.
pub(super) struct MixedCalls<'c, 'a> {
    pub(super) run: CallRun<'c, 'a>,
    pub(super) control: &'c Control,
    /// The cancelled asks of the session.
    pub(super) cancelled: &'c CancelledAsks,
}

/// The outcome of the call that was taken last.
type Outcome<M> = Result<Option<Handled<M>>, DecodeError>;

/// Handles the calls one after the other, until none is left, control mail is waiting, or one is not
/// done at once. Returns the method of that one and its outcome.
#[inline(always)]
pub(super) fn handle_mixed<A: Actor>(
    actor: &mut A,
    mut calls: MixedCalls<'_, '_>,
    reply: &mut Reply<'_>,
) -> (u32, Outcome<A::Message>) {
    match calls.run.generation() {
        None => calls.tells(actor),
        Some(generation) => calls.asks(actor, generation, reply),
    }
}

impl MixedCalls<'_, '_> {
    #[inline(never)]
    fn tells<A: Actor>(&mut self, actor: &mut A) -> (u32, Outcome<A::Message>) {
        let control = self.control;
        // A tell leaves it as it is: without an asker.
        let mut nobody = Reply::new(ReplySlot::Nobody, None);
        let mut run = self.run.cursor();
        while !control.is_marked_in_a_loop() {
            let Some((method, _, arguments)) = run.take_mixed() else { break };
            match actor.handle_encoded(method, &mut Reader::new(arguments), &mut nobody) {
                Ok(Some(Handled::Done)) => {}
                other => return (method, other),
            }
        }
        (0, Ok(Some(Handled::Done)))
    }

    #[inline(never)]
    fn asks<A: Actor>(
        &mut self,
        actor: &mut A,
        generation: u32,
        reply: &mut Reply<'_>,
    ) -> (u32, Outcome<A::Message>) {
        let (control, cancelled) = (self.control, self.cancelled);
        let mut run = self.run.cursor();
        while !control.is_marked_in_a_loop() {
            let Some((method, slot, arguments)) = run.take_mixed() else { break };
            if renew(reply, cancelled, (slot, generation)) {
                continue;
            }
            match handle_alone(actor, method, Reader::new(arguments), reply) {
                Ok(Some(Handled::Done)) => reply.end(),
                other => return (method, other),
            }
        }
        (0, Ok(Some(Handled::Done)))
    }
}
