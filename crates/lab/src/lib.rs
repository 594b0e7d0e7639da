//! The lab: workloads, physical limits, verification, report.
//!
//! A figure is worth something only beside the physical limit, taken in the same run on the same
//! machine, and only when every message has been accounted for. The modules in reading order:
//!
//! 1. [`digest`] says what became of the messages: the receiver's check that none was lost,
//!    doubled, overtaken or changed.
//! 2. [`raw`] is the limit of remote messages: blocking sockets and nothing else.
//! 3. [`channel`] is the yardstick of local messages: one bounded channel.
//! 4. [`usage`] reads what a process has cost: processor time and memory.
//! 5. [`statistics`] turns rounds and samples into figures, and refuses those that too few
//!    samples cannot bear; [`times`] counts by length in a table of fixed size, and [`numbers`]
//!    are figures as a person reads them.
//! 6. [`actors`], [`service`], [`cells`] are the remote workload: who serves, who drives, and what
//!    is measured in a round. [`demo`] runs the rounds and [`report`] says what was found.
//! 7. [`mod@bench`] is `wigwag lab`: any participants, in any language, side by side.
#![forbid(unsafe_code)]

pub mod digest;
pub mod raw;
pub mod channel;
pub mod usage;
pub mod statistics;
pub mod times;
pub mod numbers;
pub mod actors;
pub mod service;
mod asking;
pub mod cells;
pub mod report;
pub mod demo;
pub mod bench;
