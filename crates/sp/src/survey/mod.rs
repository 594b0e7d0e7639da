//! surveyor and respondent: a question to all peers, with a deadline for their answers.

pub mod surveyor;
pub mod respondent;
