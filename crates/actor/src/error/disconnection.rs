//! A session without a connection, as the error of a caller describes it.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A peer that cannot be reached: for how long, why, and when the node tries again.
///
/// [`CallError::disconnection`](crate::CallError::disconnection) and the node's error
/// `Disconnected` have one. It is the state at the moment of the error; the session goes on as soon
/// as the peer is back.
///
/// ```
/// # use wigwag_actor::CallError;
/// # use wigwag_actor::error::NextAttempt;
/// # fn report(error: &CallError) {
/// if let Some(gone) = &error.disconnection
///     && let NextAttempt::In(left) = gone.next_attempt
/// {
///     eprintln!("{}: gone for {:?}, next attempt in {left:?}", error.target, gone.since);
/// }
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disconnection {
    /// Why the last attempt to reconnect has failed; before the first one, how the cut was noticed.
    pub why: Arc<str>,
    /// The time since the connection was lost.
    pub since: Duration,
    /// The next attempt to reconnect.
    pub next_attempt: NextAttempt,
}

/// The next attempt to reconnect to a peer; see [`Disconnection`] for an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NextAttempt {
    /// This node dials again after this time.
    In(Duration),
    /// This node is dialing.
    UnderWay,
    /// The peer has dialed, so it is the peer that dials again.
    ByPeer,
}

impl Disconnection {
    /// A hint how to fix it.
    pub fn hint(&self) -> &'static str {
        match self.next_attempt {
            NextAttempt::ByPeer => "start the peer, which dials this node, or call again later",
            _ => "start the peer, or call again later: the node keeps trying to reach it",
        }
    }
}

impl fmt::Display for Disconnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Disconnection { why, since, next_attempt } = self;
        write!(f, "no connection for {since:.1?}: {why}; {next_attempt}")
    }
}

impl fmt::Display for NextAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NextAttempt::In(left) => write!(f, "the next attempt is in {left:.1?}"),
            NextAttempt::UnderWay => f.write_str("an attempt is under way"),
            NextAttempt::ByPeer => f.write_str("the peer has to dial again"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CallError, CallErrorKind};
    use wigwag_wire::Fault;

    #[test]
    fn a_timeout_of_a_disconnected_peer_names_the_disconnection_and_not_the_actor() {
        let limit = Duration::from_secs(30);
        let mut error = CallError::new(CallErrorKind::Timeout(limit), &"tcp://there/actor".into());
        assert_eq!(error.fault(), Fault::Peer);
        for (next_attempt, text) in [
            (NextAttempt::In(Duration::from_millis(412)), "the next attempt is in 412.0ms"),
            (NextAttempt::UnderWay, "an attempt is under way"),
            (NextAttempt::ByPeer, "the peer has to dial again"),
        ] {
            let why = "nobody listens there".into();
            let gone = Disconnection { why, since: Duration::from_secs(12), next_attempt };
            error = error.while_disconnected(gone.clone());
            let line = format!(
                "tcp://there/actor: no answer within 30s: no connection for 12.0s: nobody listens \
                 there; {text}"
            );
            assert_eq!(error.to_string(), line);
            assert_eq!(error.hint(), gone.hint());
            assert_eq!(error.fault(), Fault::Network);
        }
    }
}
