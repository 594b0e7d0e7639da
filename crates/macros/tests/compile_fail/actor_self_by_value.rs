//! An actor stays where it is.

struct Counter(u64);

#[wigwag::actor]
impl Counter {
    pub fn into_inner(self) -> u64 {
        self.0
    }

    pub fn boxed(self: Box<Self>) -> u64 {
        self.0
    }
}

fn main() {}
