//! The future must not borrow the actor, and a key must be one that can be hashed.

struct Cache(u64);

#[wigwag::actor]
impl Cache {
    #[wigwag::handler(side_by_side)]
    pub fn get(&mut self) -> impl Future<Output = u64> {
        async { self.0 }
    }
}

struct Scale;

#[wigwag::actor]
impl Scale {
    #[wigwag::handler(side_by_side, serial_by = weight)]
    pub fn weigh(&mut self, weight: f64) -> impl Future<Output = f64> {
        async move { weight }
    }
}

fn main() {}
