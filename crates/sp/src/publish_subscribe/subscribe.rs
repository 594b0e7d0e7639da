//! subscribe: the receiving side of pub/sub.
//!
//! No header. A topic is a prefix of the body, compared byte by byte; the empty topic is a prefix
//! of everything, and without a topic nothing is received. Messages that match no topic are
//! discarded here and have a counter of their own: they are not losses. A full queue stops reading
//! from that peer alone, so drops happen at the publisher, which counts them.
//!
//! Each context has its own topics and queue, and gets a copy of every message that matches. While
//! there are contexts beside the socket itself, no peer is stopped: a context whose queue is full
//! loses messages alone.

use alloc::collections::VecDeque;

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use crate::contexts::Contexts;
use crate::limits::TOPICS_MAX;
use crate::pipe_queues::context_inbox::ContextInbox;
use crate::publish_subscribe::topics::Topics;
use crate::stream::BatchBuilder;
use crate::{
    CloseReason, ContextError, ContextId, Counters, DropReason, PipeId, Priority, Protocol,
    ProtocolEvent, Received, RecvError, Refusal, Refused, Setting, SettingError,
};

/// The topics and the messages of one context, or of the socket itself.
#[derive(Debug)]
struct Subscriber {
    topics: Topics,
    inbox: ContextInbox,
}

impl Subscriber {
    fn new(context: ContextId) -> Subscriber {
        Subscriber { topics: Topics::default(), inbox: ContextInbox::new(context) }
    }
}

/// A sub socket.
#[derive(Debug)]
pub struct Sub {
    contexts: Contexts<Subscriber>,
    events: VecDeque<ProtocolEvent>,
    counters: Counters,
}

impl Sub {
    /// A socket without peers or topics.
    pub fn new() -> Sub {
        Sub {
            contexts: Contexts::new(Subscriber::new(ContextId::SOCKET)),
            events: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// Gives the message to each context whose topics match.
    fn deliver(&mut self, pipe: PipeId, message: &Bytes) -> Received {
        let mut outcome = Received::Unwanted;
        for subscriber in self.contexts.all_mut() {
            if !subscriber.topics.want(message) {
                continue;
            }
            let taken = subscriber.inbox.accept(pipe, message.clone(), &mut self.counters);
            self.events.extend(core::iter::from_fn(|| subscriber.inbox.next_event()));
            if outcome != Received::Queued {
                outcome = taken;
            }
        }
        outcome
    }
}

impl Default for Sub {
    fn default() -> Sub {
        Sub::new()
    }
}

impl Protocol for Sub {
    fn number(&self) -> ProtocolNumber {
        ProtocolNumber::SUB
    }

    fn open(&mut self, pipe: PipeId, _now: Time) -> Result<(), CloseReason> {
        let inbox = &mut self.contexts.own_mut().inbox;
        if inbox.is_crowded() {
            return Err(CloseReason::Crowded);
        }
        inbox.pipes().open(pipe);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        self.contexts.own_mut().inbox.pipes().close(pipe);
    }

    fn set_priority(&mut self, pipe: PipeId, _send: Priority, receive: Priority) {
        self.contexts.own_mut().inbox.pipes().set_priority(pipe, receive);
    }

    fn finish(&mut self) {
        for subscriber in self.contexts.all_mut() {
            subscriber.inbox.finish(&mut self.counters);
        }
    }

    fn send(&mut self, body: Bytes, _now: Time) -> Result<(), Refused> {
        let why = Refusal::OnlyReceives(self.number());
        Err(Refused { body, why })
    }

    fn fill(&mut self, _pipe: PipeId, _out: &mut BatchBuilder<'_>) {}

    fn receive(&mut self, pipe: PipeId, message: Bytes, _now: Time) -> Received {
        if !self.contexts.own().inbox.is_open(pipe) {
            self.counters.drop_one(DropReason::PipeGone);
            return Received::Dropped(DropReason::PipeGone);
        }
        let outcome = self.deliver(pipe, &message);
        self.counters.filtered += u64::from(outcome == Received::Unwanted);
        outcome
    }

    fn is_paused(&self, pipe: PipeId) -> bool {
        self.contexts.is_alone() && self.contexts.own().inbox.is_paused(pipe)
    }

    fn recv(&mut self, now: Time) -> Result<Bytes, RecvError> {
        self.recv_in(ContextId::SOCKET, now)
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        self.set_in(ContextId::SOCKET, setting)
    }

    fn open_context(&mut self) -> Result<ContextId, ContextError> {
        let context = self.contexts.open(Subscriber::new)?;
        // From now on no pipe is paused.
        let paused = self.contexts.own_mut().inbox.pipes().paused();
        self.events.extend(paused.map(ProtocolEvent::Resume));
        Ok(context)
    }

    fn close_context(&mut self, context: ContextId, _now: Time) {
        let Some(mut subscriber) = self.contexts.close(context) else {
            return;
        };
        while subscriber.inbox.pop().is_some() {
            self.counters.drop_one(DropReason::Abandoned);
        }
    }

    fn recv_in(&mut self, context: ContextId, _now: Time) -> Result<Bytes, RecvError> {
        let subscriber = self.contexts.get_mut(context).ok_or(RecvError::NoContext)?;
        let body = subscriber.inbox.pop();
        self.events.extend(core::iter::from_fn(|| subscriber.inbox.next_event()));
        let body = body.ok_or(RecvError::Empty)?;
        self.counters.received += 1;
        Ok(body)
    }

    fn set_in(&mut self, context: ContextId, setting: Setting) -> Result<(), SettingError> {
        let number = self.number();
        let subscriber = self.contexts.get_mut(context).ok_or(SettingError::NoContext)?;
        match setting {
            Setting::Subscribe(topic) => match subscriber.topics.add(topic, TOPICS_MAX) {
                true => Ok(()),
                false => Err(SettingError::TooManyTopics),
            },
            Setting::Unsubscribe(topic) => match subscriber.topics.remove(&topic) {
                true => Ok(()),
                false => Err(SettingError::NoSuchTopic),
            },
            Setting::ReceiveQueue(length) => {
                subscriber.inbox.set_length(length);
                self.events.extend(core::iter::from_fn(|| subscriber.inbox.next_event()));
                Ok(())
            }
            _ => Err(SettingError::NotOf(number)),
        }
    }

    fn next_event(&mut self) -> Option<ProtocolEvent> {
        self.events.pop_front()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::QueueLength;
    use crate::limits::INBOX_MESSAGES_MAX;

    const NOW: Time = Time::START;

    fn subscribed(topics: &[&'static [u8]]) -> Sub {
        let mut sub = Sub::new();
        for topic in topics {
            sub.set(Setting::Subscribe(Bytes::from_static(topic))).unwrap();
        }
        sub.open(PipeId(1), NOW).unwrap();
        sub
    }

    fn receive(sub: &mut Sub, body: &'static [u8]) {
        let received = sub.receive(PipeId(1), Bytes::from_static(body), NOW);
        assert!(matches!(received, Received::Queued | Received::Unwanted));
    }

    #[test]
    fn only_bodies_that_begin_with_a_topic_are_received_and_whole() {
        let mut sub = subscribed(&[b"wind/", b"rain"]);
        for body in [&b"wind/north"[..], b"sun", b"rainy", b"win", b""] {
            receive(&mut sub, body);
        }
        assert_eq!(sub.recv(NOW).unwrap(), "wind/north");
        assert_eq!(sub.recv(NOW).unwrap(), "rainy");
        assert_eq!(sub.recv(NOW), Err(RecvError::Empty));
        assert_eq!((sub.counters().filtered, sub.counters().dropped()), (3, 0));
    }

    #[test]
    fn without_a_topic_nothing_is_received_and_with_the_empty_one_everything() {
        let mut sub = subscribed(&[]);
        receive(&mut sub, b"x");
        assert_eq!(sub.recv(NOW), Err(RecvError::Empty));
        sub.set(Setting::Subscribe(Bytes::new())).unwrap();
        receive(&mut sub, b"");
        assert_eq!(sub.recv(NOW).unwrap(), "");
        sub.set(Setting::Unsubscribe(Bytes::new())).unwrap();
        let again = sub.set(Setting::Unsubscribe(Bytes::new()));
        assert_eq!(again, Err(SettingError::NoSuchTopic));
        receive(&mut sub, b"x");
        assert_eq!(sub.recv(NOW), Err(RecvError::Empty));
    }

    #[test]
    fn a_full_queue_pauses_its_peer_and_unmatched_messages_do_not() {
        let mut sub = subscribed(&[b"a"]);
        for _ in 0..INBOX_MESSAGES_MAX {
            receive(&mut sub, b"b");
            receive(&mut sub, b"a");
        }
        assert!(sub.is_paused(PipeId(1)));
        let over = sub.receive(PipeId(1), Bytes::from_static(b"a"), NOW);
        assert_eq!(over, Received::Dropped(DropReason::Overflow));
        assert_eq!(sub.set(Setting::SurveyTime(None)), Err(SettingError::NotOf(sub.number())));
    }

    #[test]
    fn a_longer_queue_resumes_its_peer() {
        let mut sub = subscribed(&[b"a"]);
        while !sub.is_paused(PipeId(1)) {
            receive(&mut sub, b"a");
        }
        while sub.next_event().is_some() {}
        let longer = QueueLength::new(INBOX_MESSAGES_MAX + 1).unwrap();
        sub.set(Setting::ReceiveQueue(longer)).unwrap();
        assert_eq!(sub.next_event(), Some(ProtocolEvent::Resume(PipeId(1))));
        receive(&mut sub, b"a");
    }

    /// The socket's own queue is full and one context is not read; the other context misses
    /// nothing, and no peer is stopped.
    #[test]
    fn contexts_have_their_own_topics_and_queues() {
        let mut sub = subscribed(&[b"a"]);
        for _ in 0..INBOX_MESSAGES_MAX {
            receive(&mut sub, b"a");
        }
        assert!(sub.is_paused(PipeId(1)));
        while sub.next_event().is_some() {}
        let (read, unread) = (sub.open_context().unwrap(), sub.open_context().unwrap());
        assert_eq!(sub.next_event(), Some(ProtocolEvent::Resume(PipeId(1))));
        assert!(!sub.is_paused(PipeId(1)));
        for context in [read, unread] {
            sub.set_in(context, Setting::Subscribe(Bytes::from_static(b"b"))).unwrap();
        }
        for _ in 0..INBOX_MESSAGES_MAX + 2 {
            receive(&mut sub, b"b");
            assert_eq!(sub.recv_in(read, NOW).unwrap(), "b");
        }
        assert_eq!(sub.counters().dropped_overflow, 2, "the unread context missed them");
        for _ in 0..INBOX_MESSAGES_MAX {
            assert_eq!(sub.recv(NOW).unwrap(), "a");
            assert_eq!(sub.recv_in(unread, NOW).unwrap(), "b");
        }
        assert_eq!(sub.recv(NOW), Err(RecvError::Empty));
        receive(&mut sub, b"b");
        sub.close_context(unread, NOW);
        assert_eq!(sub.recv_in(unread, NOW), Err(RecvError::NoContext));
        assert_eq!(sub.counters().dropped_abandoned, 1);
    }

    #[test]
    fn each_context_is_woken_for_itself() {
        let mut sub = subscribed(&[b"a"]);
        let context = sub.open_context().unwrap();
        sub.set_in(context, Setting::Subscribe(Bytes::from_static(b"ab"))).unwrap();
        receive(&mut sub, b"a");
        assert_eq!(sub.next_event(), Some(ProtocolEvent::RecvReady));
        receive(&mut sub, b"ab");
        assert_eq!(sub.next_event(), Some(ProtocolEvent::ContextRecvReady(context)));
        assert_eq!(sub.next_event(), None);
    }
}
