//! Calls of which a run handles one, so that what others do may come before the next.
//!
//! Elsewhere an actor handles what lies together in one go. Other actors would run meanwhile, on
//! other threads; on the one thread of a drawn order they can only run in between. So the rest is put
//! back, as it is when control mail comes.

use crate::lifecycle::control::Control;
use crate::mailbox::lists::Whose;
use crate::mailbox::mails::Taking;
use crate::reply::{Reply, ReplySlot};
use crate::runtime::actor::{Actor, Handled};
use crate::runtime::run::{Left, Pause, Source, is_gone};

/// Calls of local senders.
pub(crate) struct OneByOne<S>(pub(crate) S);

impl<A: Actor> Source<A> for OneByOne<Taking<'_, A::Message>> {
    fn handle(
        &mut self,
        actor: &mut A,
        reply: &mut Reply<'_>,
        control: &Control,
    ) -> Pause<A::Message> {
        if control.is_marked() {
            return Pause::Orders;
        }
        let Some((message, asker)) = self.0.next() else { return Pause::End };
        if let Some(asker) = asker {
            if is_gone(&asker) {
                return Pause::Orders;
            }
            reply.renew(ReplySlot::Local(asker));
        }
        match actor.handle(message, reply) {
            Handled::Done => reply.end(),
            Handled::Later(message) => return Pause::Later(message),
            Handled::SideBySide(message) => return Pause::SideBySide(message),
        }
        if self.0.left() > 0 { Pause::Orders } else { Pause::End }
    }

    fn left(&self) -> usize {
        self.0.left()
    }

    fn keep(&mut self) -> Left<A::Message> {
        Source::<A>::keep(&mut self.0)
    }

    fn refuse(&mut self, whose: Whose<'_, A::Message>) {
        Source::<A>::refuse(&mut self.0, whose);
    }
}
