//! A `tracing` span around each call, for actors started with spans.
//!
//! All other actors pay one comparison per run of calls: the calls of a run are handled one by one
//! here instead of in `run`, because calls are only handled together where they need not be told
//! apart.

use tracing::Span;
use wigwag_wire::Reader;

use crate::lifecycle::control::Control;
use crate::mailbox::mail_batch::MailDrain;
use crate::mailbox::ready_queues::Provenance;
use crate::message::Message;
use crate::reference::interface::Interface;
use crate::reply::{Reply, ReplySlot};
use crate::runtime::actor::{Actor, Handled};
use crate::runtime::run::{CallSource, EncodedCalls, Remaining, RunPause, is_gone};
use crate::schema::Schema;

/// The actor whose calls get spans.
#[derive(Clone, Copy)]
pub(crate) struct Spans {
    pub(crate) schema: &'static Schema,
    pub(crate) number: u64,
}

impl Spans {
    /// The span of a call of method `method`.
    pub(crate) fn of(self, method: u32) -> Span {
        let (actor, method) = (self.schema.name, self.schema.method_name(method));
        tracing::info_span!(target: "wigwag_actor::spans", "call", actor, method, number = self.number)
    }
}

/// The span of a call; a disabled one when `spans` is `None`.
pub(crate) fn span<I: Interface>(spans: Option<Spans>, message: &I::Message) -> Span {
    spans.map_or_else(Span::none, |spans| spans.of(message.method()))
}

/// Calls that are handled in spans.
pub(crate) struct Spanned<S> {
    pub(crate) calls: S,
    pub(crate) spans: Spans,
}

impl<A: Actor> CallSource<A> for Spanned<MailDrain<'_, A::Message>> {
    fn handle(
        &mut self,
        actor: &mut A,
        reply: &mut Reply<'_>,
        control: &Control,
    ) -> RunPause<A::Message> {
        while !control.is_marked() {
            let Some((message, asker)) = self.calls.next() else { return RunPause::End };
            if let Some(asker) = asker {
                if is_gone(&asker) {
                    continue;
                }
                reply.renew(ReplySlot::Local(asker));
            }
            let handled = self.spans.of(message.method()).in_scope(|| actor.handle(message, reply));
            match handled {
                Handled::Done => reply.end(),
                Handled::Later(message) => return RunPause::Later(message),
                Handled::SideBySide(message) => return RunPause::SideBySide(message),
            }
        }
        RunPause::Orders
    }

    fn left(&self) -> usize {
        self.calls.left()
    }

    fn keep(&mut self) -> Remaining<A::Message> {
        CallSource::<A>::keep(&mut self.calls)
    }

    fn refuse(&mut self, provenance: Provenance<'_, A::Message>) {
        CallSource::<A>::refuse(&mut self.calls, provenance);
    }
}

impl<A: Actor> CallSource<A> for Spanned<EncodedCalls<'_>> {
    fn handle(
        &mut self,
        actor: &mut A,
        reply: &mut Reply<'_>,
        control: &Control,
    ) -> RunPause<A::Message> {
        while !control.is_marked() {
            let Some(call) = self.calls.next() else { return RunPause::End };
            if let Some((slot, generation)) = call.asker {
                reply.renew(ReplySlot::Remote { slot, generation });
            }
            let (span, mut arguments) = (self.spans.of(call.method), Reader::new(call.arguments));
            match span.in_scope(|| actor.handle_encoded(call.method, &mut arguments, reply)) {
                Ok(Some(Handled::Done)) => {}
                Ok(Some(Handled::Later(message))) => return RunPause::Later(message),
                Ok(Some(Handled::SideBySide(message))) => return RunPause::SideBySide(message),
                Ok(None) => self.calls.reply_not_understood::<A>(call.method, None, reply),
                Err(error) => self.calls.reply_not_understood::<A>(call.method, Some(error), reply),
            }
            reply.end();
        }
        RunPause::Orders
    }

    fn left(&self) -> usize {
        CallSource::<A>::left(&self.calls)
    }

    fn keep(&mut self) -> Remaining<A::Message> {
        CallSource::<A>::keep(&mut self.calls)
    }

    fn refuse(&mut self, provenance: Provenance<'_, A::Message>) {
        CallSource::<A>::refuse(&mut self.calls, provenance);
    }
}
