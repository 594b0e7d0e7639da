//! Prints the account of many actors.

use crate::contract::{Counts, print_line, sequences};

/// An actor that has counted.
#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
pub(super) trait Counted {
    /// What it has seen of each of its sequences.
    fn counts(&self) -> Vec<Counts>;
}

/// Prints the account of all of them.
pub(super) struct Clerk {
    pub(super) counted: Vec<CountedRef>,
}

#[wigwag::actor]
impl Clerk {
    /// True on success.
    pub async fn finish(&mut self) -> bool {
        let mut all = Vec::new();
        for counted in &self.counted {
            let Ok(counts) = counted.counts().ask().await else { return false };
            all.extend(counts);
        }
        print_line(&sequences(&all).to_string()).is_ok()
    }
}
