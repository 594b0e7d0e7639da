//! At least one call exists in every build.

struct Counter;

#[wigwag::actor]
impl Counter {
    #[cfg(any())]
    pub fn add(&mut self, amount: u64) {
        let _ = amount;
    }
}

fn main() {}
