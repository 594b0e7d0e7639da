//! Calls are numbered, so each is there in every build; and they can be made from anywhere.

struct Counter;

#[wigwag::actor]
impl Counter {
    #[cfg(unix)]
    pub fn signal(&mut self) {}

    pub fn add(&mut self, #[cfg(unix)] amount: u64) {
        let _ = amount;
    }

    pub unsafe fn poke(&mut self, place: usize) {
        let _ = place;
    }
}

fn main() {}
