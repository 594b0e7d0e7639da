//! The topics of a sub socket: prefixes of bodies, each with its number of subscriptions.

use alloc::collections::BTreeMap;

use bytes::Bytes;

/// A sorted set of prefixes.
#[derive(Debug, Default)]
pub(crate) struct Topics {
    /// The number of subscriptions for each prefix.
    wanted: BTreeMap<Bytes, u32>,
}

impl Topics {
    /// Adds a subscription; false if the topic is new and there are `most` topics already.
    pub(crate) fn add(&mut self, topic: Bytes, most: usize) -> bool {
        if self.wanted.len() >= most && !self.wanted.contains_key(&topic) {
            return false;
        }
        *self.wanted.entry(topic).or_default() += 1;
        true
    }

    /// Removes a subscription; false if there is none.
    pub(crate) fn remove(&mut self, topic: &Bytes) -> bool {
        let Some(times) = self.wanted.get_mut(topic) else {
            return false;
        };
        *times -= 1;
        if *times == 0 {
            self.wanted.remove(topic);
        }
        true
    }

    /// True if a topic is a prefix of `body`. Takes a look-up for each length at which topics and
    /// body diverge, and no more than the body has bytes.
    pub(crate) fn want(&self, body: &[u8]) -> bool {
        let mut probe = body;
        loop {
            // A topic that is a prefix of the probe does not sort after it. The last topic that
            // does not sort after the probe is such a prefix, or diverges from the body before any
            // longer one could match.
            let range = (core::ops::Bound::Unbounded, core::ops::Bound::Included(probe));
            let Some((topic, _)) = self.wanted.range::<[u8], _>(range).next_back() else {
                return false;
            };
            if body.starts_with(topic) {
                return true;
            }
            let common = topic.iter().zip(probe).take_while(|(one, other)| one == other).count();
            probe = &probe[..common];
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_topic_counts_its_subscriptions() {
        let mut topics = Topics::default();
        let topic = Bytes::from_static(b"a");
        assert!(!topics.want(b"abc"));
        assert!(topics.add(topic.clone(), 1) && topics.add(topic.clone(), 1));
        assert!(!topics.add(Bytes::from_static(b"b"), 1));
        assert!(topics.remove(&topic) && topics.want(b"abc"));
        assert!(topics.remove(&topic) && !topics.want(b"abc"));
        assert!(!topics.remove(&topic));
    }

    proptest! {
        /// Few letters, so that prefixes and near misses are common.
        #[test]
        fn a_body_matches_if_any_topic_is_its_prefix(
            list in prop::collection::vec(prop::collection::vec(0..3_u8, 0..5), 0..8),
            body in prop::collection::vec(0..3_u8, 0..7),
        ) {
            let mut topics = Topics::default();
            for topic in &list {
                topics.add(Bytes::from(topic.clone()), usize::MAX);
            }
            let plainly = list.iter().any(|topic: &Vec<u8>| body.starts_with(topic));
            prop_assert_eq!(topics.want(&body), plainly);
        }
    }
}
