//! A call is a message, and a message has no type parameters.

struct Counter;

#[wigwag::actor]
impl Counter {
    pub fn add<T: Into<u64>>(&mut self, amount: T) {
        let _ = amount.into();
    }

    pub fn fill<const N: usize>(&mut self, values: [u64; N]) {
        let _ = values;
    }
}

fn main() {}
