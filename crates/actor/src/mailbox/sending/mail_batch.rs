//! Batches of calls of local senders.
//!
//! The messages are stored densely, and the askers, if there are any, in a list of their own. So a
//! chunk of tells, which moves from one core's cache to another's, is no larger than its messages.

use std::iter::Peekable;
use std::sync::Arc;
use std::vec::Drain;

use crate::reply::{Asker, LocalReply};

/// A batch of calls, in order.
pub(crate) struct MailBatch<M> {
    messages: Vec<M>,
    /// The askers, each with the index of its message, in ascending order.
    askers: Vec<(usize, Arc<dyn LocalReply>)>,
}

impl<M> Default for MailBatch<M> {
    fn default() -> MailBatch<M> {
        MailBatch { messages: Vec::new(), askers: Vec::new() }
    }
}

impl<M> MailBatch<M> {
    /// Creates a batch with room for one call and one asker. The asker's room is there from the
    /// start, so that the first ask after many tells need not allocate. There is no more, because
    /// many actors get one ask at a time.
    pub(crate) fn of_one() -> MailBatch<M> {
        MailBatch { messages: Vec::with_capacity(1), askers: Vec::with_capacity(1) }
    }

    pub(crate) fn len(&self) -> usize {
        self.messages.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    #[inline]
    pub(crate) fn push(&mut self, message: M, asker: Asker) {
        if let Some(asker) = asker {
            self.askers.push((self.messages.len(), asker));
        }
        self.messages.push(message);
    }

    /// Takes out the first call.
    pub(crate) fn pop_first(&mut self) -> Option<(M, Asker)> {
        if self.messages.is_empty() {
            return None;
        }
        let message = self.messages.remove(0);
        let asked = self.askers.first().is_some_and(|(at, _)| *at == 0);
        let asker = asked.then(|| self.askers.remove(0).1);
        for (at, _) in &mut self.askers {
            *at -= 1;
        }
        Some((message, asker))
    }

    pub(crate) fn clear(&mut self) {
        self.messages.clear();
        self.askers.clear();
    }

    /// Takes out the calls one by one; calls that are not taken are dropped with the iterator.
    pub(crate) fn drain(&mut self) -> MailDrain<'_, M> {
        MailDrain {
            messages: self.messages.drain(..),
            askers: self.askers.drain(..).peekable(),
            at: 0,
        }
    }
}

impl<M> FromIterator<(M, Asker)> for MailBatch<M> {
    fn from_iter<T: IntoIterator<Item = (M, Asker)>>(calls: T) -> MailBatch<M> {
        let mut mails = MailBatch::default();
        calls.into_iter().for_each(|(message, asker)| mails.push(message, asker));
        mails
    }
}

type Askers<'a> = Peekable<Drain<'a, (usize, Arc<dyn LocalReply>)>>;

/// Takes the asker of the message at `at`, if there is one. It is compiled once, not for each type of
/// messages.
#[inline]
fn next_asker(askers: &mut Askers<'_>, at: usize) -> Asker {
    askers.next_if(|(asked, _)| *asked == at).map(|(_, asker)| asker)
}

/// An iterator that takes the calls out of a [`MailBatch`].
pub(crate) struct MailDrain<'a, M> {
    messages: Drain<'a, M>,
    askers: Askers<'a>,
    /// The index of the next message.
    at: usize,
}

impl<M> MailDrain<'_, M> {
    /// The number of calls that are left.
    pub(crate) fn left(&self) -> usize {
        self.messages.len()
    }

    /// Passes the tells that are left to `lost`, and returns the askers of the other calls.
    pub(crate) fn split(&mut self, mut lost: impl FnMut(&M)) -> Vec<Arc<dyn LocalReply>> {
        let mut askers = Vec::new();
        for message in self.messages.as_slice() {
            match next_asker(&mut self.askers, self.at) {
                Some(asker) => askers.push(asker),
                None => lost(message),
            }
            self.at += 1;
        }
        askers
    }
}

impl<M> Iterator for MailDrain<'_, M> {
    type Item = (M, Asker);

    #[inline(always)]
    fn next(&mut self) -> Option<(M, Asker)> {
        let message = self.messages.next()?;
        let asker = next_asker(&mut self.askers, self.at);
        self.at += 1;
        Some((message, asker))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reply::one_shot::OneShot;

    fn asker() -> Asker {
        Some(Arc::new(OneShot::<u8>::new()))
    }

    #[test]
    fn an_asker_stays_with_its_message() {
        let mut one = MailBatch::default();
        for number in 0..5 {
            one.push(number, if number % 2 == 0 { asker() } else { None });
        }
        for number in 10..15 {
            one.push(number, if number == 13 { asker() } else { None });
        }
        let mut taking = one.drain();
        let asked: Vec<i32> =
            taking.by_ref().take(7).filter_map(|(message, asker)| asker.map(|_| message)).collect();
        assert_eq!((asked, taking.left()), (vec![0, 2, 4], 3));
        // Three calls are left: an ask and two tells.
        let mut told = Vec::new();
        assert_eq!(taking.split(|message| told.push(*message)).len(), 1);
        assert_eq!(told, [12, 14]);
        drop(taking);
        assert_eq!(one.len(), 0);
    }
}
