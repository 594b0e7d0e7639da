//! The bench: participants side by side, each with a verdict before it has a number.

pub mod results;
pub mod account;
pub mod tree;
pub mod process;
pub mod stage;
pub mod timeline;
pub mod latency;
pub mod trial;
pub mod peer;
pub mod participant;
pub mod workload;
pub mod beyond;
pub mod embedded;
pub mod environment;
pub mod series;
pub mod ratios;
pub mod run;
pub mod schema;
pub(crate) mod figures;
pub(crate) mod quote;
pub(crate) mod layout;
pub mod text;
pub mod html;
pub mod compare;
