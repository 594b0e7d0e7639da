//! On what it may stand, and without what.

#[wigwag::actor]
struct Counter;

#[wigwag::actor(name = "counter")]
impl Counter {
    pub fn add(&mut self) {}
}

fn main() {}
