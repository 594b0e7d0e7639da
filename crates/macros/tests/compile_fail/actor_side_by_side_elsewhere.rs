//! The attribute is about calls of an actor.

struct Cache(u64);

#[wigwag::actor]
impl Cache {
    pub fn get(&self) -> u64 {
        self.0
    }

    #[wigwag::handler(side_by_side)]
    fn private(&mut self) -> impl Future<Output = u64> {
        async { 1 }
    }
}

#[wigwag::actor]
trait Store {
    #[wigwag::handler(side_by_side)]
    fn get(&self) -> u64;
}

#[wigwag::handler(side_by_side)]
fn alone() {}

fn main() {}
