//! Arguments are the same in every build, and a call can be made from anywhere.

struct Counter;

#[wigwag::actor]
impl Counter {
    pub fn add(&mut self, #[cfg(unix)] amount: u64) {
        let _ = amount;
    }

    pub unsafe fn poke(&mut self, place: usize) {
        let _ = place;
    }
}

fn main() {}
