//! A future that waits, or a message that leaves, owns its data.

struct Names(Vec<String>);

#[wigwag::actor]
impl Names {
    pub fn add_all(&mut self, names: Vec<&str>) {
        let _ = names;
    }

    pub fn add(&mut self, name: &String) {
        self.0.push(name.clone());
    }

    pub fn fill(&mut self, bytes: &mut [u8]) {
        bytes.fill(0);
    }

    pub fn first(&self) -> &str {
        &self.0[0]
    }
}

fn main() {}
