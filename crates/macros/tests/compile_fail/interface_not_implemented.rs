//! An actor that lacks a call of the interface, and one whose call has other types.

#[wigwag::actor]
trait Bank {
    fn balance(&self, account: u32) -> i64;
}

struct Empty;

#[wigwag::actor]
impl Empty {
    pub fn close(&mut self) {}
}

struct Swapped;

#[wigwag::actor]
impl Swapped {
    pub fn balance(&self, account: i64) -> u32 {
        account as u32
    }
}

fn through(empty: &EmptyRef, swapped: &SwappedRef) -> [BankRef; 2] {
    [BankRef::from(empty), swapped.into()]
}

fn main() {}
