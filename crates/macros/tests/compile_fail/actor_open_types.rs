//! Both ends know the type of each argument and of the reply.

struct Counter;

#[wigwag::actor]
impl Counter {
    pub fn add(&mut self, amount: impl Into<u64>) {
        let _ = amount.into();
    }

    pub fn add_any(&mut self, amount: Box<dyn Fn() -> u64>) {
        let _ = amount();
    }

    pub fn values(&self) -> impl Iterator<Item = u64> {
        std::iter::empty()
    }
}

fn main() {}
