//! A trait with calls and nothing else.

#[wigwag::actor]
trait Bank {
    const LIMIT: u64;

    fn new() -> u64;

    fn balance(&self, account: u32) -> i64 {
        i64::from(account)
    }

    fn merge(&mut self, other: Self);

    fn copy(&self) -> Box<Self>;
}

#[wigwag::actor]
trait Store<T> {
    fn put(&mut self, value: u8);
}

#[wigwag::actor]
trait Nothing {}

fn main() {}
