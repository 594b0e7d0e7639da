//! The messages between a bank and its tellers. Both programs have this file.

use std::fmt;

use wigwag::Message;

/// The accounts, as a teller sees them. They are numbered from 0.
#[wigwag::actor]
pub(crate) trait Bank {
    /// Moves an amount from one account to another, or changes nothing.
    fn transfer(&mut self, from: u32, to: u32, amount: u64) -> Result<(), Refusal>;

    /// The balances of all accounts.
    fn balances(&self) -> Vec<u64>;
}

/// Why a transfer was refused. It travels as a part of the reply.
#[derive(Debug, PartialEq, Message)]
pub(crate) enum Refusal {
    /// There is no account of this number.
    NoAccount(u32),
    /// The account has less than the amount.
    NotEnough { balance: u64, amount: u64 },
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::NoAccount(number) => write!(f, "there is no account {number}"),
            Refusal::NotEnough { balance, amount } => {
                write!(f, "the account has {balance}, which is less than {amount}")
            }
        }
    }
}

impl std::error::Error for Refusal {}
