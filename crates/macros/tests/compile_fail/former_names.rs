//! Former names that cannot have been names, or stand where no name is.

use wigwag::Message;

struct Counter;

#[wigwag::actor]
impl Counter {
    #[wigwag::was]
    pub fn add(&mut self, #[wigwag::was("amount")] amount: u64) {
        let _ = amount;
    }

    #[wigwag::was("not a name", "sum", "sum")]
    pub fn total(&self) -> u64 {
        0
    }
}

#[wigwag::was("old")]
struct Plain;

#[derive(Message)]
struct Point {
    #[message(was = "1")]
    x: u64,
    #[message(is = "z")]
    y: u64,
}

fn main() {}
