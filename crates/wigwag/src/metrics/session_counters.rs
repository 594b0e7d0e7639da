//! The counters of a session, each with its meaning.

use serde::{Deserialize, Serialize};

/// A counter of a session: its name, its meaning, and its value.
pub(crate) type SessionCounter = (&'static str, &'static str, fn(&SessionStatistics) -> u64);

/// Defines the counters; their meaning is also the help text of the page for Prometheus.
macro_rules! counters {
    ($($name:ident $meaning:literal)*) => {
        /// Counters of one session, in both directions, since it began.
        ///
        /// [`Node::statistics`](crate::Node::statistics) returns one for each peer; its example shows
        /// how to read them.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(default)]
        #[non_exhaustive]
        pub struct SessionStatistics {
            $(#[doc = $meaning] pub $name: u64,)*
        }

        impl SessionStatistics {
            /// All counters.
            pub(crate) const COUNTERS: &'static [SessionCounter] =
                &[$((stringify!($name), $meaning, |counters| counters.$name)),*];

            /// Adds those of another session.
            pub(crate) fn add(&mut self, other: &SessionStatistics) {
                $(self.$name += other.$name;)*
            }
        }
    };
}

counters! {
    bytes_sent "Bytes handed to the transport, framing and headers included."
    batches_sent "SP messages handed to the transport."
    frames_sent "Sequenced frames published."
    bytes_received "Bytes of the SP messages received."
    batches_received "SP messages received."
    frames_received "Sequenced frames accepted."
    tells_undeliverable "Tells from the peer that could not be delivered: no such method, wrong arguments, or a stopped actor."
    tells_rejected "Tells to the peer that it has reported as not understood."
    asks_failed "Asks from the peer that were answered with an error, of any kind."
    asks_cancelled "Asks from the peer that were cancelled before the actor has begun them, and not handled."
    asks_expired "Asks from the peer whose own time limit had passed when their turn came, and that were not handled."
    attaches_refused "References of the peer that were refused: no such actor, or too many channels."
    credit_stalls "Times that a sender found no credit or no room and had to wait or was refused."
    cuts "Connections that were lost."
    resumes "Connections that resumed the session."
    frames_repeated "Frames that were sent again after a resume."
}
