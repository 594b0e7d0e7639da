//! Names that the reference or the message cannot have.

struct Counter;

#[wigwag::actor]
impl Counter {
    pub fn call(&mut self) {}

    pub fn clone(&self) {}

    pub fn pipeline(&self) {}

    pub fn self_(&self) {}

    pub fn add_1(&mut self) {}

    pub fn add1(&mut self) {}
}

fn main() {}
