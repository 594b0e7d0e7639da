//! An interface is one list of calls.

struct Store<T>(Vec<T>);

#[wigwag::actor]
impl<T> Store<T> {
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

fn main() {}
