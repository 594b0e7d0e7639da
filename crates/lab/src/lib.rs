//! The lab: workloads, physical limits, verification, report.
//!
//! A figure is worth something only beside the physical limit, taken in the same run on the same
//! machine, and only when every message has been accounted for. [`mod@bench`] measures any
//! participants, in any language, side by side, among them the limit, `raw`; [`demo`] is a preset of
//! it. The rest is what both and the command share: [`digest`] says what became of numbered messages,
//! [`statistics`] and [`times`] turn rounds and samples into figures, and [`numbers`] writes figures
//! as a person reads them.
#![forbid(unsafe_code)]

pub mod digest;
pub mod statistics;
pub mod times;
pub mod numbers;
pub mod bench;
pub mod demo;
