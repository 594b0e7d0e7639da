//! Answers that a peer cannot have read yet, because no writer has taken them.
//!
//! Frames that cost no credit and want an answer are bounded by these: a peer that waits for its answers
//! never has more of them than it may have unanswered.

use alloc::collections::VecDeque;

use crate::code::Code;
use crate::error::LinkError;
use crate::outbox::Outbox;

/// Answers to the peer that no writer has taken yet, by number.
#[derive(Debug, Default)]
pub(crate) struct UnreadAnswers(VecDeque<u64>);

impl UnreadAnswers {
    /// The frame that is appended next is one of them.
    pub(crate) fn add(
        &mut self,
        outbox: &Outbox,
        most: u64,
        rule: &'static str,
    ) -> Result<(), LinkError> {
        while self.0.front().is_some_and(|seq| *seq < outbox.sent()) {
            self.0.pop_front();
        }
        if self.0.len() as u64 >= most {
            return Err(LinkError::Misbehaved { code: Code::LIMIT_EXCEEDED, rule });
        }
        self.0.push_back(outbox.next_seq());
        Ok(())
    }
}
