//! Nothing to call.

struct Counter(u64);

#[wigwag::actor]
impl Counter {
    pub fn new() -> Counter {
        Counter(0)
    }

    fn add(&mut self, amount: u64) {
        self.0 += amount;
    }
}

fn main() {}
