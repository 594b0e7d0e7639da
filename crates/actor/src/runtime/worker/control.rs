//! Carrying out control mail.

use std::any::Any;
use std::sync::Arc;
use std::task::{Context, Poll};

use super::guarded::{caught, is_known};
use super::{Worker, WorkerState};
use crate::lifecycle::control::ControlMessage;
use crate::lifecycle::handle::AnyActor;
use crate::mailbox::Mailbox;
use crate::mailbox::taking::stash::Stash;
use crate::reason::Reason;
use crate::runtime::actor::Actor;
use crate::runtime::this::{This, untie};

impl<A: Actor> Worker<A> {
    /// Carries out control mail; an error is the reason for which the actor ends.
    pub(super) fn handle_control(&mut self) -> Result<(), Reason> {
        let Some(actor) = &mut self.actor else { return Ok(()) };
        let before = self.extras.as_ref().is_some_and(|extras| extras.suspended);
        let mut suspended = before;
        let mut unstashed = Stash::new();
        let outcome = handle_control(actor, &self.mailbox, &mut suspended, &mut unstashed);
        if suspended != before || !unstashed.is_empty() {
            let extras = self.extras.get_or_insert_default();
            extras.suspended = suspended;
            extras.unstashed.append(&mut unstashed);
        }
        outcome
    }

    /// Carries out control mail until the handlers that run side by side have ended, because they
    /// may still visit the actor's state; then ends the actor. A panic or a kill ends it at once.
    pub(super) fn leave(&mut self, context: &Context<'_>) -> Poll<()> {
        let WorkerState::Leaving(reason) = &self.state else { return Poll::Ready(()) };
        let reason = reason.clone();
        let Some(side_by_side) = self.side_by_side() else { return Poll::Ready(()) };
        if let Some(reason) = side_by_side.failed() {
            self.end(reason);
        } else if !side_by_side.is_running() {
            self.end(reason);
        } else if self.mailbox.control().register(context) {
            if let Err(reason) = self.handle_control()
                && !is_known(&reason)
            {
                self.end(reason);
            }
        } else {
            return Poll::Pending;
        }
        Poll::Ready(())
    }
}

/// Carries out control mail; an error is the reason for which the actor ends.
fn handle_control<A: Actor>(
    actor: &mut A,
    mailbox: &Arc<Mailbox<A::Message>>,
    suspended: &mut bool,
    unstashed: &mut Stash<A::Message>,
) -> Result<(), Reason> {
    let (control, this) = (mailbox.control(), This::new(mailbox.clone()));
    while let Some(order) = control.take() {
        match order {
            ControlMessage::Stop(reason) => return Err(reason),
            ControlMessage::Drain => mailbox.seal(),
            ControlMessage::Urgent => {}
            ControlMessage::Suspend => *suspended = true,
            ControlMessage::Resume => *suspended = false,
            ControlMessage::Unstash => unstashed.append(&mut mailbox.take_stash()),
            ControlMessage::Summary(summary) => summary.answer(|| actor.summary()),
            // A monitor of an earlier life says nothing to this one.
            ControlMessage::Down(down) if !control.remove_monitor(down.monitor.0) => {}
            ControlMessage::Down(down) => caught(|| actor.down(&this, down))?,
            ControlMessage::Exit(exit) => {
                untie(&**mailbox, &exit);
                caught(|| actor.exited(&this, exit))??;
            }
            // It was to run with the state of an earlier life.
            ControlMessage::VisitInLife(life, visit) if control.end_of_life(life).is_some() => {
                caught(|| drop(visit))?;
            }
            ControlMessage::Visit(visit) | ControlMessage::VisitInLife(_, visit) => {
                let any: &mut dyn Any = actor;
                caught(|| visit(any))?;
            }
        }
    }
    control.ended().map_or(Ok(()), Err)
}
