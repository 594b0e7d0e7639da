//! A handler that runs side by side is a future that owns its data, and its key is an argument.

use wigwag::Responder;

struct Cache(u64);

#[wigwag::actor]
impl Cache {
    #[wigwag::handler(side_by_side)]
    pub async fn borrows(&mut self) -> u64 {
        self.0
    }

    #[wigwag::handler(side_by_side)]
    pub fn does_not_wait(&mut self) -> u64 {
        self.0
    }

    #[wigwag::handler(side_by_side)]
    pub fn answers_nothing(&mut self) {}

    #[wigwag::handler(serial_by = key)]
    pub fn alone(&mut self, key: u64) -> impl Future<Output = u64> {
        async move { key }
    }

    #[wigwag::handler(side_by_side, serial_by = name)]
    pub fn by_nothing(&mut self, key: u64) -> impl Future<Output = u64> {
        async move { key }
    }

    #[wigwag::handler(reentrant)]
    pub fn unknown(&mut self) -> impl Future<Output = u64> {
        async { 1 }
    }

    #[wigwag::handler]
    pub fn empty(&mut self) -> impl Future<Output = u64> {
        async { 1 }
    }

    #[wigwag::handler(side_by_side)]
    #[wigwag::handler(side_by_side)]
    pub fn twice(&mut self) -> impl Future<Output = u64> {
        async { 1 }
    }

    #[wigwag::handler(side_by_side)]
    pub fn owes(&mut self, answer: Responder<u64>) -> impl Future<Output = ()> {
        async move { answer.send(1) }
    }
}

fn main() {}
