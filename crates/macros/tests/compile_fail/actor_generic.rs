//! A parameter of a generic actor lacks its bound, and an actor borrows.

struct Store<T>(Vec<T>);

#[wigwag::actor]
impl<T: Send + 'static> Store<T> {
    pub fn put(&mut self, value: T) {
        self.0.push(value);
    }
}

struct Reader<'a>(&'a str);

#[wigwag::actor]
impl<'a> Reader<'a> {
    pub fn len(&self) -> usize {
        self.0.len()
    }
}

fn main() {}
