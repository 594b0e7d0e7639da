//! A teller of a bank: makes ten thousand transfers, many at a time, and checks that no money was
//! made or lost. Start as many tellers as you like.
//!
//! `cargo run --example bank_teller tcp://127.0.0.1:7020/bank`; see `accounts.rs`.

#![expect(clippy::print_stdout, reason = "the program talks to its user")]

mod interface;

use std::error::Error;

use interface::{BankInterface, BankRef, Refusal};
use wigwag::{CallError, Node};

/// Tasks that make transfers side by side, and the transfers of each.
const TASKS: u64 = 20;
const TRANSFERS: u64 = 500;

/// The largest amount of a transfer. An account has 1,000 at first, so that some will be refused.
const AMOUNT_MAX: u64 = 700;

#[wigwag::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let address = std::env::args().nth(1).ok_or("usage: bank_teller ADDRESS")?;
    let node = Node::new();
    let bank = node.actor::<BankInterface>(&address).await?;
    let before = bank.balances().ask().await?;
    let accounts = before.len() as u64;

    // There are two results: that of the call, which has failed if the bank was not reached, and
    // that of the transfer, which is the bank's own answer.
    match bank.transfer(0, 1, 1_000_000).ask().await? {
        Err(refusal @ Refusal::NotEnough { .. }) => println!("refused: {refusal}"),
        other => return Err(format!("a million was moved: {other:?}").into()),
    }

    let tasks: Vec<_> = (0..TASKS)
        // A clone of a reference is cheap, and is the same sender on the same session.
        .map(|seed| wigwag::spawn(make_transfers(bank.clone(), accounts, seed)))
        .collect();
    let (mut done, mut refused) = (0, 0);
    for task in tasks {
        let counts = task.await??;
        done += counts.0;
        refused += counts.1;
    }
    println!("{done} transfers were made, {refused} refused");

    let after = bank.balances().ask().await?;
    let (before, after): (u64, u64) = (before.iter().sum(), after.iter().sum());
    println!("the accounts had {before} in all, and have {after}");
    if before != after {
        return Err("the sum has changed".into());
    }
    Ok(())
}

/// Makes transfers between random accounts. Returns how many were made, and how many refused.
async fn make_transfers(bank: BankRef, accounts: u64, seed: u64) -> Result<(u64, u64), CallError> {
    let (mut draws, mut done, mut refused) = (Draws(seed), 0, 0);
    for _ in 0..TRANSFERS {
        let (from, to) = (draws.below(accounts) as u32, draws.below(accounts) as u32);
        let amount = 1 + draws.below(AMOUNT_MAX);
        // A failed call is not repeated: its transfer may have been made.
        match bank.transfer(from, to, amount).ask().await.map_err(|error| error.into_error())? {
            Ok(()) => done += 1,
            Err(_) => refused += 1,
        }
    }
    Ok((done, refused))
}

/// Random numbers by splitmix64, the same ones in each run.
struct Draws(u64);

impl Draws {
    /// A number below `end`.
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((mixed ^ (mixed >> 27)) >> 8) % end
    }
}
