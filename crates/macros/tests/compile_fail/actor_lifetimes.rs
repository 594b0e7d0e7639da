//! Nothing of the caller's is borrowed beyond the call.

struct Names(Vec<String>);

#[wigwag::actor]
impl Names {
    pub fn add<'a>(&mut self, name: &'a str) {
        self.0.push(name.into());
    }

    pub fn first(&'static self) -> u64 {
        0
    }
}

fn main() {}
