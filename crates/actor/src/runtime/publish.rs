//! Publishing: what an actor says to all that follow it, beside the answers to its calls.
//!
//! The actor does not know its followers, and it has none until a node exports it. The nodes are in a
//! table by the number of the actor, so an actor that never publishes has nothing of its own for it.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use wigwag_wire::Encode;
use wigwag_wire::hint::{write_debug, write_hint};
use wigwag_wire::small::DynEncode;

use crate::limits::TOPIC_BYTES_MAX;

/// A carrier of the values that an actor publishes to its followers: a node that exports it.
pub trait Publisher: Send + Sync {
    /// Publishes a value under a valid topic. Never waits.
    ///
    /// # Errors
    /// [`PublishError::TooLarge`].
    fn publish(&self, topic: &str, value: &dyn DynEncode) -> Result<(), PublishError>;
}

/// Why nothing was published.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PublishError {
    /// The topic is empty, longer than [`TOPIC_BYTES_MAX`] bytes, or has blanks or control
    /// characters.
    BadTopic(String),
    /// The value is longer than followers accept.
    TooLarge {
        /// Its bytes, with the topic.
        bytes: usize,
        /// The most that is sent.
        most: usize,
    },
    /// The value cannot leave its process.
    NotSerializable,
}

impl PublishError {
    /// A hint how to fix it.
    pub fn hint(&self) -> &'static str {
        match self {
            PublishError::BadTopic(_) => "choose a short topic, without blanks",
            PublishError::TooLarge { .. } => "publish a part, and let followers ask for the rest",
            PublishError::NotSerializable => "publish a value that has an encoding",
        }
    }
}

impl fmt::Display for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PublishError::BadTopic(topic) => write!(
                f,
                "a topic has 1 to {TOPIC_BYTES_MAX} bytes, without blanks and control characters: \
                 {:?}",
                topic.chars().take(TOPIC_BYTES_MAX).collect::<String>()
            ),
            PublishError::TooLarge { bytes, most } => {
                write!(f, "the value has {bytes} bytes, and at most {most} are published")
            }
            PublishError::NotSerializable => f.write_str("the value lives in its own process only"),
        }?;
        write_hint(f, self.hint())
    }
}

impl fmt::Debug for PublishError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_debug(f, "PublishError", None, self, self.hint())
    }
}

impl std::error::Error for PublishError {}

type Publishers = Arc<[Arc<dyn Publisher>]>;

/// The publishers of each exported actor.
static PUBLISHERS: LazyLock<RwLock<HashMap<u64, Publishers>>> = LazyLock::new(RwLock::default);

/// The place of a publisher in the table; dropping it removes the publisher.
pub struct Publication {
    actor: u64,
    publisher: Arc<dyn Publisher>,
}

/// Lets `publisher` publish what the actor with this number says.
pub fn publish_through(actor: u64, publisher: Arc<dyn Publisher>) -> Publication {
    change(actor, |all| all.push(publisher.clone()));
    Publication { actor, publisher }
}

impl Drop for Publication {
    fn drop(&mut self) {
        change(self.actor, |all| {
            if let Some(at) = all.iter().position(|one| Arc::ptr_eq(one, &self.publisher)) {
                all.remove(at);
            }
        });
    }
}

fn change(actor: u64, change: impl FnOnce(&mut Vec<Arc<dyn Publisher>>)) {
    // The table is consistent between any two statements, so a panic elsewhere has broken nothing.
    let mut table = PUBLISHERS.write().unwrap_or_else(PoisonError::into_inner);
    let before = table.remove(&actor);
    let mut publishers = before.iter().flat_map(|all| all.iter()).cloned().collect();
    change(&mut publishers);
    if !publishers.is_empty() {
        table.insert(actor, publishers.into());
    }
    drop(table);
}

/// Publishes a value of an actor. One shared lock, and no encoding if nobody follows.
pub(crate) fn publish<T: Encode>(actor: u64, topic: &str, value: &T) -> Result<(), PublishError> {
    let is_bad = |c: char| c.is_whitespace() || c.is_control();
    if topic.is_empty() || topic.len() > TOPIC_BYTES_MAX || topic.contains(is_bad) {
        return Err(PublishError::BadTopic(topic.to_owned()));
    }
    if !T::TRAVELS {
        return Err(PublishError::NotSerializable);
    }
    let table = PUBLISHERS.read().unwrap_or_else(PoisonError::into_inner);
    let publishers = table.get(&actor).cloned();
    // The encoder of the value may export actors itself.
    drop(table);
    publishers.iter().flat_map(|all| all.iter()).try_for_each(|one| one.publish(topic, value))
}

#[cfg(all(test, not(any(wigwag_loom, wigwag_shuttle))))]
mod tests {
    use std::sync::Mutex;

    use wigwag_wire::Buffer;

    use super::*;
    use crate::lifecycle::handle::fresh_number;

    #[derive(Default)]
    struct Heard(Mutex<Vec<(String, Vec<u8>)>>);

    impl Publisher for Heard {
        fn publish(&self, topic: &str, value: &dyn DynEncode) -> Result<(), PublishError> {
            let mut out = Buffer::new();
            value.encode(&mut out);
            self.0.lock().expect("no test panics").push((topic.to_owned(), out.as_slice().into()));
            Ok(())
        }
    }

    #[test]
    fn a_value_goes_to_the_publishers_of_its_actor_until_they_are_dropped() {
        let (actor, other) = (fresh_number(), fresh_number());
        let heard = [(); 3].map(|()| Arc::new(Heard::default()));
        let mut places: Vec<_> = [(actor, 0), (actor, 1), (other, 2)]
            .map(|(actor, at)| publish_through(actor, heard[at].clone()))
            .into();
        publish(actor, "a", &1_u8).expect("a topic");
        drop(places.remove(0));
        publish(actor, "b", &2_u8).expect("a topic");
        let times = heard.each_ref().map(|heard| heard.0.lock().expect("no test panics").len());
        assert_eq!(times, [1, 2, 0]);
        let last = heard[1].0.lock().expect("no test panics")[1].clone();
        assert_eq!(last, ("b".to_owned(), vec![2]));
        drop(places);
        let table = PUBLISHERS.read().expect("no test panics");
        assert!(!table.contains_key(&actor) && !table.contains_key(&other));
    }

    #[test]
    fn a_topic_is_short_and_one_word() {
        let long = "x".repeat(TOPIC_BYTES_MAX);
        for (topic, is_good) in [
            ("news/today", true),
            (&*long, true),
            ("", false),
            ("two words", false),
            ("line\nend", false),
            ("no\u{a0}break", false),
            ("bell\u{7}", false),
            (&*format!("{long}x"), false),
        ] {
            let outcome = publish(fresh_number(), topic, &1_u8);
            assert_eq!(outcome.is_ok(), is_good, "{topic:?}");
            assert!(outcome.is_ok() || outcome == Err(PublishError::BadTopic(topic.to_owned())));
        }
    }
}
