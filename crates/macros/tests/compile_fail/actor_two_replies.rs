//! A call has one reply: a value, an answer that is owed, or a stream.

use wigwag::{Responder, Yield};

struct Feed;

#[wigwag::actor]
impl Feed {
    pub fn both(&mut self, answer: Responder<u64>, items: Yield<u64>) {
        drop((answer, items));
    }

    pub fn two(&mut self, first: Yield<u64>, second: Yield<u64>) {
        drop((first, second));
    }

    pub fn value_too(&mut self, items: Yield<u64>) -> u64 {
        drop(items);
        1
    }
}

fn main() {}
