//! subscribe: the receiving side of pub/sub.
//!
//! No header. A topic is a prefix of the body, compared byte by byte; the empty one is a prefix of
//! everything, and without a topic nothing comes. What nobody has subscribed to is thrown away here
//! and counted apart: it is no loss. A full queue stops the reading from that peer alone, so that
//! what is dropped is dropped by the publisher, who counts it.

use bytes::Bytes;
use wigwag_wire::{ProtocolNumber, Time};

use crate::inbox::Inbox;
use crate::limits::TOPICS_MAX;
use crate::topics::Topics;
use crate::{
    Attention, CloseReason, Counters, Message, PipeId, Priority, Protocol, Received, RecvError,
    Refusal, Refused, Setting, SettingError,
};

/// A sub socket.
#[derive(Debug)]
pub struct Sub {
    topics: Topics,
    inbox: Inbox<Bytes>,
    counters: Counters,
}

impl Sub {
    /// A socket without peers and topics.
    pub fn new() -> Sub {
        Sub { topics: Topics::default(), inbox: Inbox::new(), counters: Counters::default() }
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
        if self.inbox.is_crowded() {
            return Err(CloseReason::Crowded);
        }
        self.inbox.open(pipe);
        Ok(())
    }

    fn close(&mut self, pipe: PipeId, _now: Time) {
        self.inbox.close(pipe);
    }

    fn rank(&mut self, pipe: PipeId, _send: Priority, receive: Priority) {
        self.inbox.rank(pipe, receive);
    }

    fn finish(&mut self) {
        self.inbox.finish(&mut self.counters);
    }

    fn send(&mut self, body: Bytes, _now: Time) -> Result<(), Refused> {
        let why = Refusal::OnlyReceives(self.number());
        Err(Refused { body, why })
    }

    fn transmit(&mut self, _pipe: PipeId) -> Option<Message> {
        None
    }

    fn receive(&mut self, pipe: PipeId, message: Bytes, _now: Time) -> Received {
        if !self.topics.want(&message) {
            self.counters.filtered += 1;
            return Received::Unwanted;
        }
        self.inbox.take_in(pipe, message, &mut self.counters)
    }

    fn is_paused(&self, pipe: PipeId) -> bool {
        self.inbox.is_paused(pipe)
    }

    fn recv(&mut self, _now: Time) -> Result<Bytes, RecvError> {
        let (_, body) = self.inbox.pop(|_| true).ok_or(RecvError::Empty)?;
        self.counters.received += 1;
        Ok(body)
    }

    fn set(&mut self, setting: Setting) -> Result<(), SettingError> {
        match setting {
            Setting::Subscribe(topic) => match self.topics.add(topic, TOPICS_MAX) {
                true => Ok(()),
                false => Err(SettingError::TooManyTopics),
            },
            Setting::Unsubscribe(topic) => match self.topics.remove(&topic) {
                true => Ok(()),
                false => Err(SettingError::NoSuchTopic),
            },
            Setting::ReceiveQueue(length) => {
                self.inbox.set_length(length);
                Ok(())
            }
            _ => Err(SettingError::NotOf(self.number())),
        }
    }

    fn next_attention(&mut self) -> Option<Attention> {
        self.inbox.next_attention()
    }

    fn counters(&self) -> Counters {
        self.counters
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DropReason;
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
    fn only_what_begins_with_a_topic_comes_and_the_topic_stays_in_it() {
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
    fn without_a_topic_nothing_comes_and_with_the_empty_one_everything() {
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
    fn a_full_queue_pauses_its_peer_and_what_is_not_wanted_does_not() {
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
}
