//! A local actor stays in its process.

use wigwag::{Actor, Node};

struct Workshop;

struct Token;

#[wigwag::actor(local)]
impl Workshop {
    pub fn run(&mut self, token: Token) -> Token {
        token
    }
}

#[wigwag::actor(local)]
trait Interface {
    fn run(&self);
}

struct Borrows;

#[wigwag::actor(local)]
impl Borrows {
    pub fn text(&mut self, all: Vec<&str>, job: impl FnOnce()) {
        let _ = (all, job);
    }
}

fn main() {
    Node::new().export("workshop", &Workshop.spawn()).unwrap();
}
