//! The lab: participants side by side, each with a verdict before it has a number.
//!
//! A figure is worth something only beside the physical limit, taken in the same run on the same
//! machine, and only when every message has been accounted for. So `raw`, the limit, takes part like
//! any other program, and a participant that loses, doubles, changes or fakes messages gets no number
//! at all. The modules in reading order, each built on those before it:
//!
//! 1. [`figures`]: checks of numbered messages, histograms, medians with their spread, and numbers as
//!    a person reads them.
//! 2. [`relay`]: a relay that delays and cuts connections.
//! 3. [`results`]: the document of a run, its schema, and the machine it was taken on.
//! 4. [`process`]: programs that are started, sampled and ended; [`trial`]: one measurement with them.
//! 5. [`contract`]: what a program must do, from its own side.
//! 6. [`participants`]: embedded programs, and those of the peers' folders.
//! 7. [`workload`]: what participants do, cell by cell, and how their accounts are judged.
//! 8. [`run`]: all participants in all cells, round by round in shuffled order.
//! 9. [`report`]: tables, a page, a comparison. [`demo`]: a preset of a run and its small document.
#![forbid(unsafe_code)]

pub mod figures;
pub mod relay;
pub mod results;
pub mod process;
pub mod trial;
pub mod contract;
pub mod participants;
pub mod workload;
pub mod run;
pub mod report;
pub mod demo;

pub use figures::{digest, numbers, statistics, times};
