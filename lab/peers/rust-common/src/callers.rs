//! The answers that are due in the cells `callers`, and the notes of a server about its callers.

use std::sync::{Mutex, PoisonError};

use crate::Seen;

/// Texts that a payload selects one of.
const SIDES: [&str; 4] = ["north", "east", "south", "west"];

/// The answer that is due to a caller, part by part.
#[derive(Clone, Copy)]
pub struct Quote {
    sender: u32,
    number: u64,
    payload: u32,
}

impl Quote {
    /// The answer to a call.
    pub fn of(sender: u32, number: u64, payload: u32) -> Self {
        Self { sender, number, payload }
    }

    /// Number + payload.
    #[inline]
    pub fn sum(self) -> u64 {
        self.number + u64::from(self.payload)
    }

    /// `caller` and the number of the caller.
    #[inline]
    pub fn name(self) -> String {
        format!("caller {}", self.sender)
    }

    /// Whether the payload is even, and its two upper bits.
    #[inline]
    pub fn tags(self) -> [&'static str; 2] {
        let parity = if self.payload & 1 == 0 { "even" } else { "odd" };
        [parity, SIDES[(self.payload >> 30) as usize]]
    }

    /// A quarter of the payload.
    #[inline]
    pub fn weight(self) -> f64 {
        f64::from(self.payload) / 4.0
    }
}

/// The objects behind a service, each with a lock: one for all senders, or one for each.
pub struct Desks(Vec<Mutex<Seen>>);

impl Desks {
    /// One desk that all `senders` share, or with `each` one for each.
    pub fn new(senders: u32, each: bool) -> Self {
        let senders = senders as usize;
        let (desks, of_each) = if each { (senders, 1) } else { (1, senders) };
        Self((0..desks).map(|_| Mutex::new(Seen::new(of_each))).collect())
    }

    /// A message came; one of an unknown sender is not counted and so will be missed.
    #[inline]
    pub fn accept(&self, sender: u32, number: u64, payload: u32) {
        let (desk, of_it) = match &self.0[..] {
            [one] => (Some(one), sender),
            each => (each.get(sender as usize), 0),
        };
        if let Some(desk) = desk {
            let mut seen = desk.lock().unwrap_or_else(PoisonError::into_inner);
            seen.accept(of_it, number, payload);
        }
    }

    /// `"senders": […]` of an account.
    pub fn account(&self) -> String {
        let locked = self.0.iter().map(|desk| desk.lock().unwrap_or_else(PoisonError::into_inner));
        Seen::of_all(locked.map(|seen| seen.clone())).account()
    }
}
