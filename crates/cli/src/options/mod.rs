//! Options that several commands share, and how their values are read.

pub(crate) mod address;
pub(crate) mod units;
pub(crate) mod condition;
pub(crate) mod tls;
pub(crate) mod key_option;
pub(crate) mod variables;
