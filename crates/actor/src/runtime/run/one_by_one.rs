//! Runs of a single call, so that other jobs may come before the next.
//!
//! Normally an actor handles the calls of a chunk in one go while other actors run on other
//! threads. On the one thread of a random order they can only run in between. So the rest of the
//! chunk is put back, as it is when control mail comes.

use crate::lifecycle::control::Control;
use crate::mailbox::mail_batch::MailDrain;
use crate::mailbox::ready_queues::Provenance;
use crate::reply::{Reply, ReplySlot};
use crate::runtime::actor::{Actor, Handled};
use crate::runtime::run::{CallSource, Remaining, RunPause, is_gone};

/// Calls of local senders.
pub(crate) struct OneByOne<S>(pub(crate) S);

impl<A: Actor> CallSource<A> for OneByOne<MailDrain<'_, A::Message>> {
    fn handle(
        &mut self,
        actor: &mut A,
        reply: &mut Reply<'_>,
        control: &Control,
    ) -> RunPause<A::Message> {
        if control.is_marked() {
            return RunPause::Orders;
        }
        let Some((message, asker)) = self.0.next() else { return RunPause::End };
        if let Some(asker) = asker {
            if is_gone(&asker) {
                return RunPause::Orders;
            }
            reply.renew(ReplySlot::Local(asker));
        }
        match actor.handle(message, reply) {
            Handled::Done => reply.end(),
            Handled::Later(message) => return RunPause::Later(message),
            Handled::SideBySide(message) => return RunPause::SideBySide(message),
        }
        if self.0.left() > 0 { RunPause::Orders } else { RunPause::End }
    }

    fn left(&self) -> usize {
        self.0.left()
    }

    fn keep(&mut self) -> Remaining<A::Message> {
        CallSource::<A>::keep(&mut self.0)
    }

    fn refuse(&mut self, provenance: Provenance<'_, A::Message>) {
        CallSource::<A>::refuse(&mut self.0, provenance);
    }
}
