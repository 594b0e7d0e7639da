//! An async handler outlives the bytes it was read from.

struct Names(Vec<String>);

#[wigwag::actor]
impl Names {
    pub async fn add(&mut self, name: &str, picture: &[u8]) {
        let _ = (name, picture);
    }
}

fn main() {}
