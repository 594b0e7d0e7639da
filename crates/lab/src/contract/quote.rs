//! The answer to a caller of the cells `callers`: a number, a text, two tags and a float, all of
//! which follow from the call.

/// Texts that a payload selects one of.
const SIDES: [&str; 4] = ["north", "east", "south", "west"];

/// The answer that is due to a caller.
#[derive(Clone, Copy)]
pub(crate) struct Quote {
    sender: u32,
    number: u64,
    payload: u32,
}

impl Quote {
    pub(crate) fn of(sender: u32, number: u64, payload: u32) -> Quote {
        Quote { sender, number, payload }
    }

    /// Number + payload.
    #[inline]
    pub(crate) fn sum(self) -> u64 {
        self.number + u64::from(self.payload)
    }

    /// `caller` and the number of the sender.
    #[inline]
    pub(crate) fn name(self) -> String {
        format!("caller {}", self.sender)
    }

    /// Whether the payload is even, and its two upper bits.
    #[inline]
    pub(crate) fn tags(self) -> [&'static str; 2] {
        let parity = if self.payload & 1 == 0 { "even" } else { "odd" };
        [parity, SIDES[(self.payload >> 30) as usize]]
    }

    /// A quarter of the payload.
    #[inline]
    pub(crate) fn weight(self) -> f64 {
        f64::from(self.payload) / 4.0
    }
}
