//! The calls of an actor are its own.

struct Counter;

#[wigwag::actor]
impl std::fmt::Display for Counter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("counter")
    }
}

fn main() {}
