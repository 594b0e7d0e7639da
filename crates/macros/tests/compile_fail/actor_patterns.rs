//! The names of the arguments are part of the interface.

struct Point(i32, i32);

struct Map;

#[wigwag::actor]
impl Map {
    pub fn mark(&mut self, Point(x, y): Point) {
        let _ = (x, y);
    }

    pub fn clear(&mut self, _: u32) {}
}

fn main() {}
