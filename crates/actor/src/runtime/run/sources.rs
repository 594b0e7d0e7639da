//! The calls of local senders, of which a chunk is stored as messages, on their way to their handlers.

use std::sync::Arc;

use crate::mailbox::ready_queues::Provenance;
use crate::mailbox::refuse_askers;
use crate::mailbox::sending::mail_batch::MailDrain;
use crate::message::Message;
use crate::reply::{LocalReply, Reply, ReplySlot};
use crate::runtime::actor::{Actor, Handled};
use crate::runtime::run::spans::CallScope;
use crate::runtime::run::{CallSource, Remaining};

/// True when only the mailbox still holds the reply slot: the asker is gone, and its call is not
/// begun unless it asked only for a receipt. One load, of a cache line that the answer needs next.
#[inline(always)]
pub(crate) fn is_gone(asker: &Arc<dyn LocalReply>) -> bool {
    Arc::strong_count(asker) == 1 && asker.is_called_off()
}

/// Enters the handler of one message.
#[inline(always)]
pub(crate) fn enter<A: Actor>(
    actor: &mut A,
    message: A::Message,
    reply: &mut Reply<'_>,
    scope: impl CallScope,
) -> Handled<A::Message> {
    scope.enter(message.method(), || actor.handle(message, reply))
}

impl<A: Actor> CallSource<A> for MailDrain<'_, A::Message> {
    #[inline(always)]
    fn enter_next(
        &mut self,
        actor: &mut A,
        reply: &mut Reply<'_>,
        scope: impl CallScope,
    ) -> Option<Handled<A::Message>> {
        let (message, asker) = self.next()?;
        // For a tell the reply is as the call before left it: without an asker.
        if let Some(asker) = asker {
            if is_gone(&asker) {
                return Some(Handled::Done);
            }
            reply.renew(ReplySlot::Local(asker));
        }
        Some(enter(actor, message, reply, scope))
    }

    fn left(&self) -> usize {
        MailDrain::left(self)
    }

    fn asks_left(&self) -> usize {
        0
    }

    fn keep(&mut self) -> Remaining<A::Message> {
        Remaining::Mails(self.collect())
    }

    fn refuse(&mut self, provenance: Provenance<'_, A::Message>) {
        refuse_askers(self, provenance.origin);
    }
}
