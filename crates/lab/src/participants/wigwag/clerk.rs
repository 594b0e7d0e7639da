//! Prints the account of many actors.

use serde_json::{Value, json};

use crate::contract::print_line;

/// An actor that has counted.
#[wigwag::actor]
#[allow(dead_code, reason = "an interface")]
pub(super) trait Counted {
    /// Its tallies, as JSON.
    fn tallies(&self) -> String;
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
            let Ok(tallies) = counted.tallies().ask().await else { return false };
            let Ok(Value::Array(tallies)) = serde_json::from_str(&tallies) else { return false };
            all.extend(tallies);
        }
        print_line(&json!({ "senders": all }).to_string()).is_ok()
    }
}
