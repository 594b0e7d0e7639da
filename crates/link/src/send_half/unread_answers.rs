//! Bounds the answers that a peer cannot have read yet, because no writer has taken them.
//!
//! They bound the frames that cost no credit and want an answer: a peer that waits for its answers
//! never has more of them outstanding than it may have unanswered.

use alloc::collections::VecDeque;

use crate::code::Code;
use crate::error::LinkError;
use crate::outbox::Outbox;

/// The sequence numbers of answers that no writer has taken yet.
#[derive(Debug, Default)]
pub(crate) struct UnreadAnswers(VecDeque<u64>);

impl UnreadAnswers {
    /// Counts the frame that is appended next as an answer.
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
