//! The encoded forms of one call: an item of a run, a short frame, or any frame.

use wigwag_actor::Message;
use wigwag_link::write::{self, Extras};
use wigwag_wire::Buffer;
use wigwag_wire::run::RunBuilder;
use wigwag_wire::small::Scratch;

use crate::replies::ask_origin::AskOrigin;
use crate::replies::asks::AskTable;
use crate::session::statistics::tally::AskCounters;

/// The arguments of a call.
pub(crate) trait Arguments {
    /// Encodes the arguments into a window if they are short for all their values; with `fixed`, in
    /// the form of fixed width if they have one.
    fn encode_small(&self, fixed: bool, window: &mut Scratch, place: usize) -> Option<usize>;

    /// Appends the encoded arguments.
    fn encode(&self, fixed: bool, out: &mut Buffer);
}

impl<M: Message> Arguments for M {
    #[inline(always)]
    fn encode_small(&self, fixed: bool, window: &mut Scratch, place: usize) -> Option<usize> {
        if fixed && let Some(end) = self.encode_fixed(window, place) {
            return Some(end);
        }
        Message::encode_small(self, window, place)
    }

    #[inline]
    fn encode(&self, fixed: bool, out: &mut Buffer) {
        if !(fixed && out.small_if(|window| self.encode_fixed(window, 0))) {
            self.encode_arguments(out);
        }
    }
}

/// A call to a remote actor that is about to be encoded.
pub(crate) struct Encoding<'a, A> {
    pub(crate) channel: u64,
    /// The method, by the receiver's number.
    pub(crate) method: u32,
    /// The slot and generation that the answer goes to; `None` for a tell.
    pub(crate) asker: Option<(u32, u32)>,
    /// The extras of the call, such as its trace context.
    pub(crate) extras: Option<&'a Extras>,
    /// Arguments that have a fixed-width form are sent in that form.
    pub(crate) fixed: bool,
    pub(crate) arguments: &'a A,
    /// The counters of the channel, and the place where failures of its asks are counted.
    pub(crate) counters: &'a AskCounters,
    pub(crate) origin: AskOrigin,
}

impl<A: Arguments> Encoding<'_, A> {
    /// Counts the call if it is an ask, once it is among the calls that its turn publishes, and before
    /// another thread can publish them and announce the end of the session.
    #[inline(always)]
    pub(crate) fn count_ask(&self, asks: &AskTable) {
        if let Some(asker) = self.asker {
            self.counters.count(asks, asker, self.method, self.origin);
        }
    }

    #[inline(always)]
    fn small(&self) -> impl FnOnce(&mut Scratch, usize) -> Option<usize> {
        |window, place| self.arguments.encode_small(self.fixed, window, place)
    }

    /// Joins the call to the run at the end of `out`. Returns false and writes nothing if it is of
    /// another kind, or too long.
    #[inline(always)]
    pub(crate) fn join(&self, run: &mut RunBuilder, out: &mut Buffer) -> bool {
        match self.asker {
            _ if self.extras.is_some() => false,
            None => run.tell(out, self.channel, self.method, self.small()),
            Some(asker) => run.ask(out, self.channel, asker, self.method, self.small()),
        }
    }

    /// Notes that the call was written as a frame, so that the next one may be joined to it.
    #[inline(always)]
    pub(crate) fn note(&self, run: &mut RunBuilder) {
        match self.asker {
            _ if self.extras.is_some() => {}
            None => run.note_tell(self.channel, self.method),
            Some(asker) => run.note_ask(self.channel, asker, self.method),
        }
    }

    /// Appends the call as a frame and returns the length of its body.
    #[inline(always)]
    pub(crate) fn write(&self, out: &mut Buffer) -> usize {
        let (channel, method) = (self.channel, self.method);
        if self.extras.is_some() {
            return self.write_any(out);
        }
        let short = match self.asker {
            None => write::small_tell(out, channel, method, self.small()),
            Some(asker) => write::small_ask(out, channel, asker, method, self.small()),
        };
        short.unwrap_or_else(|| self.write_any(out))
    }

    /// Appends a frame of any length.
    fn write_any(&self, out: &mut Buffer) -> usize {
        let arguments = |out: &mut Buffer| self.arguments.encode(self.fixed, out);
        match (self.asker, self.extras) {
            (asker, Some(extras)) => {
                write::call_with(out, extras, self.channel, asker, self.method, arguments)
            }
            (None, None) => write::tell(out, self.channel, self.method, arguments),
            (Some(asker), None) => write::ask(out, self.channel, asker, self.method, arguments),
        }
    }
}
