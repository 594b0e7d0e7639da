//! Actors that answer with references to other actors, for calls that do not wait for the answer.

use wigwag::Actor;

/// A bank, whose branches are banks too.
#[derive(Default)]
pub(crate) struct Bank {
    /// Milliseconds that each answer takes.
    pause: u64,
}

/// Leads to accounts and to other banks.
#[wigwag::actor]
impl Bank {
    /// A branch, which takes so many milliseconds for each answer.
    pub fn branch(&self, pause: u64) -> BankRef {
        Bank { pause }.spawn()
    }

    /// A new account of the owner. Nobody named "nobody" has one.
    pub async fn account(&self, owner: String) -> Option<AccountRef> {
        tokio::time::sleep(std::time::Duration::from_millis(self.pause)).await;
        (owner != "nobody").then(|| Account { owner, balance: 0 }.spawn())
    }
}

#[derive(Default)]
pub(crate) struct Account {
    owner: String,
    balance: i64,
}

/// Keeps money.
#[wigwag::actor]
impl Account {
    /// Pays in, and returns the balance.
    pub fn pay_in(&mut self, amount: i64) -> i64 {
        self.balance += amount;
        self.balance
    }

    /// The owner of the account.
    pub fn owner(&self) -> String {
        self.owner.clone()
    }
}
