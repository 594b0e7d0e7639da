//! The accounts of a bank. It prints its address, and ends when its standard input does (Ctrl-D).
//!
//! ```console
//! $ cargo run --example bank_accounts tcp://127.0.0.1:7020
//! tcp://127.0.0.1:7020/bank
//! $ cargo run --example bank_teller tcp://127.0.0.1:7020/bank
//! ```
//!
//! An actor handles one call at a time, so a transfer is never seen half done: there is no lock,
//! and no transaction.

#![expect(clippy::print_stdout, reason = "the program talks to its user")]

mod interface;

use std::error::Error;

use interface::{BankInterface, Refusal};
use wigwag::{Actor, Interface, Node};

/// The accounts that there are, and what each has at the beginning.
const ACCOUNTS: usize = 10;
const BALANCE: u64 = 1_000;

// The actor has the calls of the trait, with the same names, arguments and replies.
const _: () = assert!(Bank::SCHEMA.hash == BankInterface::SCHEMA.hash);

struct Bank {
    balances: Vec<u64>,
}

#[wigwag::actor]
impl Bank {
    pub fn transfer(&mut self, from: u32, to: u32, amount: u64) -> Result<(), Refusal> {
        let balance = self.balance(from)?;
        self.balance(to)?;
        let Some(left) = balance.checked_sub(amount) else {
            return Err(Refusal::NotEnough { balance, amount });
        };
        self.balances[from as usize] = left;
        self.balances[to as usize] += amount;
        Ok(())
    }

    pub fn balances(&self) -> Vec<u64> {
        self.balances.clone()
    }

    /// A private method is no call: only the bank's own handlers have it.
    fn balance(&self, number: u32) -> Result<u64, Refusal> {
        self.balances.get(number as usize).copied().ok_or(Refusal::NoAccount(number))
    }
}

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).unwrap_or("tcp://127.0.0.1:0".to_owned());
    let bank = Bank { balances: vec![BALANCE; ACCOUNTS] }.spawn();
    let node = Node::new();
    node.export("bank", &bank)?;
    let bound = node.listen(&address).await?;
    println!("{bound}/bank");

    let end_of_input = || std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
    tokio::task::spawn_blocking(end_of_input).await??;

    // The same call as a teller's, without a network in between.
    let balances = bank.balances().ask().await?;
    println!("{balances:?}, {} in all", balances.iter().sum::<u64>());
    Ok(())
}
