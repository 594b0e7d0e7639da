//! The error of a session and of its opening.

use alloc::string::String;

use wigwag_wire::varint::VarintError;
use wigwag_wire::{Fault, Short};

use crate::code::Code;

/// Why a session or its opening has ended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// The peer broke a rule; this side tells it which one and closes.
    #[error("the peer broke a rule of the link protocol: {rule} ({code})")]
    Misbehaved {
        /// The code for CLOSE or REFUSED.
        code: Code,
        /// The broken rule.
        rule: &'static str,
    },
    /// The peer closed the session or refused to open it, and gave a reason.
    #[error("{}: {code}{}", .code.origin(), rule_and_detail(.rule, .detail))]
    ClosedByPeer {
        /// The code that the peer sent.
        code: Code,
        /// The rule that the peer says was broken; empty for a plain goodbye.
        rule: String,
        /// More detail, for people.
        detail: String,
    },
    /// The peer speaks PAIR1, but its first message is not HELLO.
    #[error("the peer is a PAIR1 socket but not a wigwag node")]
    NotWigwag,
    /// No heartbeat arrived in time; the connection counts as cut.
    #[error("the peer has been silent for too long")]
    Silent,
}

fn rule_and_detail(rule: &str, detail: &str) -> String {
    [rule, detail].iter().filter(|part| !part.is_empty()).fold(String::new(), |mut all, part| {
        all.push_str("; ");
        all.push_str(part);
        all
    })
}

impl Code {
    fn origin(self) -> &'static str {
        if self == Code::BYE { "the peer closed the session" } else { "the peer refused" }
    }
}

impl LinkError {
    /// A violation of a rule that has no code of its own.
    pub const fn protocol(rule: &'static str) -> LinkError {
        LinkError::Misbehaved { code: Code::PROTOCOL, rule }
    }

    /// The code and rule to send to the peer; `None` if the peer sent the error itself, or would
    /// not understand it.
    pub fn close_code(&self) -> Option<(Code, &'static str)> {
        match self {
            LinkError::Misbehaved { code, rule } => Some((*code, rule)),
            LinkError::ClosedByPeer { .. } | LinkError::NotWigwag | LinkError::Silent => None,
        }
    }

    /// The party that caused the error.
    pub fn fault(&self) -> Fault {
        match self {
            LinkError::Misbehaved { .. } | LinkError::ClosedByPeer { .. } | LinkError::Silent => {
                Fault::Peer
            }
            LinkError::NotWigwag => Fault::Caller,
        }
    }
}

impl From<Short> for LinkError {
    fn from(_: Short) -> LinkError {
        LinkError::protocol("a field reaches beyond its frame")
    }
}

impl From<VarintError> for LinkError {
    fn from(error: VarintError) -> LinkError {
        match error {
            VarintError::Short => LinkError::protocol("a number reaches beyond its frame"),
            VarintError::NotShortest => LinkError::protocol("a number is not in its shortest form"),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn a_goodbye_and_a_refusal_have_different_texts() {
        let text = |code| {
            let (rule, detail) = ("a rule".into(), "a detail".into());
            LinkError::ClosedByPeer { code, rule, detail }.to_string()
        };
        let goodbye = text(Code::BYE);
        assert!(goodbye.starts_with("the peer closed the session: "), "{goodbye}");
        let refusal = text(Code::PROTOCOL);
        assert!(refusal.starts_with("the peer refused: "), "{refusal}");
        assert!(refusal.contains("; a rule; a detail"), "{refusal}");
    }
}
