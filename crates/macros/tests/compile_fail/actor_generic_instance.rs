//! `StoreRef` can name only one of them.

struct Store<T>(Vec<T>);

#[wigwag::actor]
impl Store<u64> {
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

fn main() {}
